// `vernier check accuracy`: saved verdicts, held against other thresholds.

#include "vernier/check_accuracy.h"

#include "base/file.h"
#include "report/text/accuracy_text.h"
#include "vernier/accuracy_record.h"
#include "vernier/comparison.h"
#include "vernier/error.h"
#include "vernier/report/comparison.h"

namespace vernier {
namespace {

/// How the pair's verdicts are summed up.
CompareOptions tally_options(const AccuracyRecord& record, bool average) {
  CompareOptions options;
  options.check_average = average;
  if (!average) return options;
  for (const AccuracyRecord::Row& row : record.rows()) {
    for (const IterationComparison& iteration : row.iterations) {
      for (const OutputComparison& output : iteration.outputs) {
        for (const FunctionResult& result : output.results) {
          if (result.function == CompareFunction::Indices) options.functions = {CompareFunction::Indices};
          if (result.function != CompareFunction::Simple || !result.compared) continue;
          options.error_stat.own[output.output] = result.stat;
        }
      }
    }
  }
  // Only outputs count that the file holds; each has its own statistic above.
  options.error_stat.general = ErrorStat::Max;
  return options;
}

}  // namespace

CheckAccuracyResult check_accuracy(const CheckAccuracyOptions& options) {
  AccuracyRecord record = AccuracyRecord::from_json(read_text(options.path), options.path.string());
  record.judge_again(options.again);
  const bool average = options.check_average || record.check_average();
  const CompareOptions compare = tally_options(record, average);
  CheckAccuracyResult result;
  result.passed = !record.rows().empty();
  for (const AccuracyRecord::Row& row : record.rows()) {
    PairTally tally(row.run, row.reference, compare);
    for (const IterationComparison& iteration : row.iterations) tally.add(iteration);
    const PairSummary summary = tally.summary();
    result.passed = result.passed && summary.passed;
    if (!average) result.text += failures_to_text(row, options.text);
    result.text += summary_to_text(summary, options.text);
  }
  const bool again = !options.again.functions.empty() || options.again.atol.general ||
                     !options.again.atol.own.empty() || options.again.rtol.general || !options.again.rtol.own.empty() ||
                     options.again.error_stat.general || !options.again.error_stat.own.empty() ||
                     !options.again.thresholds.empty();
  const std::string which = again ? "the given thresholds" : "the thresholds that were recorded";
  result.text += verdict_to_text(result.passed,
                                 record.rows().empty() ? "Nothing was compared: the file holds no pair of runs"
                                                       : "Accuracy results, held against " + which,
                                 options.text);
  if (!options.save.empty()) replace_file(options.save, record.to_json(compare));
  if (options.json) result.text = record.to_json(compare);
  return result;
}

}  // namespace vernier
