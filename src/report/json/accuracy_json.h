// The keys of accuracy results that both writing and reading name.
#pragma once

namespace vernier::accuracy_json {

inline constexpr const char* kClass = "polygraphy_class";
/// What the peer does not read: {"version", "functions": [name], "results": [function][pair][iteration]{output:
/// entry}}.
inline constexpr const char* kOurs = "vernier";
inline constexpr int kVersion = 1;

}  // namespace vernier::accuracy_json
