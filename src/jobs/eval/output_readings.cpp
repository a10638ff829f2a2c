#include "jobs/eval/output_readings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/text.h"
#include "jobs/data_check/reading_verdict.h"
#include "tasks/ranks.h"
#include "vernier/error.h"
#include "vernier/report/eval.h"

namespace vernier {
namespace {

constexpr double kFewRight = 0.5;   // of a network that was trained more of the labels are right
constexpr double kSureGain = 0.05;  // of mAP or mIoU: on the same samples, so chance has no part in it
constexpr double kSureRatio = 1.3;  // and that of what it was
constexpr const char* kOrder = "in another order";

std::string quoted_options(const std::string& options) { return options.empty() ? "" : " (" + options + ")"; }

void best_first(std::vector<OutputReading>& readings) {
  std::stable_sort(readings.begin() + 1, readings.end(),
                   [](const OutputReading& a, const OutputReading& b) { return a.value > b.value; });
}

std::string better_text(const OutputReading& best, const OutputReading& given, const std::string& figure) {
  return fmt::format("The outputs fit better with {}{}: {} {:.1f} %, {:.1f} % as given.", best.change,
                     quoted_options(best.do_this), figure, 100 * best.value, 100 * given.value);
}

/// Labels of a classifier. No output is decoded: one look at the scores serves all readings.
class ClassReadings : public OutputReadings {
 public:
  ClassReadings(const EvalOptions& task, const SampleCount& samples)
      : offset_(task.label_offset), labels_(read_labels(task.labels)) {
    require_labels_for(task.labels.name(), labels_.size(), samples);
  }

  void add(std::size_t sample, const Sample& /*inputs*/, const std::vector<NamedTensor>& outputs) override {
    need_outputs(outputs, 1, "classification");
    const std::vector<float> scores = as_floats(outputs.front());
    for (std::size_t i = 0; i < kShifts.size(); ++i) {
      const std::int64_t label = labels_[sample] + offset_ + kShifts[i];
      const bool known = label >= 0 && label < static_cast<std::int64_t>(scores.size());
      hits_[i].push_back(known && place_of(scores, static_cast<std::size_t>(label)) == 0);
    }
    seen_.push_back({labels_[sample] + offset_, std::ranges::max_element(scores) - scores.begin()});
  }

  OutputVerdict verdict() const override {
    OutputVerdict verdict;
    verdict.figure = "top-1";
    for (std::size_t i = 0; i < kShifts.size(); ++i) {
      const std::string change = kShifts[i] == 0 ? "" : fmt::format("labels shifted by {:+}", kShifts[i]);
      verdict.readings.push_back(
          {change, kShifts[i] == 0 ? "" : fmt::format("‹label-offset› {}", offset_ + kShifts[i]), share(hits_[i])});
    }
    for (std::size_t i = 1; i < kShifts.size(); ++i) {
      if (!more_right(hits_[i], hits_[0], 2) || share(hits_[i]) < kFewRight) continue;
      verdict.better = verdict.readings[i].change;
      verdict.answer = better_text(verdict.readings[i], verdict.readings[0], "top-1");
    }
    if (!verdict.better) try_order(verdict);
    best_first(verdict.readings);
    return verdict;
  }

 private:
  static constexpr std::array<std::int64_t, 3> kShifts{0, 1, -1};

  static double share(const std::vector<bool>& hits) {
    return hits.empty() ? 0 : static_cast<double>(std::ranges::count(hits, true)) / static_cast<double>(hits.size());
  }

