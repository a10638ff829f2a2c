// What `vernier check accuracy` found, in the peer's words.
#include <fmt/format.h>

#include <cstddef>
#include <string>

#include "base/text.h"
#include "report/text/log_text.h"
#include "vernier/check_accuracy.h"
#include "vernier/comparison.h"
#include "vernier/marks.h"
#include "vernier/report/comparison.h"

namespace vernier {
namespace {

constexpr std::size_t kMostLines = 20;

/// One line for each result that failed, the first twenty of a pair; empty when none did.
std::string failures_to_text(const AccuracyRecord::Row& row, const ComparisonTextOptions& options) {
  LogText log(options.color);
  const LogText::Indent indent(log);
  std::size_t failures = 0;
  for (const IterationComparison& iteration : row.iterations) {
    for (const OutputComparison& output : iteration.outputs) {
      for (const FunctionResult& result : output.results) {
        if (result.passed || ++failures > kMostLines) continue;
        log.line(LogKind::Bad, fmt::format("FAILED | Iteration: {} | {} | Output: '{}' | {}", iteration.iteration,
                                           compare_function_name(result.function), printable(output.output),
                                           command_words(result.reason)));
      }
    }
  }
  if (failures > kMostLines) log.line(LogKind::Bad, fmt::format("and {} more", failures - kMostLines));
  return log.text();
}

/// "[I] PASSED | ..." or "[E] FAILED | ...".
std::string verdict_to_text(bool passed, const std::string& words, const ComparisonTextOptions& options) {
  LogText log(options.color);
  log.line(passed ? LogKind::Good : LogKind::Bad, fmt::format("{} | {}", passed ? "PASSED" : "FAILED", words));
  return log.text();
}

}  // namespace

std::string result_to_text(const CheckAccuracyResult& result, const ComparisonTextOptions& options) {
  std::string text;
  for (std::size_t i = 0; i < result.pairs.size(); ++i) {
    if (!result.compare.check_average) text += failures_to_text(result.record.rows()[i], options);
    text += summary_to_text(result.pairs[i], options);
  }
  const std::string words = result.pairs.empty()      ? "Nothing was compared: the file holds no pair of runs"
                            : result.given_thresholds ? "Accuracy results, compared with the given thresholds"
                                                      : "Accuracy results, compared with the recorded thresholds";
  return text + verdict_to_text(result.passed, words, options);
}

}  // namespace vernier
