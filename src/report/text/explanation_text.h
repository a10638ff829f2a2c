// Why layers break, and what was tried, as text: a line for each cause, a line for each repair. The page has the same
// groups of causes in the same order.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "vernier/report/causes.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/text.h"

namespace vernier {

/// A cause that is less sure says so.
inline constexpr double kLikelyCause = 0.5;

/// Layers that break for one reason.
struct CauseGroup {
  const Cause* first = nullptr;         // of the most damaging layer
  std::vector<std::string> layers;      // with the first; empty: the network as a whole
  double share = 0;                     // of the damage of all layers, before any repair; see Cause::share
  double told = 0;                      // of that, what groups before it have: damage of a layer counts once
  std::vector<std::string> repairs;     // that answer it at each of the layers
  std::vector<std::string> of_some;     // and those that do so at some
  const RepairTried* mended = nullptr;  // the accepted repair of the first layer that answers it
  std::size_t reached = 0;              // layers of the group that accepted ones of this kind change
  std::size_t lesser = 0;               // layers that have it behind a surer cause
};

/// Of each layer its surest cause; further ones only if they are nearly as sure. In the order of the report's causes.
/// Empty without an explanation.
std::vector<CauseGroup> cause_groups(const DiagnoseReport& report);

/// "12.0 % of the damage", or what a layer of the group does that no share can say. Empty: no share is known.
std::string damage_of(const CauseGroup& group);

/// The network needs nothing, and none of these layers loses its signal.
bool harmless(const DiagnoseReport& report, const std::vector<CauseGroup>& groups);

/// "The rounding of FP8 is the only cause in all 8 layers examined. ...", where no layer has a cause of its own. Empty
/// otherwise, and of a network that needs nothing.
std::string only_rounding(const DiagnoseReport& report);

std::string explanation_section(const DiagnoseReport& report, const TextOptions& options);

}  // namespace vernier
