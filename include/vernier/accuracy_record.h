// Verdicts of a comparison as a file: what Polygraphy's --save-accuracy-results writes, and judging it again.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "vernier/comparison.h"
#include "vernier/export.h"

namespace vernier {

/// The file of the peer's --save-accuracy-results: one entry a function, pair, iteration and output. Functions that the
/// peer has not are bare verdicts to it; their figures stand under a key of our own, "vernier", which it does not read.
class VERNIER_API AccuracyRecord {
 public:
  struct Row {
    std::string run, reference;
    std::vector<IterationComparison> iterations;  // verdicts and figures; no statistics of values, no histograms
  };

  void add(const std::string& run, const std::string& reference, const IterationComparison& iteration);
  const std::vector<Row>& rows() const { return rows_; }

  /// Python's JSON: infinities and NaN are written as Infinity and NaN, as the peer does and expects.
  std::string to_json(const CompareOptions& options) const;

  /// Reads what either of us wrote. `name` is for messages.
  /// Errors: Input, naming the place: not JSON, something else, a class that is not known.
  static AccuracyRecord from_json(const std::string& text, const std::string& name);
  /// True when the file says that averages over iterations were judged.
  bool check_average() const { return check_average_; }

  /// What of a comparison's options was given for judging again; what was not stays as recorded.
  struct Again {
    std::vector<CompareFunction> functions;  // only these; empty: all that the file holds
    PerOutput<double> atol, rtol;
    PerOutput<ErrorStat> error_stat;
    std::map<CompareFunction, PerOutput<double>> thresholds;
  };
  /// Holds the recorded figures against other thresholds. Without any, verdicts stay as recorded.
  /// Errors: Usage for a function, output or statistic that the file does not hold; and for elemwise where the largest
  /// error does not decide: its verdict needs the elements.
  void judge_again(const Again& again);

 private:
  std::vector<Row> rows_;
  bool check_average_ = false;
};

}  // namespace vernier
