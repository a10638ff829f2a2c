// Detection: boxes decoded from outputs, against COCO's annotations.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "jobs/eval/task_tally.h"
#include "json/json.h"
#include "tasks/boxes.h"
#include "tasks/coco.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/eval.h"
#include "vernier/report/eval.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr std::size_t kMostBoxes = 300;  // of an image, before the reference takes 100 of each category

/// COCO's annotations: images in file order, categories by ascending id.
struct Annotations {
  std::vector<CocoImage> images;
  std::vector<std::pair<double, double>> sizes;  // width, height
  std::size_t categories = 0;
};

class AnnotationReader {
 public:
  explicit AnnotationReader(const Labels& labels) : where_(printable(labels.name())) {
    if (labels.values().dtype() != Dtype::Undefined) {
      throw Error(ErrorCode::WithoutEffect,
                  fmt::format("{}: labels of detection are COCO's annotations, not numbers", where_));
    }
    json_ = parse_json(labels.in_memory() ? labels.annotations() : read_text(labels.file()), where_);
  }

  Annotations read() {
    Annotations all;
    std::map<std::int64_t, std::size_t> image_of, category_of;
    for (const Json& image : list(json_, "images")) {
      image_of[integer(image, "id")] = all.images.size();
      all.images.emplace_back();
      all.sizes.emplace_back(number(image, "width"), number(image, "height"));
    }
    for (const Json& category : list(json_, "categories")) category_of[integer(category, "id")] = 0;
    for (auto& [id, index] : category_of) index = all.categories++;
    for (const Json& annotation : list(json_, "annotations")) {
      const auto image = image_of.find(integer(annotation, "image_id"));
      const auto category = category_of.find(integer(annotation, "category_id"));
      if (image == image_of.end())
        refuse(fmt::format("annotation of image {}, which is not listed", json_text(annotation.at("image_id"))));
      if (category == category_of.end())
        refuse(fmt::format("annotation of category {}, which is not listed", json_text(annotation.at("category_id"))));
      all.images[image->second].truth.push_back(box(annotation, category->second));
    }
    return all;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorCode::Labels, fmt::format("{}: {}", where_, printable(why)),
                "COCO's annotations: {\"images\": [..], \"annotations\": [..], \"categories\": [..]}");
  }
  const Json::Array& list(const Json& json, const char* key) const {
    const Json* const value = json.find(key);
    if (value == nullptr || !value->is_array()) refuse(fmt::format("has no list \"{}\"", key));
    return value->items();
  }
  std::int64_t integer(const Json& json, const char* key) const {
    const Json* const value = json.find(key);
    const std::optional<std::int64_t> number =
        value != nullptr && value->is_integer() ? value->integer_within<std::int64_t>() : std::nullopt;
    if (!number) refuse(fmt::format("\"{}\" is missing, or no whole number", key));
    return *number;
  }
  double number(const Json& json, const char* key) const {
    const Json* const value = json.find(key);
    if (value == nullptr || !value->is_number()) refuse(fmt::format("\"{}\" is missing, or no number", key));
    return value->number();
  }
  TrueBox box(const Json& annotation, std::size_t category) const {
    const Json::Array& corners = list(annotation, "bbox");
    if (corners.size() != 4 || !std::ranges::all_of(corners, &Json::is_number)) {
      refuse("\"bbox\" is not [x, y, width, height]");
    }
    const double x = corners[0].number(), y = corners[1].number(), w = corners[2].number(), h = corners[3].number();
    TrueBox truth;
    truth.box = {x, y, x + w, y + h};
    truth.area = annotation.contains("area") ? number(annotation, "area") : w * h;
    truth.category = category;
    truth.crowd = annotation.contains("iscrowd") && annotation.at("iscrowd") == Json(1);
    return truth;
  }

  std::string where_;
  Json json_;
};

/// Height and width of the image input: two last dimensions behind channels, or before them.
std::pair<double, double> input_size(const std::vector<InputInfo>& inputs, const Sample& sample) {
  for (const InputInfo& input : inputs) {
    const auto given = sample.find(input.name);
    if (given == sample.end() || given->second.shape().size() != 4) continue;
    const Shape& shape = given->second.shape();
    if (shape[3] <= 4 && shape[1] > 4) return {static_cast<double>(shape[1]), static_cast<double>(shape[2])};
    return {static_cast<double>(shape[2]), static_cast<double>(shape[3])};
  }
  throw Error(ErrorCode::Labels, "no input is an image of rank 4, so that boxes have no size");
}

