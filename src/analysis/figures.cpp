#include "analysis/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "analysis/class_scores.h"
#include "analysis/sampling_interval.h"
#include "base/text.h"
#include "vernier/error.h"

namespace vernier {
namespace {

constexpr std::size_t kMostWithIntervals = 64;  // outputs: more would take seconds
constexpr std::size_t kWorstSamples = 8;

double sqnr_db_of(const SampleSums& sums) {
  if (sums.error_energy == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(sums.ref_energy / sums.error_energy);
}

/// Of what a figure exceeds on new samples, as Requirement::confidence wants; 0 where nothing says it.
double damage_on_new_samples(const OutputFigure& figure, const OutputStats& stats, const Requirement& requirement) {
  const std::optional<double> limit = requirement.limit_for(figure.name);
  if (!limit) return 0;
  switch (requirement.metric) {
    case Metric::MinSqnrDb:
    case Metric::MaxMse:
    case Metric::MinCosine:  // all three are noise power
      if (!figure.sqnr_above) return 0;
      return damage_of(requirement.metric, *limit, stats) * std::pow(10.0, (figure.sqnr_db - *figure.sqnr_above) / 10);
    case Metric::MinTop1Agreement:
      if (!figure.top1_above || !can_show(*limit, stats.each.size(), requirement.confidence)) return 0;
      return *limit < 1 ? (1 - *figure.top1_above) / (1 - *limit) : 0;
    case Metric::MaxAbsError:
      break;  // nothing is known beyond the largest of those that were seen
  }
  return 0;
}

}  // namespace

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

RunFigures figures_of(const Subject& subject, const std::map<std::string, OutputStats>& stats,
                      const Requirement* requirement) {
  RunFigures figures;
  const std::set<std::string> classes = class_scores(subject, stats, requirement);
  for (const std::string& name : subject.judged) {
    const OutputStats& s = stats.at(name);
    OutputFigure figure;
    figure.name = name;
    figure.sqnr_db = sqnr_db(s.pooled);
    figure.worst_sqnr_db = s.worst_sqnr_db;
    figure.worst_sample = s.worst_sample;
    figure.max_abs_error = max_abs_error(s.pooled);
    figure.mse = mse(s.pooled);
    figure.cosine = s.pooled.finite() && s.pooled.error_energy == 0 ? 1.0 : cosine(s.pooled);
    if (classes.contains(name)) {
      figure.top1_agreement = static_cast<double>(s.rows_agreed) / static_cast<double>(s.rows);
      if (!s.along_last) {
        figure.class_axis = s.class_axis;
        figure.class_axis_from = subject.class_axes.at(name).said_by;
      }
    }
    if (subject.carries.empty() && subject.judged.size() <= kMostWithIntervals && s.pooled.finite()) {
      const std::optional<SqnrSpread> spread = SqnrSpread::of(s.each);
      if (spread) figure.sqnr_interval = spread->interval();
      if (figure.top1_agreement) figure.top1_interval = agreement_interval(s.each);
      if (requirement != nullptr && requirement->confidence > 0.5) {
        if (spread) figure.sqnr_above = spread->above(requirement->confidence);
        if (figure.top1_agreement) figure.top1_above = agreement_above(s.each, requirement->confidence);
      }
      figure.worst_samples = worst_samples(s.each, figure.top1_agreement.has_value());
    }
    figure.nonfinite = s.pooled.got_nan + s.pooled.got_inf;
    figure.reference_nonfinite = s.pooled.ref_nonfinite;
    figures.outputs.push_back(figure);
  }
  if (requirement != nullptr) {
    figures.damage = damage_of_all(stats, requirement);
    for (const OutputFigure& figure : figures.outputs) {
      figures.damage = std::max(*figures.damage, damage_on_new_samples(figure, stats.at(figure.name), *requirement));
    }
    figures.passed = *figures.damage <= 1;
  }
  return figures;
}

void require_comparable(const std::string& output, const ErrorStats& stats) {
  if (stats.comparable()) return;
  throw Error(
      ErrorKind::Input,
      fmt::format("output '{}' of the float model holds nothing but NaN, in any sample: nothing can be compared",
                  printable(output)),
      "‹vernier run MODEL --onnxrt --validate --data SAMPLES› names the tensor it begins in; ‹outputs› judges "
      "other outputs");
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

double noise_of_db(double db) { return std::pow(10.0, -db / 10); }

}  // namespace vernier
