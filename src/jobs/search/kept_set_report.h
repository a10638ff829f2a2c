// What a search found, in words and in layers: from the search's numbered units to the report.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "jobs/search/costs.h"
#include "jobs/search/experiment.h"
#include "jobs/search/kept_set.h"
#include "jobs/search/switch_groups.h"
#include "search/journal.h"
#include "search/minimal.h"
#include "vernier/report/kept_set.h"

namespace vernier {

/// What every sentence about a search needs. The references must outlive it.
struct SearchContext {
  const Experiment& experiment;
  const SearchRequest& request;
  const Units& units;
  std::vector<SearchItem> items;  // one a unit
  std::vector<Border> borders;
  bool asked_again = false;  // the check, about the answer

  std::vector<std::string> layers(const KeptSet& set) const;
  /// Of a ladder: the format of each of these layers; else empty.
  std::vector<Format> raised_to(const KeptSet& set) const;
  double cost(const KeptSet& set) const { return cost_of(items, borders, set); }
};

TestRow row_of(const std::vector<std::string>& layers, const Trial& trial);
/// What a search needs of a row that was measured before.
Trial trial_of(const TestRow& row);

/// `journal` may be null.
KeptSetReport report_of(const MinimalResult& result, const SearchContext& context, const std::vector<TestRow>& tests,
                        const Journal* journal);

/// Accuracy against cost: of `measured` what ran to its end, and of up to six more sets, the most useful layers first.
/// `evaluations` grows by those that were run.
std::vector<ParetoPoint> pareto_points(const SearchContext& context, std::map<KeptSet, Trial> measured,
                                       const Oracle& oracle, const std::function<bool()>& stopped,
                                       std::size_t& evaluations);

}  // namespace vernier
