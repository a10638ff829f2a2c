// Measuring a requirement (include/vernier/requirement.h): the sums of one output, and how much of the allowance they
// use. The metrics' names and limits are in src/options/requirement.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "numerics/metrics.h"
#include "vernier/requirement.h"
#include "vernier/tensor.h"

namespace vernier {

/// What one sample adds to the sums of an output.
struct SampleSums {
  double ref_energy = 0, error_energy = 0;
  std::int64_t rows = 0, rows_agreed = 0;
  std::size_t sample = 0;  // its place among all; of a sum the first one's
  SampleSums& operator+=(const SampleSums& other);
};

/// What one sample says of an output, beside the reference.
struct SampleOutcome {
  ErrorStats error;
  std::int64_t lost_infinities = 0, rows = 0, rows_agreed = 0;  // as in OutputSums
  bool along_last = true;
};

/// Whether scores decide on the number of an output's elements (picked_outputs.h).
enum class Picked : std::uint8_t {
  No,
  Front,     // one of the tensors in front of what picks, which no file gives out
  ByOthers,  // fronts judge it: it adds nothing itself
  Layered,   // weighted layers stand behind the picks: of other shapes no element has a partner, and all is error
};

/// `class_axis`: as in OutputSums. Errors: Input when the shapes differ, unless the output is picked.
SampleOutcome outcome_of(const Tensor& ref, const Tensor& got, const std::optional<int>& class_axis,
                         Picked picked = Picked::No);

/// What is known of one output after some samples: pooled over samples, and the worst sample.
struct OutputSums {
  ErrorStats pooled;
  /// Where ref is infinite and got is not that infinity. A row can agree all the same: -inf masks a class, and so does
  /// any value that is low enough. For every other metric the error has no bound.
  std::int64_t lost_infinities = 0;
  std::int64_t rows = 0;         // rows that have a largest element (classification)
  std::int64_t rows_agreed = 0;  // rows whose largest element is at the same place on both sides
  double worst_sqnr_db = 0;      // of a single sample; meaningful when samples > 0
  std::size_t worst_sample = 0;
  std::size_t samples = 0;
  /// A row lies along this axis, from 0 or from -1 backwards. Absent: along the last one that is longer than 1.
  std::optional<int> class_axis = {};
  bool along_last = true;  // rows lie along the last axis longer than 1, said or not
  Picked picked = Picked::No;

  /// got is what ref is wherever one of them is not finite; NaN of ref aside.
  bool finite() const noexcept { return pooled.finite() && lost_infinities == 0; }
};

struct OutputStats : OutputSums {
  std::vector<SampleSums> each;  // in the order in which they were added

  /// Returns the sums of this sample alone.
  ErrorStats add_sample(std::size_t index, const Tensor& ref, const Tensor& got);
  void add(std::size_t index, const SampleOutcome& sample);
};

/// The metric's value of one output.
double metric_value(Metric metric, const OutputStats& stats);

/// How much of the allowance is used: 1 is exactly the limit, below passes; damages of single layers add up as noise
/// power does.
///   sqnr: 10^((limit - sqnr)/10) · mse: mse/limit · max abs error: (error/limit)^2 · cosine: (1-c)/(1-limit)
///   top-1: (1-agreement)/(1-limit)
/// Edges: +inf when got is not finite where ref is, when an infinity of ref is lost (but for top-1), or when the limit
/// allows nothing and something is wrong; 0 when equal. A row with a NaN of got agrees where ref has its first NaN
/// there, and nowhere else.
double damage_of(Metric metric, double limit, const OutputStats& stats);

/// What one sample adds to damage_of() of all samples, whose totals are `all`: for metrics whose damage is a sum over
/// samples. Absent for the others. `rows_wrong`: rows of the sample whose largest element moved.
std::optional<double> damage_share(Metric metric, double limit, const ErrorStats& sample, std::int64_t rows_wrong,
                                   const OutputStats& all);

/// The pooled stats of the worst possible completion are already beyond the limit: `so_far` covers a part of the
/// samples whose totals are `all` (reference energy, element and row counts known from the reference run). Exact, no
/// statistics.
bool surely_fails(Metric metric, double limit, const OutputStats& so_far, const OutputStats& all);

}  // namespace vernier
