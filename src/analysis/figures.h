// From measured sums to the figures of a report.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/requirement.h"
#include "analysis/subject.h"
#include "vernier/report/figures.h"
#include "vernier/requirement.h"

namespace vernier {

/// Whether so many samples that all agree show an agreement of `share` with that confidence: if not, no result could.
bool can_show(double share, std::size_t samples, double confidence);

/// Of the subject's judged outputs, in their order. `requirement`: may be null. With Requirement::confidence above 0.5
/// damage is that of what a figure exceeds on new samples: SQNR, mean squared error and cosine by SqnrSpread,
/// agreement by agreement_above() where can_show() allows any; of the largest error, of too few samples and of
/// sequences it is that of the figure itself.
RunFigures figures_of(const Subject& subject, const std::map<std::string, OutputStats>& stats,
                      const Requirement* requirement);

/// The eight samples of the lowest ratio, lowest first; none where there is only one sample. `classes`: the output is
/// class scores. All sums are finite.
std::vector<SampleFigure> worst_samples(std::span<const SampleSums> samples, bool classes);

/// Errors: Input when the reference gives nothing but NaN in that output: nothing can be compared there.
void require_comparable(const std::string& output, const ErrorStats& stats);

/// Noise power over signal power, the largest of the outputs: what sensitivities are ranked by without a requirement.
double noise_share(const std::map<std::string, OutputStats>& stats);

/// Largest damage over the judged outputs that have a limit; noise_share when there is no requirement.
double damage_of_all(const std::map<std::string, OutputStats>& stats, const Requirement* requirement);

/// Noise over signal of so many dB.
double noise_of_db(double db);

}  // namespace vernier
