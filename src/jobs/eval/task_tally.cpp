#include "jobs/eval/task_tally.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/elements.h"
#include "base/text.h"
#include "jobs/search/objective.h"
#include "tasks/ranks.h"
#include "tasks/segmentation.h"
#include "tasks/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/search_options.h"

namespace vernier {
namespace {

void check_count(const EvalOptions& options, std::int64_t labels, const SampleCount& samples) {
  require_labels_for(options.labels.name(), static_cast<std::size_t>(labels), samples);
}

class ClassificationTally : public TaskTally {
 public:
  ClassificationTally(const EvalOptions& options, const SampleCount& samples)
      : options_(options), labels_(read_labels(options.labels)) {
    check_count(options, static_cast<std::int64_t>(labels_.size()), samples);
  }

  void add(std::size_t sample, const Sample& /*inputs*/, const std::vector<NamedTensor>& outputs,
           const std::vector<NamedTensor>& /*references*/) override {
    need_outputs(outputs, 1, "classification");
    const std::vector<float> scores = as_floats(outputs.front());
    const std::int64_t label = labels_[sample] + options_.label_offset;
    if (label < 0 || label >= static_cast<std::int64_t>(scores.size())) {
      throw Error(ErrorCode::Labels,
                  fmt::format("label {} of sample {} is outside the {} classes of output '{}'", label, sample,
                              scores.size(), printable(outputs.front().name)),
                  "‹label-offset› N is added to every label");
    }
    const std::size_t place = place_of(scores, static_cast<std::size_t>(label));
    ++seen_;
    first_ += place < 1 ? 1 : 0;
    five_ += place < 5 ? 1 : 0;
  }

  std::vector<TaskFigure> figures() const override {
    const auto all = static_cast<double>(seen_);
    return {{"top-1", static_cast<double>(first_) / all, true, true},
            {"top-5", static_cast<double>(five_) / all, true, true}};
  }

 private:
  const EvalOptions& options_;
  std::vector<std::int64_t> labels_;
  std::size_t seen_ = 0, first_ = 0, five_ = 0;
};

class SegmentationTally : public TaskTally {
 public:
  SegmentationTally(const EvalOptions& options, const SampleCount& samples)
      : options_(options), labels_(read_label_array(options.labels)) {
    if (labels_.shape.size() != 3) {
      throw Error(ErrorCode::Labels, fmt::format("{}: shape {}, [samples, height, width] is wanted",
                                                 printable(options.labels.name()), shape_text(labels_.shape)));
    }
    check_count(options, labels_.shape[0], samples);
    shift(options.label_offset);
  }
  /// Labels as `other` has them, shifted on.
  SegmentationTally(const EvalOptions& options, const SegmentationTally& other)
      : options_(options), labels_(other.labels_) {
    shift(options.label_offset - other.options_.label_offset);
  }

  std::unique_ptr<TaskTally> reading(const EvalOptions& options) const override {
    return std::make_unique<SegmentationTally>(options, *this);
  }

  void add(std::size_t sample, const Sample& /*inputs*/, const std::vector<NamedTensor>& outputs,
           const std::vector<NamedTensor>& /*references*/) override {
    need_outputs(outputs, 1, "segmentation");
    const NamedTensor& output = outputs.front();
    const auto pixels = static_cast<std::size_t>(labels_.shape[1] * labels_.shape[2]);
    const std::vector<float> values = as_floats(output);
    if (pixels == 0 || values.empty() || values.size() % pixels != 0) refuse(output);
    const std::size_t classes = values.size() / pixels;
    const Shape& shape = output.tensor.shape();
    const bool fits =
        shape.size() >= 2 && shape[shape.size() - 2] == labels_.shape[1] && shape.back() == labels_.shape[2];
    if (!fits) refuse(output);
    std::vector<std::int64_t> got;
    if (classes == 1) {  // the network gives classes itself, or the probability of the only one
      const bool sigmoid = options_.scores == ScoreFunction::Sigmoid;
      for (float value : values) {
        if (sigmoid) value = 1 / (1 + std::exp(-value));
        got.push_back(std::isfinite(value) ? std::lround(value) : -1);
      }
    } else {
      got = largest_class(values, classes);
    }
    const std::span<const std::int64_t> truth(labels_.values.data() + sample * pixels, pixels);
    if (!counts_) {
      const auto most = [](auto begin, auto end) { return begin == end ? 0 : *std::max_element(begin, end); };
      std::int64_t known = classes > 1 ? static_cast<std::int64_t>(classes) : 1;
      if (classes == 1) {
        for (const std::int64_t label : labels_.values) {
          if (label != options_.ignored_label) known = std::max(known, label + 1);
        }
        known = std::max(known, most(got.begin(), got.end()) + 1);
        known = std::min<std::int64_t>(known, 4096);
      }
      counts_.emplace(static_cast<std::size_t>(known));
    }
    counts_->add(truth, got, options_.ignored_label);
  }

