// What the names of a .npz's members mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace vernier {

inline constexpr std::string_view kSamplePrefix = "sample_";
inline constexpr std::string_view kIterationPrefix = "iteration_";

/// The array's name: a member's without the ".npy" that numpy adds.
std::string array_name(const std::string& member);

/// "sample_12" and "sample_12/input" with the prefix "sample_": the number, and the name, which is empty in the first
/// form. nullopt: another name.
std::optional<std::pair<std::uint64_t, std::string>> numbered_name(std::string_view name, std::string_view prefix);

}  // namespace vernier
