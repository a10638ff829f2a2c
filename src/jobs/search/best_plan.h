// The plan of the cheapest set that a search has seen pass, in a file beside its journal: for a search that is ended
// from outside.
#pragma once

#include <filesystem>
#include <optional>

#include "plan/plan.h"
#include "search/oracle.h"
#include "vernier/sinks.h"

namespace vernier {

class BestPlan {
 public:
  BestPlan(std::filesystem::path journal, const JobSinks& sinks);

  bool is_improved_by(double cost) const { return !set_ || cost < cost_; }
  /// Takes the place of the one before. A file that cannot be written is a warning, once.
  void keep(const KeptSet& set, double cost, const Plan& plan);
  /// If it is that of `set`, which does not pass after all.
  void forget(const KeptSet& set);

 private:
  std::filesystem::path file_;
  const JobSinks& sinks_;
  std::optional<KeptSet> set_;
  double cost_ = 0;
  bool said_ = false;
};

}  // namespace vernier
