// `vernier check accuracy`: saved verdicts, held against other thresholds.

#include "vernier/check_accuracy.h"

#include "base/file.h"
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
  CheckAccuracyResult result;
  AccuracyRecord& record = result.record;
  record = AccuracyRecord::from_json(read_text(options.path), options.path.string());
  record.judge_again(options.again);
  result.compare = tally_options(record, options.check_average || record.check_average());
  result.passed = !record.rows().empty();
  for (const AccuracyRecord::Row& row : record.rows()) {
    PairTally tally(row.run, row.reference, result.compare);
    for (const IterationComparison& iteration : row.iterations) tally.add(iteration);
    result.pairs.push_back(tally.summary());
    result.passed = result.passed && result.pairs.back().passed;
  }
  const AccuracyRecord::Again& again = options.again;
  result.given_thresholds = !again.functions.empty() || again.atol.general || !again.atol.own.empty() ||
                            again.rtol.general || !again.rtol.own.empty() || again.error_stat.general ||
                            !again.error_stat.own.empty() || !again.thresholds.empty();
  if (!options.save.empty()) replace_file(options.save, record.to_json(result.compare));
  return result;
}

}  // namespace vernier
