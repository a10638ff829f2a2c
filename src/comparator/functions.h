// The code behind each comparison function. Names, units and thresholds are in options/compare_function.h.
#pragma once

#include <string>

#include "comparator/pair.h"
#include "vernier/comparison.h"

namespace vernier {

/// One figure of one output, of the pairs that are finite.
struct Figure {
  double value = 0;
  std::string problem;  // why there is none, in words; empty when there is
};

// One file each. Edges that all share: no elements is a perfect match.

/// sqrt(sum (got - ref)^2).
Figure l2(Pair& pair);
/// dot / (|got| |ref|) in [-1, 1]; 1 when both are zero, 0 when one is.
Figure cosine_similarity(Pair& pair);
/// 20 log10(max got) - 10 log10(mean (got - ref)^2), dB; +inf when equal; a maximum <= 0 counts as 1.
Figure psnr(Pair& pair);
/// 10 log10(sum got^2 / sum (got - ref)^2), dB; +inf when equal, -inf when got is all zero.
Figure snr(Pair& pair);
/// mean (got - ref)^2.
Figure mean_squared_error(Pair& pair);
/// 10 log10(sum ref^2 / sum (got - ref)^2), dB; +inf when equal, -inf when ref is all zero and got is not.
Figure sqnr(Pair& pair);
/// Largest sum p log(p / q) of the rows along the last axis, p = ref / sum ref, q = got / sum got; nats. 0 log 0 is 0;
/// a q of 0 under a p above it, and a row of zeros on one side only, are infinite. No figure when a value is negative.
/// Source: S. Kullback and R. A. Leibler, "On Information and Sufficiency", Ann. Math. Stat. 22 (1951).
Figure kl_divergence(Pair& pair);
/// Largest number of values of the coarser type that lie between got and ref, both rounded to it (nearest even), plus
/// one; 0 when they round to the same, +0 and -0 included. Integers: the difference.
Figure ulp_distance(Pair& pair);

/// Errors: Internal for simple and indices.
Figure measure(CompareFunction function, Pair& pair);

/// The peer's rule: each value of a list of got (without the last `tolerance` of them) stands at most `tolerance`
/// places from its first place in the same list of ref. Lists run along the last axis; a scalar is a list of one.
/// `value` of the result is the largest distance, infinite when a value is missing.
FunctionResult compare_indices(const Pair& pair, double tolerance);

struct SimpleOptions {
  double atol = 0, rtol = 0;
  ErrorStat stat = ErrorStat::Elemwise;
  double quantile = 0.99;
  bool infinities_compare_equal = false;
};
/// abs = |got - ref|, rel = abs / |ref|; in floats a reference of 0 counts as 2.220446049250313e-16 there. Elemwise:
/// fails when some element has neither abs <= atol nor rel <= rtol; else when the statistic of both is above.
/// Histograms are made when it fails, or for `detail`. Source: SimpleCompareFunc of the peer; integers are subtracted
/// exactly here.
FunctionResult compare_simple(const Pair& pair, const SimpleOptions& options, bool detail);

}  // namespace vernier
