#include "options/task_group.h"

#include <string>

#include "options/options.h"
#include "options/parse_values.h"
#include "table/task.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::cli {
namespace {

Task task_of(const std::string& text) {
  if (text.empty()) {
    throw Error(ErrorCode::MissingArgument, "--task is missing",
                "one of: classification, detection, segmentation, language, custom");
  }
  return parse_choice<Task>("--task", text);
}

}  // namespace

void TaskGroup::add(CLI::App& app, bool labels_alone) {
  labels_alone_ = labels_alone;
  table::kEvaluation.each([&](auto row) {
    if (labels_alone && row.words.names == table::kTask.words.names) {
      row.words.help = "classification, detection or segmentation (default with --labels: classification)";
    }
    add_row(app, row, table::kEvaluation.group, texts_);
  });
  add_rows(app, table::kDetection, texts_);
}

EvalOptions TaskGroup::values() const {
  EvalOptions options;
  const std::string& task = texts_.last("--task");
  options.task = task.empty() && labels_alone_ ? Task::Classification : task_of(task);
  options.labels = texts_.last("--labels");
  read_rows(table::kEvaluation, texts_, options);
  read_rows(table::kDetection, texts_, options);
  if (options.box_order && options.boxes == BoxForm::Yolox) {
    throw Error(ErrorCode::WithoutEffect, "--box-order: --boxes yolox has its own order",
                "use --boxes plain, rows or yolov5 for networks that decode their boxes");
  }
  if (options.overlap < 0 || options.overlap > 1) throw Error(ErrorCode::BadValue, "--nms: an overlap is from 0 to 1");
  return options;
}

}  // namespace vernier::cli