  /// Which class the network gives most often for a label is learned on every other sample, and tried on the rest.
  void try_order(OutputVerdict& verdict) const {
    std::map<std::int64_t, std::map<std::int64_t, std::size_t>> given;
    for (std::size_t i = 0; i < seen_.size(); i += 2) ++given[seen_[i].label][seen_[i].got];
    std::map<std::int64_t, std::int64_t> order;
    std::map<std::int64_t, std::size_t> meanings;
    for (const auto& [label, counts] : given) {
      const auto most = std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; });
      order[label] = most->first;
      ++meanings[most->first];
    }
    // A network that gives one class for everything is in no order.
    if (std::ranges::any_of(meanings, [](const auto& one) { return one.second > 1; })) return;
    std::vector<bool> now, before;
    for (std::size_t i = 1; i < seen_.size(); i += 2) {
      const auto found = order.find(seen_[i].label);
      now.push_back(found != order.end() && found->second == seen_[i].got);
      before.push_back(hits_[0][i]);
    }
    if (!more_right(now, before, 2) || share(now) < kFewRight) return;
    verdict.readings.push_back({std::string("classes ") + kOrder, "", share(now)});
    verdict.better = verdict.readings.back().change;
    std::vector<std::string> pairs;
    for (const auto& [label, got] : order) {
      if (label != got) pairs.push_back(fmt::format("{} is {}", label - offset_, got));
    }
    verdict.answer = fmt::format(
        "The labels count the network's classes {}: of labels and classes {}. Learned on every other sample, it is "
        "right "
        "in {:.1f} % of the rest, {:.1f} % as given.",
        kOrder, list_some(pairs, 8), 100 * share(now), 100 * share(before));
  }

  struct Seen {
    std::int64_t label, got;
  };
  std::int64_t offset_;
  std::vector<std::int64_t> labels_;
  std::array<std::vector<bool>, kShifts.size()> hits_;
  std::vector<Seen> seen_;
};

using Change = std::function<void(EvalOptions&)>;

/// Readings that are options of the task, each with a tally of its own.
class TallyReadings : public OutputReadings {
 public:
  TallyReadings(const EvalOptions& task, std::unique_ptr<TaskTally> given) : task_(task) {
    given_ = std::move(given);
    if (task.task == Task::Detection) {
      detection();
    } else {
      segmentation();
    }
  }

  void add(std::size_t sample, const Sample& inputs, const std::vector<NamedTensor>& outputs) override {
    given_->add(sample, inputs, outputs, {});
    for (Candidate& one : candidates_) {
      if (!one.tally) continue;
      try {
        one.tally->add(sample, inputs, outputs, {});
      } catch (const Error&) {
        one.tally.reset();
      }
    }
  }

  OutputVerdict verdict() const override {
    OutputVerdict verdict;
    verdict.figure = given_->figures().front().name;
    verdict.readings.push_back({"", "", value(*given_)});
    for (const Candidate& one : candidates_) {
      if (one.tally) verdict.readings.push_back({one.change, one.options, value(*one.tally)});
    }
    best_first(verdict.readings);
    if (verdict.readings.size() < 2) return verdict;
    const OutputReading &given = verdict.readings[0], &best = verdict.readings[1];
    if (best.value < given.value + kSureGain || best.value < kSureRatio * given.value) return verdict;
    verdict.better = best.change;
    verdict.answer = better_text(best, given, verdict.figure);
    return verdict;
  }

 private:
  struct Candidate {
    std::string change, options;
    std::unique_ptr<EvalOptions> how;  // the tally points to it
    std::unique_ptr<TaskTally> tally;  // null: the outputs cannot be read so
  };

  static double value(const TaskTally& tally) {
    const double figure = tally.figures().front().value;
    return std::isfinite(figure) && figure > 0 ? figure : 0;  // no box, or nothing to find
  }

  void candidate(const std::string& change, const std::string& options, const Change& how) {
    Candidate one{change, options, std::make_unique<EvalOptions>(task_), nullptr};
    how(*one.how);
    one.tally = given_->reading(*one.how);
    candidates_.push_back(std::move(one));
  }

  void segmentation() {
    for (const int shift : {1, -1}) shifted(shift);
    if (task_.scores == ScoreFunction::None) {
      candidate("a sigmoid before the threshold", "‹scores› sigmoid",
                [](EvalOptions& how) { how.scores = ScoreFunction::Sigmoid; });
    }
  }

  void shifted(int shift) {
    candidate(fmt::format("labels shifted by {:+}", shift),
              fmt::format("‹label-offset› {}", task_.label_offset + shift),
              [shift](EvalOptions& how) { how.label_offset += shift; });
  }

