// What a task is, its labels, and how its outputs are read: eval and pipeline share these options.
#pragma once

#include <string>

#include "options/syntax.h"
#include "vernier/eval.h"

namespace vernier::cli {

class TaskGroup {
 public:
  /// `labels_alone`: where --task may be left out, and is classification then.
  void add(CLI::App& app, bool labels_alone = false);
  bool given() const { return !task_.empty() || (labels_alone_ && !labels_.empty()); }
  /// Everything of EvalOptions but models, samples and requirements. Errors: Usage.
  EvalOptions values() const;

  bool any_script() const { return !script_.empty(); }

 private:
  bool labels_alone_ = false;
  std::string task_, labels_, script_, label_offset_ = "0", ignored_label_ = "255", boxes_ = "yolox", box_order_,
                                       scores_ = "none", box_units_ = "input", fit_ = "letterbox", background_ = "0",
                                       overlap_ = "0.65", least_score_ = "0.01";
};

}  // namespace vernier::cli
