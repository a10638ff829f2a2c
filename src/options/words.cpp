// Words of enums that need nothing else here: no parsing of their own, no defaults.
#include <array>
#include <span>
#include <string_view>

#include "vernier/calibrate.h"
#include "vernier/engine.h"
#include "vernier/eval.h"
#include "vernier/graph_optimization.h"
#include "vernier/measure.h"
#include "vernier/precision.h"
#include "vernier/report/pictures.h"
#include "vernier/report/reduce.h"
#include "vernier/samples.h"
#include "vernier/surgeon.h"

namespace vernier {

std::span<const std::string_view> words_of(BoxForm /*which*/) {
  static constexpr std::array<std::string_view, 5> kWords{"yolox", "plain", "rows", "yolov5", "yolov8"};
  return kWords;
}

std::span<const std::string_view> words_of(BoxOrder /*which*/) {
  static constexpr std::array<std::string_view, 4> kWords{"xyxy", "yxyx", "cxcywh", "xywh"};
  return kWords;
}

std::span<const std::string_view> words_of(ScoreFunction /*which*/) {
  static constexpr std::array<std::string_view, 3> kWords{"none", "sigmoid", "softmax"};
  return kWords;
}

std::span<const std::string_view> words_of(BoxUnits /*which*/) {
  static constexpr std::array<std::string_view, 3> kWords{"input", "unit", "image"};
  return kWords;
}

std::span<const std::string_view> words_of(Task /*which*/) {
  static constexpr std::array<std::string_view, 5> kWords{"classification", "detection", "segmentation", "language",
                                                          "custom"};
  return kWords;
}

std::span<const std::string_view> words_of(ImageFit /*which*/) {
  static constexpr std::array<std::string_view, 3> kWords{"letterbox", "letterbox-center", "stretch"};
  return kWords;
}

std::span<const std::string_view> words_of(PictureRole /*which*/) {
  static constexpr std::array<std::string_view, 3> kWords{"input", "weight", "output"};
  return kWords;
}

std::span<const std::string_view> words_of(ReduceMode /*which*/) {
  static constexpr std::array<std::string_view, 3> kWords{"bisect", "linear", "ddmin"};
  return kWords;
}

std::span<const std::string_view> words_of(Partitioning /*which*/) {
  static constexpr std::array<std::string_view, 2> kWords{"basic", "recursive"};
  return kWords;
}

std::span<const std::string_view> words_of(Target /*which*/) {
  static constexpr std::array<std::string_view, 3> kWords{"tensorrt", "onnxruntime", "openvino"};
  return kWords;
}

std::span<const std::string_view> words_of(Accumulate /*which*/) {
  static constexpr std::array<std::string_view, 2> kWords{"float32", "float16"};
  return kWords;
}

std::span<const std::string_view> words_of(EngineChoice /*which*/) {
  static constexpr std::array<std::string_view, 4> kWords{"any", "tensorrt", "tensorrt-rtx", "openvino"};
  return kWords;
}

std::span<const std::string_view> words_of(MeasureOn /*which*/) {
  static constexpr std::array<std::string_view, 3> kWords{"onnxruntime", "tensorrt", "openvino"};
  return kWords;
}

std::span<const std::string_view> words_of(PrecisionConstraints /*which*/) {
  static constexpr std::array<std::string_view, 3> kWords{"obey", "prefer", "none"};
  return kWords;
}

std::span<const std::string_view> words_of(RangesForm /*which*/) {
  static constexpr std::array<std::string_view, 3> kWords{"vernier", "tensorrt", "onnxruntime"};
  return kWords;
}

std::span<const std::string_view> words_of(GraphOptimization /*which*/) {
  static constexpr std::array<std::string_view, 4> kWords{"ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED",
                                                          "ORT_ENABLE_ALL"};
  return kWords;
}

std::span<const std::string_view> words_of(ImageColor /*which*/) {
  static constexpr std::array<std::string_view, 3> kWords{"rgb", "bgr", "y"};
  return kWords;
}

std::span<const std::string_view> words_of(ImageLayout /*which*/) {
  static constexpr std::array<std::string_view, 2> kWords{"nchw", "nhwc"};
  return kWords;
}

}  // namespace vernier
