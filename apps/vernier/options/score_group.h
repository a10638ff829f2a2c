// Labels and metric scripts: what decides by the task itself, in debug precision, diagnose and verify.
#pragma once

#include "options/rows.h"
#include "options/syntax.h"
#include "vernier/search_options.h"

namespace vernier::cli {

class ScoreGroup {
 public:
  void add(CLI::App& app);
  /// Errors: Usage; also for both at once.
  TaskRequirement values() const;
  bool given() const { return any_labels() || any_metric(); }
  bool any_script() const { return texts_.given("--metric-script"); }

 private:
  bool any_labels() const;
  bool any_metric() const;
  LabelRequirement labels() const;
  MetricScript metric() const;

  Texts texts_;
};

}  // namespace vernier::cli
