// Comparisons as text, in the form that users of the peer know and paste: the same lines, in the same order, and behind
// them what the peer leaves out: why an output failed, which default was taken, what was left out of the figures.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "options/compare_function.h"
#include "report/text/log_text.h"
#include "report/text/stats_text.h"
#include "report/text/values_text.h"
#include "report/told.h"
#include "vernier/comparison.h"
#include "vernier/marks.h"
#include "vernier/report/comparison.h"
#include "vernier/runs.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr double kHopelessDb = 3;

std::string label_of(CompareFunction function) {
  const bool bare = function == CompareFunction::Simple || function == CompareFunction::Script;
  return std::string(bare ? compare_function_name(function) : compare_function_info(function).label);
}

/// "'y' (dtype=float32, shape=(2, 8))"
std::string side_text(const std::string& name, Dtype dtype, const Shape& shape) {
  return fmt::format("'{}' (dtype={}, shape={})", printable(name), dtype_name(dtype), tuple_text(shape));
}

/// "PSNR: 29.9 dB (min required: 30 dB) | FAILED"; more digits where it takes them to tell both numbers apart.
std::string figure_line(const FunctionResult& result) {
  const CompareFunctionInfo& info = compare_function_info(result.function);
  std::string value;
  std::string threshold;
  for (int digits = 5; digits <= 17; ++digits) {
    value = fmt::format("{:.{}g}", result.value, digits);
    threshold = fmt::format("{:.{}g}", result.threshold, digits);
    if (result.value == result.threshold || value != threshold) break;
  }
  return fmt::format("{}: {}{} ({}: {}{}) | {}", info.label, value, info.unit,
                     info.higher_is_better ? "min required" : "tolerance", threshold, info.unit,
                     result.passed ? "PASSED" : "FAILED");
}

LogKind verdict_kind(bool passed) { return passed ? LogKind::Good : LogKind::Bad; }

class IterationText {
 public:
  IterationText(const IterationComparison& iteration, const ComparisonTextOptions& options)
      : iteration_(iteration), options_(options), log_(options.color, options.verdicts_only) {}

  std::string text(const std::string& run, const std::string& reference, const Iteration& got, const Iteration& ref) {
    log_.line(LogKind::Info, fmt::format("Iteration: {}", iteration_.iteration));
    const LogText::Indent indent(log_);
    if (!iteration_.unmatched.empty()) log_.line(LogKind::Warning, command_words(iteration_.unmatched));
    if (iteration_.outputs.empty()) {
      log_.line(LogKind::Bad, "FAILED | Nothing was compared: the runs share no output");
      return log_.text();
    }
    for (std::size_t function = 0; function < iteration_.outputs[0].results.size(); ++function) by_function(function);
    for (const OutputComparison& output : iteration_.outputs) {
      values(run, output.output, output.values, output.shape, output.dtype, output.histogram, output.passed, got);
      values(reference, output.reference, output.reference_values, output.reference_shape, output.reference_dtype,
             output.reference_histogram, output.passed, ref);
    }
    return log_.text();
  }

 private:
  void by_function(std::size_t index) {
    std::vector<std::string> names;
    std::vector<std::string> failed;
    const std::string label = label_of(iteration_.outputs[0].results[index].function);
    for (const OutputComparison& output : iteration_.outputs) {
      const FunctionResult& result = output.results[index];
      log_.line(
          LogKind::Info,
          fmt::format("{} | Comparing Output: {} with {}", label, side_text(output.output, output.dtype, output.shape),
                      side_text(output.reference, output.reference_dtype, output.reference_shape)));
      names.push_back("'" + printable(output.output) + "'");
      if (!result.passed) failed.push_back(names.back());
      const LogText::Indent indent(log_);
      if (index == 0) notes(output);
      one_result(output, result);
    }
    if (failed.empty()) {
      log_.line(LogKind::Good,
                fmt::format("PASSED | {} | All outputs matched | Outputs: [{}]", label, fmt::join(names, ", ")));
    } else {
      log_.line(LogKind::Bad, fmt::format("FAILED | {} | Mismatched outputs: [{}]", label, fmt::join(failed, ", ")));
    }
  }

  void notes(const OutputComparison& output) {
    if (!output.matched.empty()) {
      log_.line(LogKind::Warning,
                fmt::format("Output names did not match exactly: '{}' is compared with '{}', because {}",
                            printable(output.output), printable(output.reference), output.matched));
    }
    if (!output.aligned.empty()) log_.line(LogKind::Info, "The reference was " + output.aligned);
  }

