// What a task is, its labels, and how its outputs are read: eval and pipeline share these options.
#pragma once

#include "options/rows.h"
#include "options/syntax.h"
#include "vernier/eval.h"

namespace vernier::cli {

class TaskGroup {
 public:
  /// `labels_alone`: where --task may be left out, and is classification then.
  void add(CLI::App& app, bool labels_alone = false);
  bool given() const { return texts_.given("--task") || (labels_alone_ && texts_.given("--labels")); }
  /// Everything of EvalOptions but models, samples and requirements. Errors: Usage.
  EvalOptions values() const;

  bool any_script() const { return texts_.given("--metric-script"); }

 private:
  bool labels_alone_ = false;
  Texts texts_;
};

}  // namespace vernier::cli
