#include "analysis/requirement.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A tensor as rows of `length` elements, `inner` elements from one to the next.
struct Rows {
  std::size_t outer = 1, length = 0, inner = 1;
  bool operator==(const Rows&) const = default;
};

/// Without an axis the last one longer than one ([1,1001,1,1] holds one row of 1001).
Rows rows_of(const Shape& shape, const std::optional<int>& class_axis) {
  const auto rank = static_cast<int>(shape.size());
  int axis = class_axis.value_or(rank - 1);
  if (axis < 0) axis += rank;
  while (!class_axis && axis > 0 && shape[static_cast<std::size_t>(axis)] <= 1) --axis;
  Rows rows;
  if (axis < 0 || axis >= rank || shape[static_cast<std::size_t>(axis)] <= 1) return rows;
  rows.length = static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]);
  for (int i = 0; i < rank; ++i) {
    const auto dim = static_cast<std::size_t>(shape[static_cast<std::size_t>(i)]);
    if (i < axis) rows.outer *= dim;
    if (i > axis) rows.inner *= dim;
  }
  return rows;
}

/// The place of the largest of `length` elements, the first of equals. NaN is larger than any, as in NumPy, and counts
/// from `length` on: a row with NaN has no class that a row of numbers could have.
std::size_t largest(const float* row, std::size_t length, std::size_t step) {
  std::size_t place = 0;
  float best = row[0];
  for (std::size_t i = 1; i < length && !std::isnan(best); ++i) {
    const float value = row[i * step];
    if (value <= best) continue;
    best = value;
    place = i;
  }
  return std::isnan(best) ? length + place : place;
}

std::int64_t lost_infinities(std::span<const float> ref, std::span<const float> got) {
  std::int64_t lost = 0;
  for (std::size_t i = 0; i < ref.size(); ++i) lost += std::isinf(ref[i]) && ref[i] != got[i];
  return lost;
}

SampleOutcome without_partners(const Tensor& ref, const Tensor& got) {
  SampleOutcome sample;
  const std::vector<float> no_ref(got.floats().size()), no_got(ref.floats().size());
  accumulate_error(ref.floats(), no_got, sample.error);
  accumulate_error(no_ref, got.floats(), sample.error);
  return sample;
}

double top1(const OutputStats& stats) {
  return stats.rows == 0 ? 1.0 : static_cast<double>(stats.rows_agreed) / static_cast<double>(stats.rows);
}

double share(double used, double allowed) {
  if (used <= 0) return 0;
  return allowed > 0 ? used / allowed : kInfinity;
}

}  // namespace

SampleSums& SampleSums::operator+=(const SampleSums& other) {
  ref_energy += other.ref_energy;
  error_energy += other.error_energy;
  rows += other.rows;
  rows_agreed += other.rows_agreed;
  return *this;
}

SampleOutcome outcome_of(const Tensor& ref, const Tensor& got, const std::optional<int>& class_axis, Picked picked) {
  if (picked == Picked::ByOthers) return {};
  if (ref.shape() != got.shape() && picked == Picked::Layered) return without_partners(ref, got);
  if (ref.shape() != got.shape()) {
    throw Error(ErrorCode::Unlike,
                fmt::format("outputs that are compared have different shapes, {} and {}: are the models "
                            "two forms of one network?",
                            shape_text(ref.shape()), shape_text(got.shape())),
                "where the data decide on the shape, cut both models in front of it: "
                "‹vernier surgeon extract› with ‹outputs› NAME:auto");
  }
  SampleOutcome sample;
  accumulate_error(ref.floats(), got.floats(), sample.error);
  if (sample.error.ref_nonfinite > sample.error.same_infinity) {
    sample.lost_infinities = lost_infinities(ref.floats(), got.floats());
  }
  const Rows shape = rows_of(ref.shape(), class_axis);
  sample.along_last = shape == rows_of(ref.shape(), std::nullopt);
  for (std::size_t o = 0; shape.length > 0 && o < shape.outer; ++o) {
    for (std::size_t i = 0; i < shape.inner; ++i) {
      const std::size_t first = o * shape.length * shape.inner + i;
      const bool same = largest(ref.floats().data() + first, shape.length, shape.inner) ==
                        largest(got.floats().data() + first, shape.length, shape.inner);
      ++sample.rows;
      if (same) ++sample.rows_agreed;
    }
  }
  return sample;
}

ErrorStats OutputStats::add_sample(std::size_t index, const Tensor& ref, const Tensor& got) {
  const SampleOutcome sample = outcome_of(ref, got, class_axis, picked);
  add(index, sample);
  return sample.error;
}

