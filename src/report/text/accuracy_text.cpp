#include "report/text/accuracy_text.h"

#include <fmt/format.h>

#include "base/layout.h"
#include "base/text.h"
#include "report/text/log_text.h"
#include "vernier/comparison.h"

namespace vernier {
namespace {

constexpr std::size_t kMostLines = 20;

}  // namespace

std::string failures_to_text(const AccuracyRecord::Row& row, const ComparisonTextOptions& options) {
  LogText log(options.color);
  const LogText::Indent indent(log);
  std::size_t failures = 0;
  for (const IterationComparison& iteration : row.iterations) {
    for (const OutputComparison& output : iteration.outputs) {
      for (const FunctionResult& result : output.results) {
        if (result.passed || ++failures > kMostLines) continue;
        log.line(LogKind::Bad,
                 fmt::format("FAILED | Iteration: {} | {} | Output: '{}' | {}", iteration.iteration,
                             compare_function_name(result.function), shown(output.output), result.reason));
      }
    }
  }
  if (failures > kMostLines) log.line(LogKind::Bad, fmt::format("and {} more", failures - kMostLines));
  return log.text();
}

std::string verdict_to_text(bool passed, const std::string& words, const ComparisonTextOptions& options) {
  LogText log(options.color);
  log.line(passed ? LogKind::Good : LogKind::Bad, fmt::format("{} | {}", passed ? "PASSED" : "FAILED", words));
  return log.text();
}

}  // namespace vernier
