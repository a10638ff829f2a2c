// Figures of tasks, as evaluate() measured them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/note.h"
#include "vernier/report/text.h"

namespace vernier {

struct TaskFigure {
  std::string name;  // "top-1", "mAP", "mIoU", "perplexity"
  double value = 0;
  bool higher_is_better = true;
  bool share = true;  // 0..1
};

struct EvalModel {
  std::string file;
  std::string runner;
  std::vector<TaskFigure> figures;  // the first one decides
};

struct EvalReport {
  int version = 1;
  std::string command, task, data, labels;
  std::size_t samples = 0;
  std::vector<EvalModel> models;        // `model`, then `against`
  std::optional<double> max_abs_error;  // of any output of the first against the second
  std::optional<std::string> preset;    // what people of this task allow as --max-abs-error, in words
  std::vector<std::string> missed;      // requirements that do not hold, in words
  bool required = false;
  std::vector<Note> warnings;
};

VERNIER_API std::string report_to_text(const EvalReport& report, const TextOptions& options);
VERNIER_API std::string report_to_json(const EvalReport& report);

}  // namespace vernier
