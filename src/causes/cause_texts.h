// What a cause is, for people: for reports, which name causes and know nothing else of them.
#pragma once

#include <optional>
#include <string_view>

namespace vernier {

/// What an engine adds to the noise of the simulation, in which all other causes are.
inline constexpr std::string_view kEngineLoss = "engine-loss";

/// One line; nullopt: no cause of ours. Texts have placeholders (vernier/marks.h).
std::optional<std::string_view> cause_text(std::string_view id);

}  // namespace vernier