  std::vector<TaskFigure> figures() const override {
    const double none = std::nan("");
    return {{"mIoU", counts_ ? counts_->mean_iou() : none, true, true},
            {"pixel accuracy", counts_ ? counts_->accuracy() : none, true, true}};
  }

 private:
  /// What falls below the first class is left out.
  void shift(std::int64_t offset) {
    if (offset == 0) return;
    for (std::int64_t& label : labels_.values) {
      if (label == options_.ignored_label) continue;
      label += offset;
      if (label < 0) label = options_.ignored_label;
    }
  }

  [[noreturn]] void refuse(const NamedTensor& output) const {
    throw Error(ErrorCode::Labels,
                fmt::format("output '{}' is {}, and the labels are {}x{} pixels", printable(output.name),
                            shape_text(output.tensor.shape()), labels_.shape[1], labels_.shape[2]),
                "labels of the output's size: [samples, height, width]; the output [1, classes, height, width]");
  }

  const EvalOptions& options_;
  LabelArray labels_;
  std::optional<PixelCounts> counts_;
};

class LanguageTally : public TaskTally {
 public:
  LanguageTally(const EvalOptions& options, const SampleCount& samples) : options_(options) {
    if (options.labels.empty()) return;
    labels_ = read_label_array(options.labels);
    if (labels_->shape.size() != 2) {
      throw Error(ErrorCode::Labels, fmt::format("{}: shape {}, [samples, tokens] is wanted",
                                                 printable(options.labels.name()), shape_text(labels_->shape)));
    }
    check_count(options, labels_->shape[0], samples);
  }

  void add(std::size_t sample, const Sample& inputs, const std::vector<NamedTensor>& outputs,
           const std::vector<NamedTensor>& /*references*/) override {
    need_outputs(outputs, 1, "language");
    const Shape& shape = outputs.front().tensor.shape();
    if (shape.size() < 2 || shape.back() < 1) {
      throw Error(ErrorCode::Labels, fmt::format("output '{}' is {}, [.., tokens, words] is wanted",
                                                 printable(outputs.front().name), shape_text(shape)));
    }
    const std::vector<float> scores = as_floats(outputs.front());
    const auto words = static_cast<std::size_t>(shape.back());
    const std::vector<std::int64_t> targets = targets_of(sample, inputs, scores.size() / words);
    surprise_.add(scores, words, targets);
  }

  std::vector<TaskFigure> figures() const override { return {{"perplexity", surprise_.perplexity(), false, false}}; }

 private:
  std::vector<std::int64_t> targets_of(std::size_t sample, const Sample& inputs, std::size_t tokens) const {
    std::vector<std::int64_t> targets;
    if (labels_) {
      const auto each = static_cast<std::size_t>(labels_->shape[1]);
      targets.assign(labels_->values.begin() + static_cast<std::ptrdiff_t>(sample * each),
                     labels_->values.begin() + static_cast<std::ptrdiff_t>((sample + 1) * each));
      if (each == tokens) return targets;
      throw Error(ErrorCode::Labels, fmt::format("{}: {} tokens a sample, the output has {}",
                                                 printable(options_.labels.name()), each, tokens));
    }
    for (const auto& [name, tensor] : inputs) {
      if (!is_integer(tensor.dtype()) || tensor.count() != static_cast<std::int64_t>(tokens)) continue;
      if (tensor.shape().size() > 1 && tensor.shape().back() != tensor.count()) {
        throw Error(ErrorCode::Labels,
                    fmt::format("input '{}' is {}: of several texts in one sample the next tokens "
                                "are not known",
                                printable(name), shape_text(tensor.shape())),
                    "‹labels› tokens.npy, or one text a sample");
      }
      std::vector<std::int64_t> room;
      const auto read = read_block(tensor, 0, tokens, room);
      targets.assign(read.begin() + 1, read.end());
      targets.push_back(-1);  // nobody knows what comes behind the end
      return targets;
    }
    throw Error(ErrorCode::Labels, fmt::format("no integer input has the output's {} tokens", tokens),
                "‹labels› tokens.npy: the next tokens, [samples, tokens]");
  }