  /// Of a line about one output: of those that passed the line of all outputs speaks, where verdicts alone are wanted.
  LogKind output_kind(bool passed) const {
    return passed && options_.verdicts_only ? LogKind::Info : verdict_kind(passed);
  }

  void one_result(const OutputComparison& output, const FunctionResult& result) {
    if (result.function == CompareFunction::Script) {
      log_.line(output_kind(result.passed),
                fmt::format("{} | Output: '{}'{}{}", result.passed ? "PASSED" : "FAILED", printable(output.output),
                            result.reason.empty() ? "" : " | ", told(result.reason)));
    } else if (!result.compared) {
      log_.line(LogKind::Bad,
                fmt::format("FAILED | Output: '{}' | {}", printable(output.output), command_words(result.reason)));
    } else if (result.function == CompareFunction::Simple) {
      simple(output, result);
    } else if (result.function == CompareFunction::Indices) {
      log_.line(output_kind(result.passed),
                result.passed ? fmt::format("PASSED | Difference is within index tolerance ({})", result.threshold)
                              : fmt::format("FAILED | Difference exceeds index tolerance ({}) | {}", result.threshold,
                                            command_words(result.reason)));
    } else {
      left_out(result);
      log_.line(output_kind(result.passed), figure_line(result));
    }
  }

  void left_out(const FunctionResult& result) {
    if (!result.left_out.empty())
      log_.line(LogKind::Warning, command_words(result.left_out) + ": left out of the figures");
  }

  void simple(const OutputComparison& output, const FunctionResult& result) {
    const Dtype coarser = coarser_dtype(output.dtype, output.reference_dtype);
    log_.line(LogKind::Info,
              fmt::format("Tolerance: [abs={:.5g}, rel={:.5g}] | Checking {} error{}", result.atol, result.rtol,
                          error_stat_name(result.stat),
                          result.default_tolerance ? fmt::format(" | default for {}", dtype_name(coarser)) : ""));
    left_out(result);
    log_.line(LogKind::Info, fmt::format("Error Metrics: {}", printable(output.output)));
    {
      const LogText::Indent indent(log_);
      std::string required = fmt::format("Minimum Required Tolerance: {} error | [abs={:.5g}] OR [rel={:.5g}]",
                                         error_stat_name(result.stat), result.required_atol, result.required_rtol);
      if (result.stat == ErrorStat::Elemwise) {
        required += " (requirements may be lower if both abs/rel tolerances are set)";
      } else if (result.stat == ErrorStat::Quantile) {
        required += fmt::format(" (quantile={:.4g})", result.quantile);
      }
      log_.line(LogKind::Info, required);
      if (result.zero_references > 0 && (options_.detail || !result.passed)) {
        log_.line(LogKind::Warning, fmt::format("{} of {} reference values are 0: their relative error is by 2.22e-16",
                                                result.zero_references, result.relative.count));
      }
      const bool whole_numbers = output.dtype == Dtype::Bool && output.reference_dtype == Dtype::Bool;
      stats("Absolute Difference", result.absolute, output.shape, result.absolute_histogram, !whole_numbers);
      stats("Relative Difference", result.relative, output.shape, result.relative_histogram, true);
    }
    const std::string tolerances = fmt::format("(rel={}, abs={})", result.rtol, result.atol);
    if (result.passed) {
      log_.line(output_kind(true), fmt::format("PASSED | Output: '{}' | Difference is within tolerance {}",
                                               printable(output.output), tolerances));
    } else {
      log_.line(LogKind::Bad, fmt::format("FAILED | Output: '{}' | Difference exceeds tolerance {} | {}",
                                          printable(output.output), tolerances, command_words(result.reason)));
    }
  }

  void stats(const std::string& what, const ValueStats& stats, const Shape& shape,
             const std::optional<Histogram>& histogram, bool percentiles, const std::string& values = {}) {
    log_.line(LogKind::Info, fmt::format("{} | Stats: {}", what, stats_to_text(stats, shape, percentiles)));
    const LogText::Indent indent(log_);
    if (!values.empty()) log_.line(LogKind::Info, values);
    if (!histogram) return;
    if (const std::string bars = histogram_to_text(*histogram); !bars.empty()) log_.line(LogKind::Info, bars);
  }

