#include "analysis/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "analysis/alike_samples.h"
#include "analysis/class_scores.h"
#include "analysis/paired_gain.h"
#include "base/text.h"
#include "options/bounded_metric.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

constexpr std::size_t kMostWithIntervals = 64;  // outputs: more would take seconds
constexpr std::size_t kWorstSamples = 8;
constexpr std::size_t kSamplesForOneCopy = 50;  // one in as many moves no figure that people read

double sqnr_db_of(const SampleSums& sums) {
  if (sums.error_energy == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(sums.ref_energy / sums.error_energy);
}

/// What one output exceeds on new samples with Requirement::confidence.
struct Exceeded {
  std::optional<double> sqnr_db, top1;
};

/// Whether samples of that output say anything of others: those of a sequence depend on each other.
bool tell_of_others(const Subject& subject, const OutputStats& stats) {
  return subject.carries.empty() && subject.judged.size() <= kMostWithIntervals && stats.finite();
}

/// Sums of samples without those that repeat another one: copies say of other samples what one of them does. All of
/// them, as long as samples that were not read yet would have to be.
std::vector<SampleSums> distinct_of(const Subject& subject, const std::vector<SampleSums>& each) {
  const auto* compared = dynamic_cast<const AlikeSamples*>(subject.samples);
  const std::vector<std::size_t>* first = compared == nullptr ? nullptr : compared->known_first_alike();
  if (first == nullptr) return each;
  std::set<std::size_t> seen;
  std::vector<SampleSums> distinct;
  for (const SampleSums& sums : each) {
    if (sums.sample >= first->size() || seen.insert((*first)[sums.sample]).second) distinct.push_back(sums);
  }
  return distinct;
}

/// What layers that are kept surely gain, in dB, as deciding_figure() says it. 0 where samples are not the same.
double sure_gain_db(std::span<const SampleSums> kept, std::span<const SampleSums> low) {
  if (kept.size() != low.size()) return 0;
  const auto noise = [](const SampleSums& sums) {
    constexpr double kLeast = 1e-15;
    return std::max(sums.error_energy, kLeast * sums.ref_energy) + std::numeric_limits<double>::min();
  };
  std::map<std::size_t, double> before;
  for (const SampleSums& sums : low) before[sums.sample] = noise(sums);
  Noise own(1), other(1);
  std::vector<double> log_own, log_other;
  for (const SampleSums& sums : kept) {
    const auto found = before.find(sums.sample);
    if (found == before.end()) return 0;
    own.front().push_back(noise(sums));
    other.front().push_back(found->second);
    log_own.push_back(std::log(own.front().back()));
    log_other.push_back(std::log(found->second));
  }
  const auto less_one_error = [](const Gain& gain) { return gain.nats - gain.scatter; };
  double nats = less_one_error(typical_gain(log_other, log_own));
  if (!heavy_tail(kept)) nats = std::max(nats, less_one_error(gain_over(other, own)));
  return 10 / std::numbers::ln10 * nats;
}

/// What the pooled ratio exceeds with that confidence, as deciding_figure() says it. `low` may be null.
std::optional<double> sqnr_above(const std::optional<SqnrSpread>& spread, std::span<const SampleSums> distinct,
                                 const LowOutput* low, double confidence) {
  std::optional<double> above = spread ? spread->above(confidence) : std::nullopt;
  if (!above || low == nullptr) return above;
  if (const auto bound = low->spread ? low->spread->above(confidence) : std::nullopt) {
    above = std::min(*above, *bound + sure_gain_db(distinct, low->stats.each));
  }
  return above;
}

const LowOutput* of_output(const LowStats* low, const std::string& output) {
  if (low == nullptr) return nullptr;
  const auto found = low->find(output);
  return found == low->end() ? nullptr : &found->second;
}

DecidingFigure deciding_of(const Requirement& requirement, double limit, const OutputStats& stats,
                           const Exceeded& exceeded, std::size_t distinct_samples) {
  DecidingFigure figure{{}, metric_value(requirement.metric, stats), damage_of(requirement.metric, limit, stats)};
  switch (requirement.metric) {
    case Metric::MinSqnrDb:
    case Metric::MaxMse:
    case Metric::MinCosine: {  // all three are noise power
      if (!exceeded.sqnr_db) break;
      const double more = std::pow(10.0, (sqnr_db(stats.pooled) - *exceeded.sqnr_db) / 10);
      if (!(more > 1)) break;
      figure.on_samples = figure.value;
      figure.damage *= more;
      figure.value = bounded_metric(requirement.metric, figure.value, sqnr_db(stats.pooled), *exceeded.sqnr_db);
      break;
    }
    case Metric::MinTop1Agreement:
      if (!exceeded.top1 || !can_show(limit, distinct_samples, requirement.confidence)) break;
      figure.damage = std::max(figure.damage, limit < 1 ? (1 - *exceeded.top1) / (1 - limit) : 0);
      if (*exceeded.top1 < figure.value) figure.on_samples = figure.value;
      figure.value = std::min(figure.value, *exceeded.top1);
      break;
    case Metric::MaxAbsError:
      break;  // nothing is known beyond the largest of those that were seen
  }
  return figure;
}

}  // namespace

