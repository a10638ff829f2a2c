#include "options/task_group.h"

#include <cstdint>

#include "options/options.h"
#include "options/parse_values.h"
#include "vernier/error.h"

namespace vernier::cli {
namespace {

Task task_of(const std::string& text) {
  if (text.empty()) {
    throw Error(ErrorKind::Usage, "--task is missing",
                "one of: classification, detection, segmentation, language, custom");
  }
  return parse_choice<Task>("--task", text);
}

}  // namespace

void TaskGroup::add(CLI::App& app, bool labels_alone) {
  labels_alone_ = labels_alone;
  const char* const task = "Task";
  add_value(app, "--task", task_, "TASK",
            labels_alone ? "classification, detection or segmentation (default with --labels: classification)"
                         : "classification, detection, segmentation, language or custom")
      .group(task);
  add_value(
      app, "--labels", labels_, "FILE",
      "The right answers. classification: .npy or text, one a sample; detection: COCO's annotations, images in the "
      "order of the "
      "samples; segmentation: .npy [samples, height, width]; language: .npy [samples, tokens] (default there: the "
      "next tokens of the input)")
      .group(task);
  add_value(app, "--label-offset", label_offset_, "N",
            "Added to every label of a class; in segmentation what falls below 0 is left out (default: 0)")
      .group(task);
  add_value(app, "--ignore-label", ignored_label_, "N",
            "Segmentation: pixels of this label are left out (default: 255)")
      .group(task);
  add_value(app, "--metric-script", script_, "FILE[:FUNC]",
            "Custom: FUNC computes one number of all outputs (default FUNC: metric)")
      .group(task);
  const char* const detection = "Detection";
  add_value(
      app, "--boxes", boxes_, "FORM",
      "yolox: [cells, 5+classes] before decoding; plain: outputs [N,4] of corners and [N,classes]; rows: [N,6] of "
      "corners, score, class; yolov5: [N,5+classes] of centre, size, objectness, classes (default: yolox)")
      .group(detection);
  add_value(
      app, "--box-order", box_order_, "ORDER",
      "The four numbers of a box: xyxy, yxyx (corners), cxcywh (centre and size), xywh (upper left corner and size) "
      "(default: xyxy; of yolov5 cxcywh; yolox has its own)")
      .group(detection);
  add_value(app, "--scores", scores_, "FUNCTION",
            "What the network left out of its scores: none, sigmoid or softmax (default: none)")
      .group(detection);
  add_value(app, "--box-units", box_units_, "UNITS",
            "input: pixels of the network's input; unit: 0 to 1 of it; image: pixels of the image (default: input)")
      .group(detection);
  add_value(app, "--fit", fit_, "HOW",
            "How images were laid on the input: letterbox (from the upper left), letterbox-center, stretch (default: "
            "letterbox)")
      .group(detection);
  add_value(app, "--background-classes", background_, "N", "plain: the first N classes are none (default: 0)")
      .group(detection);
  add_value(app, "--nms", overlap_, "IOU", "Boxes of a class that overlap by more are one, 0 to 1 (default: 0.65)")
      .group(detection);
  add_value(app, "--min-score", least_score_, "S", "Boxes below are left out (default: 0.01)").group(detection);
}

EvalOptions TaskGroup::values() const {
  EvalOptions options;
  options.task = task_.empty() && labels_alone_ ? Task::Classification : task_of(task_);
  options.labels = labels_;
  options.label_offset = static_cast<std::int64_t>(parse_number("--label-offset", label_offset_));
  options.ignored_label = static_cast<std::int64_t>(parse_number("--ignore-label", ignored_label_));
  options.boxes = parse_choice<BoxForm>("--boxes", boxes_);
  if (!box_order_.empty()) options.box_order = parse_choice<BoxOrder>("--box-order", box_order_);
  if (options.box_order && options.boxes == BoxForm::Yolox) {
    throw Error(ErrorKind::Usage, "--box-order: --boxes yolox has an order of its own",
                "--boxes plain, rows or yolov5 for networks that decode their boxes");
  }
  options.scores = parse_choice<ScoreFunction>("--scores", scores_);
  options.box_units = parse_choice<BoxUnits>("--box-units", box_units_);
  options.fit = parse_choice<ImageFit>("--fit", fit_);
  options.background_classes = parse_count("--background-classes", background_, 0, 1000);
  options.overlap = parse_number("--nms", overlap_);
  options.least_score = parse_number("--min-score", least_score_);
  if (options.overlap < 0 || options.overlap > 1) throw Error(ErrorKind::Usage, "--nms: an overlap is 0 to 1");
  options.script = script_;
  return options;
}

}  // namespace vernier::cli