Box corners_of(const Box& numbers, BoxOrder order) {
  switch (order) {
    case BoxOrder::CornersYFirst:
      return {numbers.y1, numbers.x1, numbers.y2, numbers.x2};
    case BoxOrder::Centre:
      return from_centre(numbers);
    case BoxOrder::CornerAndSize:
      return from_size(numbers);
    case BoxOrder::Corners:
      break;
  }
  return numbers;
}

/// What is behind the first `skipped` of `columns` in a row are scores of one box.
void apply(ScoreFunction function, std::span<float> rows, std::size_t columns, std::size_t skipped) {
  if (function == ScoreFunction::None || columns <= skipped) return;
  for (std::size_t row = 0; row + columns <= rows.size(); row += columns) {
    const std::span<float> scores = rows.subspan(row + skipped, columns - skipped);
    if (function == ScoreFunction::Sigmoid) {
      for (float& score : scores) score = 1 / (1 + std::exp(-score));
      continue;
    }
    const float most = *std::ranges::max_element(scores);
    float sum = 0;
    for (float& score : scores) sum += score = std::exp(score - most);
    for (float& score : scores) score /= sum;
  }
}

class DetectionTally : public TaskTally {
 public:
  DetectionTally(const EvalOptions& options, const std::vector<InputInfo>& inputs, std::size_t samples)
      : options_(options), inputs_(inputs), all_(AnnotationReader(options.labels).read()) {
    if (all_.images.size() >= samples) {
      all_.images.resize(samples);
      return;
    }
    throw Error(ErrorCode::Labels,
                fmt::format("{}: {} for {}", printable(options.labels.name()), plural(all_.images.size(), "image"),
                            plural(samples, "sample")),
                "its list of images stands for the samples, in their order");
  }

  DetectionTally(const EvalOptions& options, const DetectionTally& other)
      : options_(options), inputs_(other.inputs_), all_(other.all_) {
    for (CocoImage& image : all_.images) image.got.clear();
  }

  std::unique_ptr<TaskTally> reading(const EvalOptions& options) const override {
    return std::make_unique<DetectionTally>(options, *this);
  }

  void add(std::size_t sample, const Sample& inputs, const std::vector<NamedTensor>& outputs,
           const std::vector<NamedTensor>& /*references*/) override {
    const auto [height, width] = input_size(inputs_, inputs);
    std::vector<Detection> found = decode(outputs, height, width);
    relabel(found);
    const Placement2d placed = placement(sample, height, width);
    found = suppressed(std::move(found), options_.overlap);
    if (found.size() > kMostBoxes) found.resize(kMostBoxes);
    for (Detection& one : found) {
      if (options_.box_units == BoxUnits::Unit) {
        one.box = {one.box.x1 * width, one.box.y1 * height, one.box.x2 * width, one.box.y2 * height};
      }
      if (options_.box_units != BoxUnits::Image) one.box = placed.back(one.box);
    }
    all_.images[sample].got = std::move(found);
  }

  std::vector<TaskFigure> figures() const override {
    const CocoFigures f = coco_figures(all_.images, all_.categories);
    return {{"mAP", f.ap, true, true},
            {"AP50", f.ap50, true, true},
            {"AP75", f.ap75, true, true},
            {"AP small", f.ap_small, true, true},
            {"AP medium", f.ap_medium, true, true},
            {"AP large", f.ap_large, true, true},
            {"AR 1", f.ar1, true, true},
            {"AR 10", f.ar10, true, true},
            {"AR 100", f.ar100, true, true}};
  }

