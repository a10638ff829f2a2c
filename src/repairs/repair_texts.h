// What a repair is, for people: for reports, which name repairs and know nothing else of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace vernier {

/// "SmoothQuant: large channels of an activation are scaled down, ...; cost at run time: none". Also of "keep-high",
/// what causes name behind all repairs. nullopt: no repair of ours. Texts have placeholders (vernier/marks.h).
std::optional<std::string> repair_text(std::string_view id);

}  // namespace vernier
