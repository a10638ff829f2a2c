#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "options/compare_function.h"
#include "vernier/comparison.h"

namespace vernier {
namespace {

void add_figures(ErrorFigures& sum, const ErrorFigures& figures) {
  sum.max += figures.max;
  sum.mean += figures.mean;
  sum.median += figures.median;
  if (figures.quantile) sum.quantile = sum.quantile.value_or(0) + *figures.quantile;
}

void divide_figures(ErrorFigures& sum, double count) {
  sum.max /= count;
  sum.mean /= count;
  sum.median /= count;
  if (sum.quantile) *sum.quantile /= count;
}

/// A mean over the iterations that could be compared would mislead: one that could not decides.
void add_result(FunctionResult& sum, const FunctionResult& result, std::size_t iteration) {
  if (!result.compared && sum.compared) {
    sum.compared = false;
    sum.reason = fmt::format("iteration {}: {}", iteration, result.reason);
  }
  if (!result.left_out.empty() && sum.left_out.empty()) {
    sum.left_out = fmt::format("iteration {}: {}", iteration, result.left_out);
  }
  sum.not_finite += result.not_finite;
  sum.value += result.value;
  add_figures(sum.absolute_figures, result.absolute_figures);
  add_figures(sum.relative_figures, result.relative_figures);
}

/// Only what stays the same from one iteration to the next, and no sums yet.
FunctionResult settings_of(const FunctionResult& result) {
  FunctionResult sum;
  sum.function = result.function;
  sum.threshold = result.threshold;
  sum.stat = result.stat;
  sum.atol = result.atol;
  sum.rtol = result.rtol;
  sum.quantile = result.quantile;
  sum.default_tolerance = result.default_tolerance;
  return sum;
}

}  // namespace

PairTally::PairTally(std::string run, std::string reference, CompareOptions options) : options_(std::move(options)) {
  require_valid(options_);
  summary_.run = std::move(run);
  summary_.reference = std::move(reference);
  summary_.check_average = options_.check_average;
}

void PairTally::add(const IterationComparison& iteration) {
  ++summary_.iterations;
  if (iteration.passed) ++summary_.passed_iterations;
  for (const OutputComparison& output : iteration.outputs) {
    if (output.sqnr_db)
      summary_.best_sqnr_db = std::max(summary_.best_sqnr_db.value_or(*output.sqnr_db), *output.sqnr_db);
    if (!options_.check_average) continue;
    Sums& sums = sums_[output.output];
    ++sums.iterations;
    for (const FunctionResult& result : output.results) {
      const auto same = [&](const FunctionResult& sum) { return sum.function == result.function; };
      auto sum = std::find_if(sums.results.begin(), sums.results.end(), same);
      if (sum == sums.results.end()) sum = sums.results.insert(sum, settings_of(result));
      add_result(*sum, result, iteration.iteration);
    }
  }
}

PairSummary PairTally::summary() const {
  PairSummary summary = summary_;
  if (!options_.check_average) {
    summary.passed = summary.iterations > 0 && summary.passed_iterations == summary.iterations;
    return summary;
  }
  summary.passed = !sums_.empty();
  for (const auto& [output, sums] : sums_) {
    const auto count = static_cast<double>(sums.iterations);
    for (FunctionResult result : sums.results) {
      result.value /= count;
      divide_figures(result.absolute_figures, count);
      divide_figures(result.relative_figures, count);
      judge(result);
      summary.passed = summary.passed && result.passed;
      summary.averages[output].push_back(std::move(result));
    }
  }
  return summary;
}

}  // namespace vernier