 private:
  std::vector<Detection> decode(const std::vector<NamedTensor>& outputs, double height, double width) const {
    if (options_.boxes == BoxForm::Yolox) {
      const Rows rows = only_rows(outputs, 4);
      return decode_yolox(rows.values, rows.columns, static_cast<std::int64_t>(height),
                          static_cast<std::int64_t>(width), options_.least_score);
    }
    std::vector<Detection> found;
    if (options_.boxes == BoxForm::Plain) {
      need_outputs(outputs, 2, "detection with ‹boxes› plain");
      const bool boxes_first = outputs[0].tensor.shape().empty() || outputs[0].tensor.shape().back() == 4;
      const Rows scores = rows_of(outputs[boxes_first ? 1 : 0], 0);
      found = decode_plain(as_floats(outputs[boxes_first ? 0 : 1]), scores.values, scores.columns,
                           options_.background_classes, options_.least_score);
    } else if (options_.boxes == BoxForm::Rows) {
      need_outputs(outputs, 1, "detection");
      std::vector<float> values = as_floats(outputs.front());
      if (options_.scores == ScoreFunction::Sigmoid) {
        for (std::size_t i = 4; i < values.size(); i += 6) values[i] = 1 / (1 + std::exp(-values[i]));
      }
      found = decode_rows(values, options_.least_score);
    } else if (options_.boxes == BoxForm::Yolov8) {
      const Rows rows = rows_of_anchors(outputs);
      found = decode_yolov8(rows.values, rows.columns, options_.least_score);
    } else {
      const Rows rows = only_rows(outputs, 4);
      found = decode_yolov5(rows.values, rows.columns, options_.least_score);
    }
    const bool by_centre = options_.boxes == BoxForm::Yolov5 || options_.boxes == BoxForm::Yolov8;
    const BoxOrder own = by_centre ? BoxOrder::Centre : BoxOrder::Corners;
    for (Detection& one : found) one.box = corners_of(one.box, options_.box_order.value_or(own));
    return found;
  }

  /// An output by its last axis, its scores as the options want them.
  struct Rows {
    std::vector<float> values;
    std::size_t columns;
  };
  Rows rows_of(const NamedTensor& output, std::size_t skipped) const {
    const Shape& shape = output.tensor.shape();
    Rows rows{as_floats(output), shape.empty() ? 0 : static_cast<std::size_t>(shape.back())};
    apply(options_.scores, rows.values, rows.columns, skipped);
    return rows;
  }
  /// [4 + classes, anchors]: a row an anchor.
  Rows rows_of_anchors(const std::vector<NamedTensor>& outputs) const {
    need_outputs(outputs, 1, "detection");
    const std::vector<float> values = as_floats(outputs.front());
    const Shape& shape = outputs.front().tensor.shape();
    const std::size_t anchors = shape.empty() ? 0 : static_cast<std::size_t>(shape.back());
    const std::size_t columns = anchors == 0 ? 0 : values.size() / anchors;
    Rows rows{std::vector<float>(values.size()), columns};
    for (std::size_t i = 0; i < values.size(); ++i) rows.values[i % anchors * columns + i / anchors] = values[i];
    apply(options_.scores, rows.values, rows.columns, 4);
    return rows;
  }
  Rows only_rows(const std::vector<NamedTensor>& outputs, std::size_t skipped) const {
    need_outputs(outputs, 1, "detection");
    return rows_of(outputs.front(), skipped);
  }

  /// From classes of the network to labels; a class that no label means is none of the truth's.
  void relabel(std::vector<Detection>& found) const {
    if (options_.label_offset == 0) return;
    std::erase_if(
        found, [&](const Detection& one) { return static_cast<std::int64_t>(one.category) < options_.label_offset; });
    for (Detection& one : found) {
      one.category = static_cast<std::size_t>(static_cast<std::int64_t>(one.category) - options_.label_offset);
    }
  }

  Placement2d placement(std::size_t sample, double height, double width) const {
    const auto [image_width, image_height] = all_.sizes[sample];
    Placement2d placed;
    placed.scale_x = width / image_width;
    placed.scale_y = height / image_height;
    if (options_.fit == ImageFit::Stretch) return placed;
    placed.scale_x = placed.scale_y = std::min(placed.scale_x, placed.scale_y);
    if (options_.fit == ImageFit::LetterboxCenter) {
      placed.offset_x = (width - image_width * placed.scale_x) / 2;
      placed.offset_y = (height - image_height * placed.scale_y) / 2;
    }
    return placed;
  }

  const EvalOptions& options_;
  std::vector<InputInfo> inputs_;
  Annotations all_;
};

}  // namespace

std::unique_ptr<TaskTally> detection_tally(const EvalOptions& options, const std::vector<InputInfo>& inputs,
                                           std::size_t samples) {
  return std::make_unique<DetectionTally>(options, inputs, samples);
}

}  // namespace vernier