std::optional<Note> alike_samples_note(const Subject& subject) {
  if (subject.samples->is_random() || !subject.carries.empty()) return std::nullopt;
  const std::size_t distinct = count_distinct(*subject.samples), alike = subject.samples->size() - distinct;
  if (kSamplesForOneCopy * alike <= subject.samples->size()) return std::nullopt;
  return Note{"samples-alike", {{"alike", alike}, {"distinct", distinct}}};
}

LowStats low_stats(const Subject& subject, std::map<std::string, OutputStats> outputs) {
  LowStats low;
  for (auto& [output, stats] : outputs) {
    stats.each = distinct_of(subject, stats.each);
    const std::optional<SqnrSpread> spread = SqnrSpread::of(stats.each);
    low.emplace(output, LowOutput{std::move(stats), spread});
  }
  return low;
}

bool can_show(double share, std::size_t samples, double confidence) {
  return share_above(1, samples, confidence) >= share;
}

std::vector<SampleFigure> worst_samples(std::span<const SampleSums> samples, bool classes) {
  std::vector<SampleFigure> figures;
  if (samples.size() < 2) return figures;
  for (const SampleSums& sums : samples) {
    SampleFigure& figure = figures.emplace_back(SampleFigure{sums.sample, sqnr_db_of(sums), {}});
    if (classes && sums.rows > 0) {
      figure.top1_agreement = static_cast<double>(sums.rows_agreed) / static_cast<double>(sums.rows);
    }
  }
  const std::size_t most = std::min(kWorstSamples, figures.size());
  std::partial_sort(figures.begin(), figures.begin() + static_cast<std::ptrdiff_t>(most), figures.end(),
                    [](const SampleFigure& a, const SampleFigure& b) {
                      return std::pair{a.sqnr_db, a.sample} < std::pair{b.sqnr_db, b.sample};
                    });
  figures.resize(most);
  return figures;
}

std::optional<HeavyTail> heavy_tail(std::span<const SampleSums> samples) {
  if (samples.size() < kFewestToClaim) return std::nullopt;
  std::vector<double> errors;
  for (const SampleSums& sums : samples) errors.push_back(sums.error_energy);
  std::ranges::sort(errors, std::greater<>());
  const double all = std::accumulate(errors.begin(), errors.end(), 0.0);
  HeavyTail tail;
  double held = 0;
  while (tail.samples < samples.size() / 10 && held <= all / 2) held += errors[tail.samples++];
  if (!(held > all / 2)) return std::nullopt;
  tail.share = held / all;
  return tail;
}

RunFigures figures_of(const Subject& subject, const std::map<std::string, OutputStats>& stats,
                      const Requirement* requirement, const LowStats* low) {
  RunFigures figures;
  const std::set<std::string> classes = class_scores(subject, stats, requirement);
  for (const std::string& name : subject.judged) {
    const OutputStats& s = stats.at(name);
    if (s.picked == Picked::ByOthers) continue;
    OutputFigure figure;
    figure.name = name;
    figure.sqnr_db = metric_value(Metric::MinSqnrDb, s);
    figure.worst_sqnr_db = s.worst_sqnr_db;
    figure.worst_sample = s.worst_sample;
    figure.max_abs_error = metric_value(Metric::MaxAbsError, s);
    figure.mse = metric_value(Metric::MaxMse, s);
    figure.cosine = s.finite() && s.pooled.error_energy == 0 ? 1.0 : metric_value(Metric::MinCosine, s);
    if (classes.contains(name)) {
      figure.top1_agreement = static_cast<double>(s.rows_agreed) / static_cast<double>(s.rows);
      if (!s.along_last) {
        figure.class_axis = s.class_axis;
        figure.class_axis_from = subject.class_axes.at(name).said_by;
      }
    }
    if (tell_of_others(subject, s)) {
      const std::vector<SampleSums> distinct = distinct_of(subject, s.each);
      const std::optional<SqnrSpread> spread = SqnrSpread::of(distinct);
      if (spread) figure.sqnr_interval = spread->interval();
      if (figure.top1_agreement) figure.top1_interval = agreement_interval(distinct);
      if (requirement != nullptr && requirement->confidence > 0.5) {
        figure.sqnr_above = sqnr_above(spread, distinct, of_output(low, name), requirement->confidence);
        if (figure.top1_agreement) figure.top1_above = agreement_above(distinct, requirement->confidence);
        // Of a set that a search chose, the figure is less sure than the samples alone say.
        if (figure.sqnr_interval && figure.sqnr_above) {
          figure.sqnr_interval->low = std::min(figure.sqnr_interval->low, *figure.sqnr_above);
        }
      }
      figure.heavy_tail = heavy_tail(distinct);
      figure.worst_samples = worst_samples(s.each, figure.top1_agreement.has_value());
    }
    figure.nonfinite = s.pooled.got_nan + s.pooled.got_inf;
    figure.reference_nonfinite = s.pooled.ref_nonfinite;
    figure.lost_infinities = s.lost_infinities;
    figures.outputs.push_back(figure);
  }
  if (requirement != nullptr) {
    figures.damage = 0;
    for (const OutputFigure& figure : figures.outputs) {
      const std::optional<double> limit = requirement->limit_for(figure.name);
      if (!limit) continue;
      const Exceeded exceeded{figure.sqnr_above, figure.top1_above};
      const OutputStats& s = stats.at(figure.name);
      const DecidingFigure decides =
          deciding_of(*requirement, *limit, s, exceeded, distinct_of(subject, s.each).size());
      figures.damage = std::max(*figures.damage, decides.damage);
    }
    figures.passed = *figures.damage <= 1;
  }
  return figures;
}

