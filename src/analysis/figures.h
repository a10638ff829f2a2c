// From measured sums to the figures of a report.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/requirement.h"
#include "analysis/subject.h"
#include "vernier/report/figures.h"
#include "vernier/requirement.h"

namespace vernier {

/// Of the subject's judged outputs, in their order. `requirement`: may be null.
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
