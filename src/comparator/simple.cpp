#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/text.h"
#include "comparator/errors.h"
#include "comparator/functions.h"
#include "comparator/series.h"
#include "options/compare_function.h"
#include "vernier/comparison.h"

namespace vernier {
namespace {

/// What the first pass learns beside the series.
struct Findings {
  std::int64_t above_both = 0, first_above_both = -1;
  std::int64_t first_not_finite = -1;
  std::int64_t zero_references = 0;
};

template <class T>
class Errors {
 public:
  Errors(const Pair& pair, const SimpleOptions& options)
      : pair_(pair),
        options_(options),
        absolute_(pair.count(), wanted_quantile(options)),
        relative_(pair.count(), wanted_quantile(options)) {}

  void measure(bool detail) {
    // NumPy compares float32 arrays with a tolerance rounded to float32.
    const auto atol = static_cast<T>(options_.atol);
    const auto rtol = static_cast<T>(options_.rtol);
    for_errors<T>(pair_, options_.infinities_compare_equal, [&](const ErrorBlock<T>& block, std::int64_t first) {
      count_above(block, atol, rtol, first);
      absolute_.add(block.absolute);
      relative_.add(block.relative);
      found_.zero_references += block.zero_references;
      if (found_.first_not_finite < 0 && absolute_.not_finite() > 0) find_not_finite(block, first);
    });
    if (detail || options_.stat != ErrorStat::Elemwise || found_.above_both > 0) {
      const auto [low, high] = absolute_.range();
      absolute_.want_histogram(low, high);
      const auto [relative_low, relative_high] = relative_.range();
      relative_.want_histogram(relative_low, relative_high);
    }
    bool absolute_goes_on = absolute_.next_pass();
    bool relative_goes_on = relative_.next_pass();
    while (absolute_goes_on || relative_goes_on) {
      for_errors<T>(pair_, options_.infinities_compare_equal, [&](const ErrorBlock<T>& block, std::int64_t) {
        if (absolute_goes_on) absolute_.add(block.absolute);
        if (relative_goes_on) relative_.add(block.relative);
      });
      absolute_goes_on = absolute_goes_on && absolute_.next_pass();
      relative_goes_on = relative_goes_on && relative_.next_pass();
    }
  }

  FunctionResult result() const {
    FunctionResult result;
    result.function = CompareFunction::Simple;
    result.stat = options_.stat;
    result.atol = options_.atol;
    result.rtol = options_.rtol;
    result.quantile = options_.quantile;
    result.absolute = absolute_.stats();
    result.relative = relative_.stats();
    result.absolute_figures = figures(absolute_);
    result.relative_figures = figures(relative_);
    result.required_atol = required(absolute_, result.absolute);
    result.required_rtol = required(relative_, result.relative);
    result.absolute_histogram = absolute_.histogram();
    result.relative_histogram = relative_.histogram();
    result.zero_references = found_.zero_references;
    result.not_finite = absolute_.not_finite();
    if (result.not_finite > 0) {
      result.left_out =
          fmt::format("{} of {} differences {} not finite, the first at {}: {}", result.not_finite, pair_.count(),
                      result.not_finite == 1 ? "is" : "are", place_text(found_.first_not_finite, pair_.shape()),
                      values_at(pair_, found_.first_not_finite));
    }
    if (options_.stat == ErrorStat::Elemwise) judge_elements(result);
    judge(result);
    return result;
  }

 private:
  static std::optional<double> wanted_quantile(const SimpleOptions& options) {
    return options.stat == ErrorStat::Quantile ? std::optional(options.quantile) : std::nullopt;
  }

  void count_above(const ErrorBlock<T>& block, T atol, T rtol, std::int64_t first) {
    const T* const absolute = block.absolute.data();
    const T* const relative = block.relative.data();
    std::uint32_t above = 0;
    // Not "above": NaN is neither above nor below, and has to count.
    for (std::size_t i = 0; i < block.absolute.size(); ++i) {
      above += static_cast<std::uint32_t>(!(absolute[i] <= atol)) & static_cast<std::uint32_t>(!(relative[i] <= rtol));
    }
    if (above > 0 && found_.above_both == 0) {
      std::size_t i = 0;
      while (absolute[i] <= atol || relative[i] <= rtol) ++i;
      found_.first_above_both = first + static_cast<std::int64_t>(i);
    }
    found_.above_both += above;
  }

  void find_not_finite(const ErrorBlock<T>& block, std::int64_t first) {
    std::size_t i = 0;
    while (std::isfinite(block.absolute[i])) ++i;
    found_.first_not_finite = first + static_cast<std::int64_t>(i);
  }

  void judge_elements(FunctionResult& result) const {
    result.passed = found_.above_both == 0;
    if (result.passed) return;
    result.reason =
        fmt::format("{} of {} elements {} above both atol {} and rtol {}, the first at {}: {}", found_.above_both,
                    pair_.count(), found_.above_both == 1 ? "is" : "are", result.atol, result.rtol,
                    place_text(found_.first_above_both, pair_.shape()), values_at(pair_, found_.first_above_both));
    if (!result.left_out.empty()) result.reason += "; " + result.left_out;
  }

  ErrorFigures figures(const Series<T>& series) const {
    ErrorFigures figures{series.max_of_all(), series.mean_of_all(), series.median_of_all(), {}};
    if (options_.stat == ErrorStat::Quantile) figures.quantile = series.quantile_of_all(options_.quantile);
    return figures;
  }

  double required(const Series<T>& series, const ValueStats& stats) const {
    switch (options_.stat) {
      case ErrorStat::Mean:
        return stats.mean;
      case ErrorStat::Median:
        return stats.median;
      case ErrorStat::Quantile:
        return series.quantile_of_finite(options_.quantile);
      default:
        return stats.max;
    }
  }

  const Pair& pair_;
  const SimpleOptions& options_;
  Series<T> absolute_, relative_;
  Findings found_;
};

template <class T>
FunctionResult compare_as(const Pair& pair, const SimpleOptions& options, bool detail) {
  Errors<T> errors(pair, options);
  errors.measure(detail);
  FunctionResult result = errors.result();
  if (result.passed && !detail) {
    result.absolute_histogram.reset();
    result.relative_histogram.reset();
  }
  return result;
}

}  // namespace

FunctionResult compare_simple(const Pair& pair, const SimpleOptions& options, bool detail) {
  return pair.in_float32() ? compare_as<float>(pair, options, detail) : compare_as<double>(pair, options, detail);
}

}  // namespace vernier