void OutputStats::add(std::size_t index, const SampleOutcome& sample) {
  pooled += sample.error;
  lost_infinities += sample.lost_infinities;
  const double db = sample.lost_infinities > 0 ? -kInfinity : sqnr_db(sample.error);
  if (samples == 0 || std::isnan(worst_sqnr_db) || db < worst_sqnr_db) {
    worst_sqnr_db = db;
    worst_sample = index;
  }
  ++samples;
  along_last = sample.along_last;
  rows += sample.rows;
  rows_agreed += sample.rows_agreed;
  each.push_back({sample.error.ref_energy, sample.error.error_energy, sample.rows, sample.rows_agreed, index});
}

double metric_value(Metric metric, const OutputStats& stats) {
  if (stats.lost_infinities > 0 && metric != Metric::MinTop1Agreement) {
    if (metric == Metric::MinSqnrDb) return -kInfinity;
    return metric == Metric::MinCosine ? -1 : kInfinity;
  }
  switch (metric) {
    case Metric::MinSqnrDb:
      return sqnr_db(stats.pooled);
    case Metric::MaxAbsError:
      return max_abs_error(stats.pooled);
    case Metric::MaxMse:
      return mse(stats.pooled);
    case Metric::MinCosine:
      return cosine(stats.pooled);
    case Metric::MinTop1Agreement:
      return top1(stats);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

double damage_of(Metric metric, double limit, const OutputStats& stats) {
  if (!stats.pooled.finite()) return kInfinity;
  if (metric == Metric::MinTop1Agreement) return share(1 - top1(stats), 1 - limit);
  if (stats.lost_infinities > 0) return kInfinity;
  // Equal tensors first: their cosine may come out as 1 - 1e-16, which a limit of 1 would not forgive.
  if (stats.pooled.error_energy == 0 && stats.pooled.comparable()) return 0;
  switch (metric) {
    case Metric::MinSqnrDb: {
      const double db = sqnr_db(stats.pooled);
      if (std::isnan(db)) return kInfinity;
      return db == kInfinity ? 0 : std::pow(10.0, (limit - db) / 10.0);
    }
    case Metric::MaxAbsError:
      return std::pow(share(max_abs_error(stats.pooled), limit), 2);
    case Metric::MaxMse:
      return share(mse(stats.pooled), limit);
    case Metric::MinCosine:
      return share(1 - cosine(stats.pooled), 1 - limit);
    case Metric::MinTop1Agreement:
      break;
  }
  return kInfinity;
}

std::optional<double> damage_share(Metric metric, double limit, const ErrorStats& sample, std::int64_t rows_wrong,
                                   const OutputStats& all) {
  if (!sample.finite()) return kInfinity;
  switch (metric) {
    case Metric::MinSqnrDb:
      return share(sample.error_energy, all.pooled.ref_energy * std::pow(10.0, -limit / 10.0));
    case Metric::MaxMse:
      return share(sample.error_energy, limit * static_cast<double>(all.pooled.count));
    case Metric::MinTop1Agreement:
      return share(static_cast<double>(rows_wrong), (1 - limit) * static_cast<double>(all.rows));
    case Metric::MaxAbsError:
    case Metric::MinCosine:
      break;
  }
  return std::nullopt;
}

bool surely_fails(Metric metric, double limit, const OutputStats& so_far, const OutputStats& all) {
  if (!so_far.pooled.finite()) return true;
  if (so_far.lost_infinities > 0 && metric != Metric::MinTop1Agreement) return true;
  // A sliver above the limit, so that rounding of the sums cannot turn a pass into a failure.
  constexpr double kSlack = 1 + 1e-9;
  switch (metric) {
    case Metric::MinSqnrDb:
      return so_far.pooled.error_energy > all.pooled.ref_energy * std::pow(10.0, -limit / 10.0) * kSlack;
    case Metric::MaxAbsError:
      return so_far.pooled.max_abs_error > limit * kSlack;
    case Metric::MaxMse:
      return so_far.pooled.error_energy > limit * static_cast<double>(all.pooled.count) * kSlack;
    case Metric::MinCosine:
      return false;  // a later sample may raise it again
    case Metric::MinTop1Agreement:
      return static_cast<double>(so_far.rows - so_far.rows_agreed) >
             (1 - limit) * static_cast<double>(all.rows) * kSlack + 1e-9;
  }
  return false;
}

}  // namespace vernier
