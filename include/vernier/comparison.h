// Comparing what two runners gave: the metrics, tolerances and verdicts that users of Polygraphy know. The second run
// is the reference. Everything that is printed or saved is a value here first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/export.h"
#include "vernier/runs.h"

namespace vernier {

enum class CompareFunction { Simple, Indices, L2, CosineSimilarity, Psnr, Snr, Mse, Sqnr, Kl, Ulp };
/// "simple", "cosine_similarity" ...; reads the peer's aliases too: distance_metrics is l2 and cosine_similarity,
/// quality_metrics is psnr and snr. Errors: Usage with the nearest names.
VERNIER_API std::string_view compare_function_name(CompareFunction function);
VERNIER_API std::vector<CompareFunction> parse_compare_function(const std::string& text);

/// Which statistic of the errors `simple` holds against the tolerances.
enum class ErrorStat { Elemwise, Max, Mean, Median, Quantile };
VERNIER_API std::string_view error_stat_name(ErrorStat stat);
VERNIER_API ErrorStat parse_error_stat(const std::string& text);

/// A setting for all outputs, and for single ones by name.
template <class T>
struct PerOutput {
  std::optional<T> general;
  std::map<std::string, T> own;
  std::optional<T> for_output(const std::string& output) const {
    if (const auto found = own.find(output); found != own.end()) return found->second;
    return general;
  }
};

struct CompareOptions {
  std::vector<CompareFunction> functions{CompareFunction::Simple};  // all must pass
  PerOutput<double> atol, rtol;      // of simple; absent: by the coarser of the two element types
  PerOutput<ErrorStat> error_stat;   // absent: Elemwise
  PerOutput<double> error_quantile;  // absent: 0.99
  bool infinities_compare_equal = false;
  bool shape_check = true;  // false: reshape or permute to match
  /// Of the other functions; absent: the default of each.
  std::map<CompareFunction, PerOutput<double>> thresholds;
  bool check_average = false;  // thresholds hold for the mean over iterations
};

/// Of one tensor, or of the differences of two. Values that are not finite are counted and left out of the rest.
struct ValueStats {
  std::int64_t count = 0;
  std::int64_t nan = 0;
  std::int64_t positive_infinite = 0;
  std::int64_t negative_infinite = 0;
  double mean = 0, standard_deviation = 0, variance = 0, median = 0, average_magnitude = 0;
  double min = 0, max = 0, p90 = 0, p95 = 0, p99 = 0;
  std::int64_t min_at = 0, max_at = 0;  // flat index of the first one
};

struct Histogram {
  double low = 0, high = 0;
  std::vector<std::int64_t> bins;  // of equal width
};

/// What one function says of one output.
struct FunctionResult {
  CompareFunction function = CompareFunction::Simple;
  bool passed = false;
  std::string reason;  // in words, when it did not pass
  // Functions with one figure:
  double value = 0, threshold = 0;
  // simple:
  ErrorStat stat = ErrorStat::Elemwise;
  double atol = 0, rtol = 0, quantile = 0;
  bool default_tolerance = false;  // chosen by element type
  double required_atol = 0, required_rtol = 0;
  ValueStats absolute, relative;
  std::optional<Histogram> absolute_histogram, relative_histogram;
};

struct OutputComparison {
  std::string output, reference;  // names on both sides
  std::string matched;            // empty: same name; else how they were paired, in words
  Dtype dtype = Dtype::Undefined, reference_dtype = Dtype::Undefined;
  Shape shape, reference_shape;
  std::vector<FunctionResult> results;
  ValueStats values, reference_values;
  std::optional<Histogram> histogram, reference_histogram;  // on a shared range
  bool passed = false;
};

struct IterationComparison {
  std::size_t iteration = 0;
  std::vector<OutputComparison> outputs;
  std::vector<std::string> unmatched;  // outputs that the reference lacks, in words: nothing is skipped quietly
  bool passed = false;
};

/// Compares one iteration of `got` with the same one of `ref`. `detail`: histograms are made also where all passed.
/// Errors: Usage when an output named in `options` does not exist.
VERNIER_API IterationComparison compare_iterations(std::size_t index, const Iteration& got, const Iteration& ref,
                                                   const CompareOptions& options, bool detail);

/// --postprocess [out:]top-K[,axis=A]: an output becomes the int64 indices of its K largest values along an axis,
/// largest first, the first of equal ones in front.
struct TopK {
  std::string output;  // empty: all outputs that no other entry names
  std::int64_t k = 1;
  std::int64_t axis = -1;
};
VERNIER_API TopK parse_top_k(const std::string& text);
VERNIER_API void apply_top_k(const std::vector<TopK>& choices, Iteration& iteration);

/// Verdicts of one pair of runs, over all iterations.
struct PairSummary {
  std::string run, reference;
  std::size_t iterations = 0, passed_iterations = 0;
  /// With check_average: the mean figures and their verdict, by output.
  std::map<std::string, std::vector<FunctionResult>> averages;
  bool passed = false;
};

class VERNIER_API PairTally {
 public:
  PairTally(std::string run, std::string reference, CompareOptions options);
  void add(const IterationComparison& iteration);
  PairSummary summary() const;

 private:
  CompareOptions options_;
  PairSummary summary_;
  std::map<std::string, std::vector<FunctionResult>> sums_;
};

/// In the peer's form ("[I] Accuracy Comparison | a vs. b"), one call a part, so that a run prints while it goes on.
struct ComparisonTextOptions {
  bool color = false;
  bool detail = false;  // -v: statistics and histograms also of what passed
  std::size_t values_limit = 100;  // outputs with at most as many elements are printed whole
};
VERNIER_API std::string pair_header_to_text(const std::string& run, const std::string& reference,
                                            const ComparisonTextOptions& options);
VERNIER_API std::string iteration_to_text(const IterationComparison& iteration, const std::string& run,
                                          const std::string& reference, const Iteration& got, const Iteration& ref,
                                          const ComparisonTextOptions& options);
VERNIER_API std::string summary_to_text(const PairSummary& summary, const ComparisonTextOptions& options);

/// The peer's --save-accuracy-results: verdicts and figures of all pairs and iterations as JSON.
class VERNIER_API AccuracyRecord {
 public:
  void add(const std::string& run, const std::string& reference, const IterationComparison& iteration);
  std::string to_json(const CompareOptions& options) const;

 private:
  struct Row {
    std::string run, reference;
    std::vector<IterationComparison> iterations;
  };
  std::vector<Row> rows_;
};

}  // namespace vernier
