// `vernier eval`: what a network is worth for its task, against labels: a float model, a typed one, or both side by
// side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "vernier/engine.h"
#include "vernier/export.h"
#include "vernier/labels.h"
#include "vernier/measure.h"
#include "vernier/onnx_model.h"
#include "vernier/report/eval.h"
#include "vernier/search_options.h"
#include "vernier/sinks.h"
#include "vernier/words.h"

namespace vernier {

/// "classification", "detection", "segmentation", "language", "custom".
enum class Task { Classification, Detection, Segmentation, Language, Custom };
VERNIER_API std::span<const std::string_view> words_of(Task which);

/// How boxes come out of a detector (src/tasks/boxes.h). "yolox", "plain", "rows", "yolov5", "yolov8".
enum class BoxForm { Yolox, Plain, Rows, Yolov5, Yolov8 };
VERNIER_API std::span<const std::string_view> words_of(BoxForm which);
/// What the four numbers of a box are: two corners, those with y in front, the centre and the size, the upper left
/// corner and the size. "xyxy", "yxyx", "cxcywh", "xywh".
enum class BoxOrder { Corners, CornersYFirst, Centre, CornerAndSize };
VERNIER_API std::span<const std::string_view> words_of(BoxOrder which);
/// What is done to scores before they are used: nothing, or what the network left out. Softmax is along the classes.
/// "none", "sigmoid", "softmax".
enum class ScoreFunction { None, Sigmoid, Softmax };
VERNIER_API std::span<const std::string_view> words_of(ScoreFunction which);
/// Pixels of the network's input, 0 to 1 of it, or pixels of the image. "input", "unit", "image".
enum class BoxUnits { Input, Unit, Image };
VERNIER_API std::span<const std::string_view> words_of(BoxUnits which);
/// How images were laid on the input. "letterbox", "letterbox-center", "stretch".
enum class ImageFit { Letterbox, LetterboxCenter, Stretch };
VERNIER_API std::span<const std::string_view> words_of(ImageFit which);

struct EvalOptions {
  OnnxModel model;
  OnnxModel against;  // a second model on the same samples; empty: none
  Task task = Task::Classification;
  /// One a sample, in the order of the samples. Classification: .npy of whole numbers, or text with one a line.
  /// Detection: COCO's annotations as JSON, whose list of images is in the order of the samples. Segmentation: .npy
  /// [samples, height, width]. Language: .npy [samples, tokens] of the next tokens, below zero left out; empty: those
  /// of the integer input itself, shifted by one.
  Labels labels;
  /// A label's class is the label plus this; of Segmentation pixels that fall below 0 are left out. Not of Language.
  std::int64_t label_offset = 0;
  std::int64_t ignored_label = 255;  // Segmentation
  // Of Detection:
  BoxForm boxes = BoxForm::Yolox;
  std::optional<BoxOrder> box_order;  // absent: Centre for Yolov5, else Corners; Yolox has its own
  ScoreFunction scores = ScoreFunction::None;
  BoxUnits box_units = BoxUnits::Input;
  ImageFit fit = ImageFit::Letterbox;
  std::size_t background_classes = 0;  // Plain: classes at the beginning that are none
  double overlap = 0.65;               // boxes that overlap by more are one
  double least_score = 0.01;
  std::string script;                        // Custom: file.py[:function], as --metric-script
  std::optional<MetricFunction> function{};  // Custom: in the place of `script`; its limits have no say
  /// The engine that runs the models; absent: float32 kernels with our rounding behind them.
  std::optional<MeasureOn> on;
  EngineRunOptions engine;  // of `on`
  /// Of the first figure. One of Custom is better when larger, unless `max` alone is given.
  std::optional<double> min, max;
  std::optional<double> max_loss;  // the first figure of `model` may be worse than that of `against` by so much
  MeasureOptions measure;          // samples, outputs, threads
  std::string command;
};

/// One pass over the samples; memory: one sample a thread, and the detections.
/// Errors: Input when labels and samples or outputs do not fit; Usage; Backend.
VERNIER_API EvalReport evaluate(const EvalOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
