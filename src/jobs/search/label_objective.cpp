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

#include "analysis/sampling_interval.h"
#include "base/hash.h"
#include "base/text.h"
#include "jobs/search/objective.h"
#include "tasks/ranks.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/requirement.h"
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

/// Whether this share of right samples shows the one that is wanted, as surely as it is wanted.
bool shows(const LabelRequirement& wanted, double share, std::size_t distinct) {
  const double sure = wanted.confidence > 0.5 ? share_above(share, distinct, wanted.confidence) : share;
  return sure >= wanted.min_share - 1e-9;
}

void require_enough(const LabelRequirement& wanted, std::size_t samples) {
  require_confidence(wanted.confidence);
  if (wanted.confidence <= 0.5 || samples == 0 || shows(wanted, 1, samples)) return;
  constexpr std::size_t kMost = 1U << 20U;
  std::size_t enough = samples;
  while (enough < kMost && !shows(wanted, 1, enough)) ++enough;
  throw Error(
      ErrorCode::BadValue,
      fmt::format("{} labelled samples cannot show ‹min-top{}› {:g} with {:g} % confidence", samples, wanted.top,
                  wanted.min_share, 100 * wanted.confidence),
      enough < kMost ? fmt::format("at least {} samples, or a lower ‹claim-confidence›", enough) : "a smaller share");
}

/// How many of `all` samples may be wrong.
double most_wrong(const LabelRequirement& wanted, std::size_t all, std::size_t distinct) {
  if (wanted.confidence <= 0.5) return (1 - wanted.min_share) * static_cast<double>(all);
  std::size_t wrong = 0;
  const auto share_without = [&](std::size_t count) {
    return static_cast<double>(all - count) / static_cast<double>(all);
  };
  while (wrong < all && shows(wanted, share_without(wrong + 1), distinct)) ++wrong;
  return static_cast<double>(wrong);
}

class LabelTally : public Tally {
 public:
  LabelTally(const LabelRequirement& wanted, const std::vector<std::int64_t>& labels, std::size_t distinct)
      : wanted_(wanted), labels_(labels), distinct_(distinct), allowed_(most_wrong(wanted, labels.size(), distinct)) {}

  bool add(std::size_t sample, const std::vector<Tensor>& /*ref*/, const std::vector<Tensor>& got) override {
    ++seen_;
    if (is_right(wanted_, labels_, sample, got.front())) ++right_;
    return static_cast<double>(seen_ - right_) <= allowed_ * (1 + 1e-9) + 1e-9;
  }

  Trial trial() const override {
    const double all = static_cast<double>(labels_.size());
    const double wrong = static_cast<double>(seen_ - right_);
    Trial trial;
    trial.metric = 1 - wrong / all;
    trial.damage = wrong == 0 ? 0 : wrong / std::max(allowed_, 1e-9);
    if (wrong <= allowed_ * (1 + 1e-9) + 1e-9) trial.damage = std::min(trial.damage, 1.0);
    trial.verdict = trial.damage <= 1 ? Verdict::Good : Verdict::Bad;
    const double sure =
        wanted_.confidence > 0.5 ? share_above(trial.metric, distinct_, wanted_.confidence) : trial.metric;
    trial.why = fmt::format("{}‹min-top{}› {:.4g}", seen_ < labels_.size() ? "less than " : "", wanted_.top,
                            std::floor(sure * 1e4) / 1e4);
    return trial;
  }

 private:
  const LabelRequirement& wanted_;
  const std::vector<std::int64_t>& labels_;
  std::size_t distinct_;
  double allowed_;
  std::size_t seen_ = 0, right_ = 0;
};

class LabelObjective : public Objective {
 public:
  LabelObjective(const LabelRequirement& wanted, std::vector<std::int64_t> labels, std::size_t distinct)
      : wanted_(wanted), labels_(std::move(labels)), distinct_(distinct) {}

  DecidedBy decided_by() const override { return DecidedBy::Labels; }

  std::string key() const override {
    const std::string offset = wanted_.offset == 0 ? "" : fmt::format(" --label-offset {}", wanted_.offset);
    const std::string of = wanted_.labels.in_memory() ? "given" : "of " + printable(wanted_.labels.name());
    const std::string sure = wanted_.confidence > 0.5 ? fmt::format(" sure {:g}", wanted_.confidence) : "";
    return fmt::format("--min-top{} {:g} by the labels {}{}{}", wanted_.top, wanted_.min_share, of, offset, sure);
  }

  std::string text() const override {
    const std::string offset = wanted_.offset == 0 ? "" : fmt::format(" ‹label-offset› {}", wanted_.offset);
    const std::string of = wanted_.labels.in_memory() ? "given" : "of " + printable(wanted_.labels.name());
    const std::string sure =
        wanted_.confidence > 0.5 ? fmt::format(" with {:g} % confidence on new samples", 100 * wanted_.confidence) : "";
    return fmt::format("‹min-top{}› {:g} by the labels {}{}{}", wanted_.top, wanted_.min_share, of, offset, sure);
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
    return std::make_unique<LabelTally>(wanted_, labels_, distinct_);
  }

 private:
  const LabelRequirement& wanted_;
  std::vector<std::int64_t> labels_;
  std::size_t distinct_;
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

std::unique_ptr<Objective> label_objective(const LabelRequirement& wanted, const SampleCount& samples,
                                           std::size_t distinct) {
  std::vector<std::int64_t> labels = labels_of(wanted, samples);
  if (distinct == 0) distinct = labels.size();
  require_enough(wanted, distinct);
  return std::make_unique<LabelObjective>(wanted, std::move(labels), distinct);
}

}  // namespace vernier