  const EvalOptions& options_;
  std::optional<LabelArray> labels_;
  Surprise surprise_;
};

class CustomTally : public TaskTally {
 public:
  explicit CustomTally(const EvalOptions& options)
      : script_{options.script, {}, {}},
        objective_(options.function ? metric_objective(*options.function)
                                    : metric_objective(script_, options.measure.data)),
        name_(options.function ? options.function->name : "script"),
        higher_is_better_(!options.max || options.min) {}

  void add(std::size_t sample, const Sample& /*inputs*/, const std::vector<NamedTensor>& outputs,
           const std::vector<NamedTensor>& references) override {
    if (!tally_) {
      for (const NamedTensor& output : outputs) names_.push_back(output.name);
      tally_ = objective_->begin(names_);
    }
    std::vector<Tensor> tensors, other;
    for (const NamedTensor& output : outputs) {
      tensors.push_back(output.tensor);
      const auto same = std::ranges::find(references, output.name, &NamedTensor::name);
      if (same != references.end()) other.push_back(same->tensor);
    }
    if (other.size() != tensors.size()) other.clear();
    tally_->add(sample, other, tensors);
  }

  std::vector<TaskFigure> figures() const override {
    return {{name_, tally_ ? tally_->trial().metric : std::nan(""), higher_is_better_, false}};
  }

 private:
  MetricScript script_;
  std::unique_ptr<Objective> objective_;
  std::string name_;  // of the figure
  bool higher_is_better_;
  std::vector<std::string> names_;
  std::unique_ptr<Tally> tally_;
};

}  // namespace

std::vector<float> as_floats(const NamedTensor& output) {
  const Tensor& tensor = output.tensor;
  if (!fits_float32(tensor.dtype()) && tensor.dtype() != Dtype::Float64 && !is_integer(tensor.dtype())) {
    throw Error(ErrorCode::Labels, fmt::format("output '{}' holds {} elements that are not figures",
                                               printable(output.name), dtype_name(tensor.dtype())));
  }
  std::vector<double> room;
  const auto values = read_block(tensor, 0, static_cast<std::size_t>(tensor.count()), room);
  std::vector<float> floats(values.size());
  std::transform(values.begin(), values.end(), floats.begin(), [](double value) { return static_cast<float>(value); });
  return floats;
}

void need_outputs(const std::vector<NamedTensor>& outputs, std::size_t count, const char* task) {
  if (outputs.size() == count) return;
  std::vector<std::string> names;
  for (const NamedTensor& output : outputs) names.push_back(output.name);
  throw Error(ErrorCode::SeveralOutputs,
              fmt::format("{} looks at {}, and there are {}: {}", task, plural(count, "output"), names.size(),
                          list_some(names)),
              "‹outputs› NAME chooses, in this order");
}

std::unique_ptr<TaskTally> make_tally(const EvalOptions& options, const std::vector<InputInfo>& inputs,
                                      const SampleCount& samples) {
  switch (options.task) {
    case Task::Classification:
      return std::make_unique<ClassificationTally>(options, samples);
    case Task::Detection:
      return detection_tally(options, inputs, samples.used);
    case Task::Segmentation:
      return std::make_unique<SegmentationTally>(options, samples);
    case Task::Language:
      return std::make_unique<LanguageTally>(options, samples);
    case Task::Custom:
      break;
  }
  return std::make_unique<CustomTally>(options);
}

}  // namespace vernier
