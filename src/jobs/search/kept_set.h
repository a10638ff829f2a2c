// From sensitivities to sets: the search for the fewest layers to keep, and, without a requirement, the curve of
// quality against kept layers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jobs/search/costs.h"
#include "jobs/search/evidence.h"
#include "jobs/search/experiment.h"
#include "jobs/search/objective.h"
#include "plan/plan.h"
#include "search/oracle.h"
#include "vernier/format.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/search_options.h"
#include "vernier/sinks.h"

namespace vernier {

/// What was found once it is a written file; Invalid when there is nothing to confirm. May be called repeatedly.
using ConfirmKept = std::function<Trial(const KeptSetReport&)>;

struct SearchRequest {
  SearchOptions options;
  const Objective* objective = nullptr;  // null: the experiment's requirement
  /// Judges a set of kept layers outside the simulation. It knows verdicts only, unless `engine` names an engine that
  /// runs the trials: figures are then of the requirement, and no answer is doubted.
  std::function<Trial(const std::vector<std::string>& kept)> external;
  std::string engine;
  bool verdicts_only() const { return external && engine.empty(); }
  const LayerTimes* times = nullptr;  // for CostUnit::Time
  std::vector<Format> rungs = {};     // of a ladder, lowest first, as the target takes them; empty: there is none
  double cost_of_lowest = 0;          // of a ladder: all candidates on their lowest rungs
  ConfirmKept confirm;
  /// The trial of a set that passed in simulation, or that of the file which it makes, where that is worse.
  std::function<Trial(const Plan& plan, const std::vector<std::string>& kept, const Trial& passed)> as_file;
  std::optional<double> most_apart;  // MinimalOptions::most_apart, where `confirm` may differ by more than noise
  /// The evidence with sensitivities of single layers on more samples than before; nullopt when there are no more.
  std::function<std::optional<Evidence>()> measure_more;
  /// The evidence that ranks layers, for Minimal behind another mode.
  std::function<Evidence()> rank;
  Deciding decides;
};

/// The search that is asked for (search/minimal.h, search/contiguous.h) on the experiment, until the file of its answer
/// passes too (search/confirmed.h).
KeptSetReport find_kept_set(Experiment& experiment, Evidence evidence, const SearchRequest& request,
                            const JobSinks& sinks);

/// Quality with the 0, 1, 2, ... most damaging of `ranked` kept: predicted from sensitivities, measured at a few
/// points.
std::vector<CurvePoint> quality_curve(Experiment& experiment, const Evidence& evidence,
                                      const std::vector<LayerRow>& ranked);

}  // namespace vernier
