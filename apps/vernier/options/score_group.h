// Labels and metric scripts: what decides by the task itself, in debug precision, diagnose and verify.
#pragma once

#include <string>

#include "options/syntax.h"
#include "vernier/search_options.h"

namespace vernier::cli {

class ScoreGroup {
 public:
  void add(CLI::App& app);
  /// Errors: Usage; also for both at once.
  TaskRequirement values() const;
  bool given() const { return any_labels() || any_metric(); }
  bool any_script() const { return !metric_script_.empty(); }

 private:
  bool any_labels() const;
  bool any_metric() const { return !metric_script_.empty() || !metric_min_.empty() || !metric_max_.empty(); }
  LabelRequirement labels() const;
  MetricScript metric() const;

  std::string labels_, label_offset_ = "0", min_top1_, min_top5_, metric_script_, metric_min_, metric_max_;
};

}  // namespace vernier::cli