std::vector<Note> require_comparable(const std::map<std::string, OutputStats>& outputs,
                                     const Requirement* requirement) {
  std::vector<Note> notes;
  bool values = false, classes = false, limited = false;
  const bool top1 = requirement != nullptr && requirement->metric == Metric::MinTop1Agreement;
  for (const auto& [name, stats] : outputs) {
    if (stats.picked == Picked::ByOthers) continue;
    if (!stats.pooled.comparable() && stats.lost_infinities == 0) {
      throw Error(
          ErrorCode::NotMeasurable,
          fmt::format("output '{}' of the float model holds nothing but NaN, in any sample: nothing can be compared",
                      printable(name)),
          "‹vernier run MODEL --onnxrt --validate --data SAMPLES› names the tensor it begins in; ‹outputs› chooses "
          "other outputs");
    }
    if (stats.pooled.ref_nonfinite > 0) {
      notes.push_back({"reference-not-finite", {{"count", stats.pooled.ref_nonfinite}, {"output", name}}});
    }
    if (stats.pooled.count == 0) notes.push_back({"output-empty", {{"output", name}}});
    if (requirement != nullptr && !requirement->limit_for(name)) continue;
    limited = true;
    values = values || stats.pooled.count > 0;
    classes = classes || stats.rows > 0;
    if (top1 && stats.rows == 0 && stats.pooled.count > 0)
      notes.push_back({"output-without-classes", {{"output", name}}});
  }
  if (!limited) return notes;
  if (!values) {
    throw Error(ErrorCode::NotMeasurable, "the compared outputs are empty in every sample: nothing can be compared",
                "give samples on which the model returns values, or measure in front of what selects them: ‹outputs›");
  }
  if (top1 && !classes) {
    throw Error(ErrorCode::NotMeasurable,
                "top-1 agreement needs an output of several classes, and the compared ones hold one value a row",
                "‹min-sqnr› and ‹max-abs-error› check single values, a ‹metric-script› decisions at a threshold");
  }
  return notes;
}

double noise_share(const std::map<std::string, OutputStats>& stats) {
  double worst = 0;
  for (const auto& [name, s] : stats) worst = std::max(worst, damage_of(Metric::MinSqnrDb, 0, s));
  return worst;
}

double damage_of_all(const std::map<std::string, OutputStats>& stats, const Requirement* requirement) {
  if (requirement == nullptr) return noise_share(stats);
  double worst = 0;
  for (const auto& [name, s] : stats) {
    if (const auto limit = requirement->limit_for(name))
      worst = std::max(worst, damage_of(requirement->metric, *limit, s));
  }
  return worst;
}

DecidingFigure deciding_figure(const Subject& subject, const std::map<std::string, OutputStats>& stats,
                               const Requirement& requirement, const LowStats* low) {
  DecidingFigure worst{{}, 0, -1};
  for (const auto& [name, s] : stats) {
    const std::optional<double> limit = requirement.limit_for(name);
    if (!limit) continue;
    Exceeded exceeded;
    std::size_t samples = s.each.size();
    if (requirement.confidence > 0.5 && tell_of_others(subject, s)) {
      const std::vector<SampleSums> distinct = distinct_of(subject, s.each);
      samples = distinct.size();
      if (requirement.metric == Metric::MinTop1Agreement) {
        exceeded.top1 = agreement_above(distinct, requirement.confidence);
      } else if (requirement.metric != Metric::MaxAbsError) {
        exceeded.sqnr_db = sqnr_above(SqnrSpread::of(distinct), distinct, of_output(low, name), requirement.confidence);
      }
    }
    DecidingFigure decides = deciding_of(requirement, *limit, s, exceeded, samples);
    if (decides.damage <= worst.damage) continue;
    worst = std::move(decides);
    worst.output = name;
  }
  worst.damage = std::max(worst.damage, 0.0);
  return worst;
}

double noise_of_db(double db) { return std::pow(10.0, -db / 10); }

}  // namespace vernier
