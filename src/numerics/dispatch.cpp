// The switch between instruction sets. Highway keeps the choice in one process-wide cell; this is the only place that
// writes it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "hwy/highway.h"
#include "numerics/round.h"
#include "vernier/error.h"

namespace vernier {
namespace {

/// Taken once, before any limit: a limit would shorten what Highway reports.
const std::vector<std::int64_t>& machine_targets() {
  static const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  return targets;
}

}  // namespace

std::vector<std::string_view> dispatch_targets() {
  std::vector<std::string_view> names;
  for (const std::int64_t target : machine_targets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

void limit_dispatch(std::string_view target) {
  for (const std::int64_t known : machine_targets()) {
    if (hwy::TargetName(known) == target) return hwy::SetSupportedTargetsForTest(known);
  }
  if (!target.empty()) {
    throw Error(ErrorKind::Internal, fmt::format("this machine has no instruction set '{}'", target),
                fmt::format("one of: {}", fmt::join(dispatch_targets(), ", ")));
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace vernier
