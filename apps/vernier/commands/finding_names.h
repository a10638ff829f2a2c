// What the kinds of findings are, for `vernier help` and docs/reference/defects.md. Findings themselves have figures.
#pragma once

#include <span>
#include <string_view>

namespace vernier::cli {

struct FindingName {
  std::string_view kind, text;
};

/// Defects of Q/DQ files, as `check lint`, `verify` and `debug loss` name them.
std::span<const FindingName> defect_names();
/// Places that `check placement` names, with the engines that they matter to.
std::span<const FindingName> placement_names();

}  // namespace vernier::cli
