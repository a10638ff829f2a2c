// From measured sums to the figures of a report.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/requirement.h"
#include "analysis/sampling_interval.h"
#include "analysis/subject.h"
#include "vernier/note.h"
#include "vernier/report/figures.h"
#include "vernier/requirement.h"

namespace vernier {

/// Whether so many samples that all agree show an agreement of `share` with that confidence: if not, no result could.
bool can_show(double share, std::size_t samples, double confidence);

/// What decides a requirement: of all outputs with a limit the one that uses most of its allowance.
struct DecidingFigure {
  std::string output;
  double value = 0;                    // of the metric
  double damage = 0;                   // as damage_of()
  std::optional<double> on_samples{};  // the metric of these samples, where `value` is a bound on new ones
};

/// Everything low, on the same samples as a network that keeps some layers; null: it is not known, or that network.
struct LowOutput {
  OutputStats stats;
  std::optional<SqnrSpread> spread;  // computed once, not for each set that is compared with it
};
using LowStats = std::map<std::string, LowOutput>;
/// That more than one sample in fifty repeats another, which says nothing of new ones; absent for random samples and
/// those of a sequence.
std::optional<Note> alike_samples_note(const Subject& subject);

LowStats low_stats(const Subject& subject, std::map<std::string, OutputStats> outputs);

/// With Requirement::confidence above 0.5 value and damage are those that hold on new samples: SQNR, mean squared error
/// and cosine by SqnrSpread, agreement by agreement_above() where can_show() allows any. Of the largest error, of too
/// few samples and of sequences they are those of the samples themselves. With `low` the figure is that of a set which
/// a search chose, perhaps because a few samples like it: it exceeds no more than what everything low exceeds, plus
/// what the kept layers surely gain: the gain of the typical sample (typical_gain()) less its standard error, or, if
/// larger and without a heavy_tail(), that of all noise together (gain_over()). A gain that one sample makes counts
/// nothing, as new samples may have another layer that breaks one.
/// Cost: as SqnrSpread, for each output.
DecidingFigure deciding_figure(const Subject& subject, const std::map<std::string, OutputStats>& stats,
                               const Requirement& requirement, const LowStats* low = nullptr);

/// Of the subject's judged outputs, in their order. `requirement`: may be null; damage as that of deciding_figure().
RunFigures figures_of(const Subject& subject, const std::map<std::string, OutputStats>& stats,
                      const Requirement* requirement, const LowStats* low = nullptr);

/// The eight samples of the lowest ratio, lowest first; none where there is only one sample. `classes`: the output is
/// class scores. All sums are finite.
std::vector<SampleFigure> worst_samples(std::span<const SampleSums> samples, bool classes);

/// Absent: they are more than a tenth of the samples, or there are fewer than 10 in all. All sums are finite.
std::optional<HeavyTail> heavy_tail(std::span<const SampleSums> samples);

/// What does not count of outputs beside their reference, or of the reference beside itself: "reference-not-finite",
/// "output-empty", "output-without-classes". Errors: Input where `requirement` (null: none), or nothing at all, can be
/// judged: an output holds nothing but NaN, all are empty in all samples, or top-1 is asked of outputs with one value a
/// row.
std::vector<Note> require_comparable(const std::map<std::string, OutputStats>& outputs, const Requirement* requirement);

/// Noise power over signal power, the largest of the outputs: what sensitivities are ranked by without a requirement.
double noise_share(const std::map<std::string, OutputStats>& stats);

/// Largest damage over the judged outputs that have a limit; noise_share when there is no requirement.
double damage_of_all(const std::map<std::string, OutputStats>& stats, const Requirement* requirement);

/// Noise over signal of so many dB.
double noise_of_db(double db);

}  // namespace vernier
