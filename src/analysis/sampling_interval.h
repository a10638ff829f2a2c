// How far a figure over few samples may be from the same figure over many.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "analysis/requirement.h"
#include "vernier/report/figures.h"

namespace vernier {

/// Fewer samples say too little of how samples differ.
inline constexpr std::size_t kFewestForInterval = 8;

/// Of the pooled signal-to-noise ratio, in dB, and of the share of rows that agree: the percentile bootstrap, from 2.5
/// to 97.5 % of 1,000 draws of as many samples, with replacement, from a fixed seed. Samples are taken to be drawn
/// independently of each other; what all of them lack it cannot know. nullopt with fewer than 8 samples, without rows,
/// and where a ratio is not finite in any draw.
/// Cost: O(1,000 samples). Source: B. Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics 7
/// (1979).
std::optional<SamplingInterval> sqnr_interval(std::span<const SampleSums> samples);
/// Where every sample has one row, and where all rows agree or none, which no draw would tell: as share_interval().
std::optional<SamplingInterval> agreement_interval(std::span<const SampleSums> samples);

/// Of a share `p` of `n` samples that are right, Wilson's score interval with z = 1.96:
///   (p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)
/// Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).
SamplingInterval share_interval(double p, std::size_t n);

}  // namespace vernier
