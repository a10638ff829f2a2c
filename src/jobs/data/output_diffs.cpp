#include "jobs/data/output_diffs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>

#include "base/elements.h"
#include "base/parallel.h"
#include "base/text.h"
#include "comparator/pairing.h"
#include "numerics/metrics.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr double kNearZero = 1e-6;  // of a tensor's largest magnitude

/// The sums of numerics, which take float32 alone, for values of any type, and what only a list of outputs wants.
struct Sums {
  ErrorStats errors;  // count: all pairs, those left out included
  double abs_error = 0, max_rel = 0;
  std::int64_t near_zero = 0;
  std::int64_t broken_reference = 0;  // not finite in ref, and not the same in got

  Sums& operator+=(const Sums& other) {
    errors += other.errors;
    abs_error += other.abs_error;
    max_rel = std::max(max_rel, other.max_rel);
    near_zero += other.near_zero;
    broken_reference += other.broken_reference;
    return *this;
  }
  std::int64_t broken() const { return errors.got_nan + errors.got_inf + broken_reference; }
  std::int64_t nonfinite() const { return errors.ref_nonfinite + errors.got_nan + errors.got_inf; }
};

template <class Visit>
void for_each_block(const Tensor& tensor, std::vector<double>& room, const Visit& visit) {
  for (std::int64_t first = 0; first < tensor.count(); first += kBlock) {
    const auto n = static_cast<std::size_t>(std::min(tensor.count() - first, kBlock));
    visit(first, read_block<double>(tensor, first, n, room));
  }
}

Sums sums_of(const Tensor& ref, const Tensor& got) {
  std::vector<double> ref_room, got_room;
  double largest = 0;
  for_each_block(ref, ref_room, [&](std::int64_t, std::span<const double> values) {
    for (const double value : values) {
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    }
  });
  Sums sums;
  ErrorStats& e = sums.errors;
  for_each_block(ref, ref_room, [&](std::int64_t first, std::span<const double> refs) {
    const std::span<const double> gots = read_block<double>(got, first, refs.size(), got_room);
    for (std::size_t i = 0; i < refs.size(); ++i) {
      const double r = refs[i];
      const double g = gots[i];
      ++e.count;
      if (!std::isfinite(r) || !std::isfinite(g)) {
        e.same_infinity += !std::isfinite(r) && r == g;
        sums.broken_reference += !std::isfinite(r) && r != g && !(std::isnan(r) && std::isnan(g));
        ++(!std::isfinite(r) ? e.ref_nonfinite : std::isnan(g) ? e.got_nan : e.got_inf);
        continue;
      }
      const double error = std::abs(g - r);
      e.ref_energy += r * r;
      e.got_energy += g * g;
      e.dot += r * g;
      e.error_energy += error * error;
      e.max_abs_error = std::max(e.max_abs_error, error);
      sums.abs_error += error;
      if (std::abs(r) < kNearZero * largest || r == 0) {
        ++sums.near_zero;
      } else {
        sums.max_rel = std::max(sums.max_rel, error / std::abs(r));
      }
    }
  });
  return sums;
}

/// One output in one iteration.
struct Pair {
  std::string name;
  Dtype dtype = Dtype::Undefined;
  Shape shape;
  Sums sums;
  std::string refusal;  // why it is not compared
  bool other_shape = false;
};

std::vector<Pair> pairs_of(std::size_t iteration, const Iteration& ref, const Iteration& got,
                           const std::string& reference_name, const std::string& tested_name) {
  std::vector<Pair> pairs;
  const auto of_got = places_by_name(got);
  const auto of_ref = places_by_name(ref);
  for (const auto& [name, tensor] : ref.outputs) {
    Pair pair{name, tensor.dtype(), tensor.shape(), {}, {}};
    const auto place = of_got.find(name);
    const Tensor* other = place == of_got.end() ? nullptr : &got.outputs[place->second].tensor;
    if (other == nullptr) {
      pair.refusal = "is not in " + tested_name;
    } else if (other->shape() != tensor.shape()) {
      pair.refusal = fmt::format("iteration {}: shape {} against {}", iteration, shape_text(tensor.shape()),
                                 shape_text(other->shape()));
      pair.other_shape = true;
    } else {
      pair.sums = sums_of(tensor, *other);
    }
    pairs.push_back(std::move(pair));
  }
  for (const auto& [name, tensor] : got.outputs) {
    if (!of_ref.contains(name)) pairs.push_back({name, tensor.dtype(), {}, {}, "is not in " + reference_name});
  }
  return pairs;
}

