#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "comparator/align.h"
#include "comparator/functions.h"
#include "comparator/known_outputs.h"
#include "comparator/pairing.h"
#include "comparator/statistics.h"
#include "options/compare_function.h"
#include "vernier/comparison.h"
#include "vernier/error.h"
#include "vernier/runs.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr double kDefaultQuantile = 0.99;

// The peer only warns, and goes on with another tolerance than the one that was asked for.
void require_known_outputs(const CompareOptions& options, const Iteration& got, const Iteration& ref) {
  NamedOutputs named;
  collect("‹atol›", options.atol, named);
  collect("‹rtol›", options.rtol, named);
  collect("‹check-error-stat›", options.error_stat, named);
  collect("‹error-quantile›", options.error_quantile, named);
  for (const auto& [function, setting] : options.thresholds) {
    collect(fmt::format("‹{}›", compare_function_info(function).option), setting, named);
  }
  require_outputs(named, got, ref);
}

/// A setting may name an output as either side does.
template <class T>
std::optional<T> setting_of(const PerOutput<T>& setting, const OutputComparison& output) {
  if (!setting.own.contains(output.output)) {
    if (const auto found = setting.own.find(output.reference); found != setting.own.end()) return found->second;
  }
  return setting.for_output(output.output);
}

FunctionResult compare_by(CompareFunction function, Pair& pair, const OutputComparison& output,
                          const CompareOptions& options, bool detail) {
  if (function == CompareFunction::Simple) {
    const Tolerance tolerance = default_tolerance(output.dtype, output.reference_dtype);
    const std::optional<double> atol = setting_of(options.atol, output);
    const std::optional<double> rtol = setting_of(options.rtol, output);
    SimpleOptions simple;
    simple.atol = atol.value_or(tolerance.atol);
    simple.rtol = rtol.value_or(tolerance.rtol);
    simple.stat = setting_of(options.error_stat, output).value_or(ErrorStat::Elemwise);
    simple.quantile = setting_of(options.error_quantile, output).value_or(kDefaultQuantile);
    simple.infinities_compare_equal = options.infinities_compare_equal;
    FunctionResult result = compare_simple(pair, simple, detail);
    result.default_tolerance = !atol || !rtol;
    return result;
  }
  const auto thresholds = options.thresholds.find(function);
  const double threshold =
      (thresholds == options.thresholds.end() ? std::nullopt : setting_of(thresholds->second, output))
          .value_or(compare_function_info(function).default_threshold);
  if (function == CompareFunction::Indices) return compare_indices(pair, threshold);
  const Figure figure = measure(function, pair);
  FunctionResult result;
  result.function = function;
  result.value = figure.value;
  result.threshold = threshold;
  result.compared = figure.problem.empty();
  result.reason = figure.problem;
  result.not_finite = pair.not_finite();
  result.left_out = pair.not_finite_text();
  judge(result);
  return result;
}

FunctionResult not_compared(CompareFunction function, const std::string& reason) {
  FunctionResult result;
  result.function = function;
  result.compared = false;
  result.reason = reason;
  return result;
}

/// Why the tensors cannot be compared by `function`; empty when they can.
std::string obstacle(CompareFunction function, const OutputComparison& output, bool shape_check, bool alignable) {
  for (const Dtype dtype : {output.dtype, output.reference_dtype}) {
    if (dtype_bits(dtype) == 0) return fmt::format("{} elements are not numbers", dtype_name(dtype));
  }
  if (output.shape == output.reference_shape) return {};
  const std::string shapes =
      fmt::format("shapes {} and {}", tuple_text(output.shape), tuple_text(output.reference_shape));
  if (function == CompareFunction::Indices) return shapes + " differ: lists of indices have no other order";
  if (shape_check) return shapes + " differ; ‹no-shape-check› compares the values anyway";
  return alignable ? "" : shapes + " hold different numbers of elements";
}

/// Files hold float8 as its codes in uint8, as NumPy lacks the type. The other side says what they are.
NamedTensor read_codes(const NamedTensor& array, const NamedTensor& other) {
  const Dtype dtype = other.tensor.dtype();
  if (array.tensor.dtype() != Dtype::UInt8 || (dtype != Dtype::Float8E4M3FN && dtype != Dtype::Float8E5M2)) {
    return array;
  }
  const auto owner = std::make_shared<const Tensor>(array.tensor);
  return {array.name, Tensor(dtype, owner->shape(), {owner, owner->bytes().data()})};
}

OutputComparison compare_output(const NamedTensor& as_got, const NamedTensor& as_ref, const std::string& how,
                                const CompareOptions& options, bool detail) {
  const NamedTensor got = read_codes(as_got, as_ref), ref = read_codes(as_ref, as_got);
  OutputComparison output;
  output.output = got.name;
  output.reference = ref.name;
  output.matched = how;
  output.dtype = got.tensor.dtype();
  output.reference_dtype = ref.tensor.dtype();
  output.shape = got.tensor.shape();
  output.reference_shape = ref.tensor.shape();
  std::optional<Aligned> aligned;
  if (output.shape == output.reference_shape || !options.shape_check) aligned = aligned_to(ref.tensor, output.shape);
  if (aligned) output.aligned = aligned->how;
  std::optional<Pair> pair;
  output.passed = true;
  for (const CompareFunction function : options.functions) {
    if (function == CompareFunction::Script) continue;  // whoever runs it puts its verdict in
    const std::string why = obstacle(function, output, options.shape_check, aligned.has_value());
    if (why.empty() && !pair) pair.emplace(got.tensor, aligned->tensor);
    output.results.push_back(why.empty() ? compare_by(function, *pair, output, options, detail)
                                         : not_compared(function, why));
    output.passed = output.passed && output.results.back().passed;
  }
  if (pair && pair->count() > 0) output.sqnr_db = sqnr(*pair).value;
  if (options.statistics && dtype_bits(output.dtype) > 0 && dtype_bits(output.reference_dtype) > 0) {
    const auto [values, reference] = summaries_of(got.tensor, ref.tensor, detail || !output.passed);
    output.values = values.stats;
    output.histogram = values.histogram;
    output.reference_values = reference.stats;
    output.reference_histogram = reference.histogram;
  }
  return output;
}

}  // namespace

IterationComparison compare_iterations(std::size_t index, const Iteration& got, const Iteration& ref,
                                       const CompareOptions& options, bool detail) {
  require_valid(options);
  require_known_outputs(options, got, ref);
  IterationComparison comparison;
  comparison.iteration = index;
  Pairing pairing = pair_outputs(got, ref);
  comparison.unmatched = std::move(pairing.unmatched);
  for (const OutputPair& pair : pairing.pairs) {
    comparison.outputs.push_back(
        compare_output(got.outputs[pair.got], ref.outputs[pair.ref], pair.how, options, detail));
    if (options.first_failure && !comparison.outputs.back().passed) break;
  }
  comparison.passed =
      !comparison.outputs.empty() && std::all_of(comparison.outputs.begin(), comparison.outputs.end(),
                                                 [](const OutputComparison& output) { return output.passed; });
  return comparison;
}

}  // namespace vernier