  void values(const std::string& run, const std::string& name, const ValueStats& value_stats, const Shape& shape,
              Dtype dtype, const std::optional<Histogram>& histogram, bool passed, const Iteration& outputs) {
    if (dtype_bits(dtype) == 0) return;
    const bool is_bool = dtype == Dtype::Bool;
    const bool shows_values = (options_.detail || !passed) && value_stats.count > 0 &&
                              static_cast<std::size_t>(value_stats.count) <= options_.values_limit;
    stats(fmt::format("{}: {}", printable(run), printable(name)), value_stats, shape,
          is_bool ? std::nullopt : histogram, !is_bool, shows_values ? values_block(name, outputs) : "");
  }

  static std::string values_block(const std::string& name, const Iteration& outputs) {
    const auto found = std::find_if(outputs.outputs.begin(), outputs.outputs.end(),
                                    [&](const NamedTensor& output) { return output.name == name; });
    if (found == outputs.outputs.end()) return {};
    std::string block = values_to_text(found->tensor);
    for (std::size_t at = 0; (at = block.find('\n', at)) != std::string::npos; at += 5) block.insert(at + 1, "    ");
    return "---- Values ----\n    " + block;
  }

  const IterationComparison& iteration_;
  const ComparisonTextOptions& options_;
  LogText log_;
};

std::string average_line(const FunctionResult& result) {
  if (!result.compared) return fmt::format("{} | FAILED | {}", label_of(result.function), command_words(result.reason));
  if (result.function != CompareFunction::Simple) return figure_line(result);
  return fmt::format("{} error: [abs={:.5g}] OR [rel={:.5g}] (tolerance: abs={:.5g}, rel={:.5g}) | {}",
                     error_stat_name(result.stat), checked_figure(result.absolute_figures, result.stat),
                     checked_figure(result.relative_figures, result.stat), result.atol, result.rtol,
                     result.passed ? "PASSED" : "FAILED");
}

void averages_to_text(const PairSummary& summary, LogText& log) {
  for (const auto& [output, results] : summary.averages) {
    const LogText::Indent indent(log);
    const bool passed =
        std::all_of(results.begin(), results.end(), [](const FunctionResult& result) { return result.passed; });
    log.line(verdict_kind(passed), fmt::format("{} | {}:", printable(output), passed ? "PASSED" : "FAILED"));
    const LogText::Indent deeper(log);
    for (const FunctionResult& result : results) {
      log.line(verdict_kind(result.passed), average_line(result));
      if (!result.left_out.empty()) log.line(LogKind::Warning, command_words(result.left_out));
    }
  }
}

}  // namespace

std::string pair_header_to_text(const std::string& run, const std::string& reference,
                                const ComparisonTextOptions& options) {
  LogText log(options.color);
  log.line(LogKind::Info, fmt::format("Accuracy Comparison | {} vs. {} | Reference: {}", printable(run),
                                      printable(reference), printable(reference)));
  return log.text();
}

std::string iteration_to_text(const IterationComparison& iteration, const std::string& run,
                              const std::string& reference, const Iteration& got, const Iteration& ref,
                              const ComparisonTextOptions& options) {
  return IterationText(iteration, options).text(run, reference, got, ref);
}

std::string summary_to_text(const PairSummary& summary, const ComparisonTextOptions& options) {
  LogText log(options.color);
  const std::string prefix =
      fmt::format("Accuracy Summary | {} vs. {} | ", printable(summary.run), printable(summary.reference));
  const LogKind kind = verdict_kind(summary.passed);
  if (summary.iterations == 0) {
    log.line(kind, prefix + "Nothing was compared: there was no iteration");
  } else if (summary.check_average) {
    const auto passed = std::count_if(summary.averages.begin(), summary.averages.end(), [](const auto& entry) {
      return std::all_of(entry.second.begin(), entry.second.end(),
                         [](const FunctionResult& result) { return result.passed; });
    });
    log.line(kind, fmt::format("{}Passed: {}/{} outputs", prefix, passed, summary.averages.size()));
    averages_to_text(summary, log);
  } else {
    const double rate = 100 * static_cast<double>(summary.passed_iterations) / static_cast<double>(summary.iterations);
    log.line(kind, fmt::format("{}Passed: {}/{} iterations | Pass Rate: {:.2f}%", prefix, summary.passed_iterations,
                               summary.iterations, rate));
  }
  if (!summary.passed && summary.best_sqnr_db && *summary.best_sqnr_db < kHopelessDb) {
    log.line(LogKind::Warning,
             fmt::format("All outputs are wrong: in no output and no iteration is the SQNR above {:.2g} dB. Look at "
                         "preprocessing before layers, and at calibration data where a run is quantized",
                         *summary.best_sqnr_db));
  }
  return log.text();
}

}  // namespace vernier
