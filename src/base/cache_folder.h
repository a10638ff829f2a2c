// Where the program keeps what a user did not ask for by name.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace vernier {

/// $XDG_CACHE_HOME/vernier, or ~/.cache/vernier where that is not set or is no absolute path (as the XDG base directory
/// specification has it); empty for a user without a home. It is not made.
std::filesystem::path cache_folder();

/// Removes files of `folder` that end with `extension`, those first that were used longest ago, until the others come
/// to at most `most_bytes`.
void remove_least_used(const std::filesystem::path& folder, std::string_view extension, std::size_t most_bytes);

}  // namespace vernier