class Total {
 public:
  void add(std::size_t iteration, Pair pair) {
    row_.name = pair.name;
    row_.dtype = pair.dtype;
    row_.shape = std::move(pair.shape);
    if (!pair.refusal.empty()) refusal = std::move(pair.refusal);
    const double db = sqnr_db(pair.sums.errors);
    if (sums_.errors.count == 0 || db < worst_db_) {
      worst_db_ = db;
      row_.worst_iteration = iteration;
    }
    sums_ += pair.sums;
  }

  DiffRow row() const {
    DiffRow row = row_;
    row.nonfinite = sums_.nonfinite();
    row.broken = sums_.broken();
    row.broken_reference = sums_.broken_reference;
    row.values = sums_.errors.count - row.nonfinite;
    row.max_abs = sums_.errors.max_abs_error;
    row.max_rel = sums_.max_rel;
    row.near_zero = sums_.near_zero;
    row.sqnr_db = sqnr_db(sums_.errors);
    // The others are of what is finite.
    ErrorStats finite = sums_.errors;
    finite.count = row.values;
    finite.ref_nonfinite = finite.same_infinity = finite.got_nan = finite.got_inf = 0;
    const auto count = static_cast<double>(std::max<std::int64_t>(row.values, 1));
    row.mean_abs = sums_.abs_error / count;
    row.mse = finite.error_energy / count;
    row.cosine = row.values > 0 && finite.error_energy == 0 ? 1 : cosine(row.values > 0 ? finite : sums_.errors);
    return row;
  }

  std::string refusal;

 private:
  DiffRow row_;
  Sums sums_;
  double worst_db_ = std::numeric_limits<double>::infinity();
};

}  // namespace

OutputDiffs diff_runs(const Run& reference, const Run& tested, const std::string& reference_name,
                      const std::string& tested_name, std::size_t threads, const JobSinks& sinks) {
  if (reference.size() != tested.size()) {
    throw Error(ErrorCode::Unlike,
                fmt::format("{} has {}, {} has {}", reference_name, plural(reference.size(), "iteration"), tested_name,
                            plural(tested.size(), "iteration")),
                "both runs must have seen the same samples");
  }
  OutputDiffs diffs;
  std::map<std::string, Total> totals;
  std::vector<std::string> order;
  parallel_ordered(
      reference.size(), threads,
      [&](std::size_t i) { return pairs_of(i, reference.at(i), tested.at(i), reference_name, tested_name); },
      [&](std::size_t i, std::vector<Pair> pairs) {
        if (sinks.is_interrupted()) throw Error(ErrorKind::Interrupted, "interrupted");
        if (sinks.progress) sinks.progress("compare", i + 1, reference.size());
        for (Pair& pair : pairs) {
          diffs.other_shapes = diffs.other_shapes || pair.other_shape;
          if (!totals.contains(pair.name)) order.push_back(pair.name);
          totals[pair.name].add(i, std::move(pair));
        }
        return true;
      });
  for (const std::string& name : order) {
    const Total& total = totals.at(name);
    if (total.refusal.empty()) {
      diffs.rows.push_back(total.row());
    } else {
      diffs.not_compared.push_back(fmt::format("{}: {}", name, total.refusal));
    }
  }
  if (diffs.rows.empty() && diffs.other_shapes) {
    throw Error(ErrorCode::Unlike, fmt::format("{} and {}: outputs have other shapes: {}", reference_name, tested_name,
                                               list_some(diffs.not_compared)));
  }
  if (diffs.rows.empty()) {
    throw Error(ErrorCode::Unlike, fmt::format("{} and {} have no output in common", reference_name, tested_name),
                "save all tensors of both with: ‹vernier run MODEL ... --onnx-outputs mark all --save-outputs FILE›");
  }
  return diffs;
}

}  // namespace vernier
