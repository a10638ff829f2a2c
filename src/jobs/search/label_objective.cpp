// Trials judged by labels: how many samples a classifier gets right.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "jobs/search/objective.h"
#include "tasks/ranks.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/search_options.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

bool is_right(const LabelRequirement& wanted, const std::vector<std::int64_t>& labels, std::size_t sample,
              const Tensor& output) {
  const std::span<const float> scores = output.floats();
  if (scores.size() == 1) {
    throw Error(ErrorCode::Labels, "‹labels› need an output with a score for each class, and this one holds one value",
                "a ‹metric-script› can evaluate decisions at a threshold");
  }
  const std::int64_t label = labels[sample] + wanted.offset;
  if (label < 0 || label >= static_cast<std::int64_t>(scores.size())) {
    throw Error(
        ErrorCode::Labels,
        fmt::format("label {} of sample {} is outside the {} classes of the output", label, sample, scores.size()),
        "‹label-offset› N is added to every label");
  }
  return place_of(scores, static_cast<std::size_t>(label)) < wanted.top;
}

std::vector<std::int64_t> labels_of(const LabelRequirement& wanted, const SampleCount& samples) {
  std::vector<std::int64_t> labels = read_labels(wanted.labels);
  require_labels_for(wanted.labels.name(), labels.size(), samples);
  labels.resize(samples.used);
  return labels;
}

class LabelTally : public Tally {
 public:
  LabelTally(const LabelRequirement& wanted, const std::vector<std::int64_t>& labels)
      : wanted_(wanted), labels_(labels) {}

  bool add(std::size_t sample, const std::vector<Tensor>& /*ref*/, const std::vector<Tensor>& got) override {
    ++seen_;
    if (is_right(wanted_, labels_, sample, got.front())) ++right_;
    const double allowed = (1 - wanted_.min_share) * static_cast<double>(labels_.size());
    return static_cast<double>(seen_ - right_) <= allowed * (1 + 1e-9) + 1e-9;
  }

  Trial trial() const override {
    const double all = static_cast<double>(labels_.size());
    const double wrong = static_cast<double>(seen_ - right_);
    const double allowed = (1 - wanted_.min_share) * all;
    Trial trial;
    trial.metric = 1 - wrong / all;
    trial.damage = wrong == 0 ? 0 : wrong / std::max(allowed, 1e-9);
    if (wrong <= allowed * (1 + 1e-9) + 1e-9) trial.damage = std::min(trial.damage, 1.0);
    trial.verdict = trial.damage <= 1 ? Verdict::Good : Verdict::Bad;
    trial.why = fmt::format("{}‹min-top{}› {:.4g}", seen_ < labels_.size() ? "less than " : "", wanted_.top,
                            std::floor(trial.metric * 1e4) / 1e4);
    return trial;
  }

 private:
  const LabelRequirement& wanted_;
  const std::vector<std::int64_t>& labels_;
  std::size_t seen_ = 0, right_ = 0;
};

class LabelObjective : public Objective {
 public:
  LabelObjective(const LabelRequirement& wanted, std::vector<std::int64_t> labels)
      : wanted_(wanted), labels_(std::move(labels)) {}

  DecidedBy decided_by() const override { return DecidedBy::Labels; }

  std::string key() const override {
    const std::string offset = wanted_.offset == 0 ? "" : fmt::format(" --label-offset {}", wanted_.offset);
    const std::string of = wanted_.labels.in_memory() ? "given" : "of " + printable(wanted_.labels.name());
    return fmt::format("--min-top{} {:g} by the labels {}{}", wanted_.top, wanted_.min_share, of, offset);
  }

  std::string text() const override {
    const std::string offset = wanted_.offset == 0 ? "" : fmt::format(" ‹label-offset› {}", wanted_.offset);
    const std::string of = wanted_.labels.in_memory() ? "given" : "of " + printable(wanted_.labels.name());
    return fmt::format("‹min-top{}› {:g} by the labels {}{}", wanted_.top, wanted_.min_share, of, offset);
  }

  std::string fingerprint() const override {
    Sha256 hash;
    hash.update(std::as_bytes(std::span(labels_)));
    return hash.hex();
  }

  std::unique_ptr<Tally> begin(const std::vector<std::string>& outputs) const override {
    if (outputs.size() != 1) {
      throw Error(ErrorCode::SeveralOutputs,
                  fmt::format("‹labels› are for one output, and there are {}", outputs.size()),
                  "‹outputs› NAME: one of " + list_some(outputs));
    }
    return std::make_unique<LabelTally>(wanted_, labels_);
  }

 private:
  const LabelRequirement& wanted_;
  std::vector<std::int64_t> labels_;
};

}  // namespace

LabelCheck label_check(const LabelRequirement& wanted, const SampleCount& samples) {
  return [wanted, labels = labels_of(wanted, samples)](std::size_t sample, const std::vector<Tensor>& got) {
    if (got.size() != 1) {
      throw Error(ErrorCode::SeveralOutputs, fmt::format("‹labels› are for one output, and there are {}", got.size()),
                  "‹outputs› NAME chooses it");
    }
    return is_right(wanted, labels, sample, got.front());
  };
}

std::unique_ptr<Objective> label_objective(const LabelRequirement& wanted, const SampleCount& samples) {
  return std::make_unique<LabelObjective>(wanted, labels_of(wanted, samples));
}

}  // namespace vernier