  void detection() {
    if (task_.boxes == BoxForm::Yolox) {
      boxes(BoxForm::Yolov5, BoxOrder::Centre);
      boxes(BoxForm::Yolov5, BoxOrder::Corners);
    } else {
      for (const BoxOrder order :
           {BoxOrder::Corners, BoxOrder::CornersYFirst, BoxOrder::Centre, BoxOrder::CornerAndSize}) {
        boxes(task_.boxes, order);
      }
    }
    for (const int shift : {1, -1}) shifted(shift);
    for (const ScoreFunction scores : {ScoreFunction::Sigmoid, ScoreFunction::Softmax}) {
      if (task_.scores != ScoreFunction::None || (scores == ScoreFunction::Softmax && task_.boxes != BoxForm::Plain)) {
        continue;
      }
      candidate(fmt::format("a {} of the scores", word_of(scores)), fmt::format("‹scores› {}", word_of(scores)),
                [scores](EvalOptions& how) { how.scores = scores; });
    }
    for (const ImageFit fit : {ImageFit::Letterbox, ImageFit::LetterboxCenter, ImageFit::Stretch}) {
      if (fit == task_.fit || task_.box_units == BoxUnits::Image) continue;
      candidate(fmt::format("images laid on the input by {}", word_of(fit)), fmt::format("‹fit› {}", word_of(fit)),
                [fit](EvalOptions& how) { how.fit = fit; });
    }
    const EvalOptions usual;
    if (task_.least_score > usual.least_score) {
      candidate(fmt::format("boxes of {:g} and more", usual.least_score),
                fmt::format("‹min-score› {:g}", usual.least_score),
                [&](EvalOptions& how) { how.least_score = usual.least_score; });
    }
    if (task_.overlap != usual.overlap) {
      candidate(fmt::format("boxes made one from an overlap of {:g}", usual.overlap),
                fmt::format("‹nms› {:g}", usual.overlap), [&](EvalOptions& how) { how.overlap = usual.overlap; });
    }
  }

  /// Boxes of an order in all units: networks are often wrong about both.
  void boxes(BoxForm form, BoxOrder order) {
    const bool by_centre = form == BoxForm::Yolov5 || form == BoxForm::Yolov8;
    const BoxOrder own = by_centre ? BoxOrder::Centre : BoxOrder::Corners;
    const bool as_is = form == task_.boxes && order == task_.box_order.value_or(own);
    for (const BoxUnits units : {BoxUnits::Input, BoxUnits::Unit, BoxUnits::Image}) {
      if (as_is && units == task_.box_units) continue;
      std::vector<std::string> words, options;
      if (form != task_.boxes) {
        words.emplace_back("boxes decoded already");
        options.push_back(fmt::format("‹boxes› {}", word_of(form)));
      }
      if (order != (form == task_.boxes ? task_.box_order.value_or(own) : own)) {
        words.push_back(fmt::format("boxes as {}", word_of(order)));
        options.push_back(fmt::format("‹box-order› {}", word_of(order)));
      }
      if (units != task_.box_units) {
        words.push_back(units == BoxUnits::Input  ? "in pixels of the input"
                        : units == BoxUnits::Unit ? "in units of 0 to 1"
                                                  : "in pixels of the image");
        if (words.size() == 1) words.front() = "boxes " + words.front();
        options.push_back(fmt::format("‹box-units› {}", word_of(units)));
      }
      candidate(fmt::format("{}", fmt::join(words, ", ")), fmt::format("{}", fmt::join(options, " ")),
                [=](EvalOptions& how) {
                  how.boxes = form;
                  how.box_order = order;
                  how.box_units = units;
                });
    }
  }

  const EvalOptions& task_;
  std::unique_ptr<TaskTally> given_;
  std::vector<Candidate> candidates_;
};

}  // namespace

std::unique_ptr<OutputReadings> output_readings(const EvalOptions& task, const std::vector<InputInfo>& inputs,
                                                const SampleCount& samples) {
  if (task.labels.empty()) return nullptr;
  if (task.task == Task::Classification) return std::make_unique<ClassReadings>(task, samples);
  if (task.task != Task::Detection && task.task != Task::Segmentation) return nullptr;
  return std::make_unique<TallyReadings>(task, make_tally(task, inputs, samples));
}

}  // namespace vernier
