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
#include "vernier/tensor.h"

namespace vernier {

/// Which side is the signal of a ratio: snr and psnr take the first run, as the peer does; sqnr the reference.
///   simple             absolute and relative errors against --atol and --rtol; passes when EITHER holds
///   indices            ranked lists along the last axis: no entry is further than N places from where it should be
///   l2                 sqrt(sum (got - ref)^2), at most 1e-5
///   cosine_similarity  dot / (|got| |ref|), at least 0.997; 1 when both are zero, 0 when one is
///   psnr               20 log10(max got) - 10 log10(mean (got - ref)^2), at least 30 dB; a maximum <= 0 counts as 1
///   snr                10 log10(sum got^2 / sum (got - ref)^2), at least 20 dB
///   mse                mean (got - ref)^2, at most 1e-5
///   sqnr               10 log10(sum ref^2 / sum (ref - got)^2), at least 20 dB
///   kl                 largest KL(ref || got) of the rows along the last axis, each scaled to sum 1, at most 0.01 nats
///   ulp                largest distance in units in the last place of the coarser type, at most 4
///   script             a function of the user's (RunOptions::compare_script); never chosen by name
enum class CompareFunction { Simple, Indices, L2, CosineSimilarity, Psnr, Snr, Mse, Sqnr, Kl, Ulp, Script };
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

/// Tolerances of `simple` where none is given, by the coarser of two element types:
///   float64                 atol 1e-7  rtol 1e-7     torch.testing.assert_close
///   float32                 atol 1e-5  rtol 1e-5     the peer's
///   float16                 atol 1e-5  rtol 1e-3     torch.testing.assert_close
///   bfloat16                atol 1e-5  rtol 1.6e-2   torch.testing.assert_close
///   float8e4m3fn, e5m2      atol 1e-5  rtol 0.125, 0.25: one step of the format
///   integers and bool       atol 0     rtol 0        exact
struct Tolerance {
  double atol = 0, rtol = 0;
};
VERNIER_API Tolerance default_tolerance(Dtype one, Dtype other);
/// The type whose steps are wider; of two integers the narrower one.
VERNIER_API Dtype coarser_dtype(Dtype one, Dtype other);

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
  bool first_failure = false;  // no output behind the first that fails is compared
  /// False: values and histograms of both sides stay empty; half of the time of a comparison by one figure is theirs.
  bool statistics = true;
};

/// --postprocess top-K: an output becomes the indices of its K largest elements along an axis, largest first.
struct TopK {
  std::int64_t k = 0;
  std::int64_t axis = -1;
};
/// Replaces each output that `options` has a setting for. Errors: Usage when an output has no such axis.
VERNIER_API void postprocess(Iteration& iteration, const PerOutput<TopK>& options);

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

/// Statistics of the errors of all elements, as they are held against a tolerance: NaN as soon as one error is NaN.
struct ErrorFigures {
  double max = 0, mean = 0, median = 0;
  std::optional<double> quantile;  // when it is the one that is checked
};

/// What one function says of one output.
struct FunctionResult {
  CompareFunction function = CompareFunction::Simple;
  bool passed = false;
  bool compared = true;  // false: no figures, because of shapes or types that do not fit
  std::string reason;    // in words, when it did not pass
  /// Pairs whose difference is not finite: left out of every figure but ErrorFigures, and where the first one is.
  std::int64_t not_finite = 0;
  std::string left_out;  // the same in words; empty when there are none
  // Functions with one figure:
  double value = 0, threshold = 0;
  // simple:
  ErrorStat stat = ErrorStat::Elemwise;
  double atol = 0, rtol = 0, quantile = 0;
  bool default_tolerance = false;  // chosen by element type
  /// Either would do, alone and without what is not finite: the checked statistic of the errors.
  double required_atol = 0, required_rtol = 0;
  ErrorFigures absolute_figures, relative_figures;
  std::int64_t zero_references = 0;  // elements whose relative error is by 2.2e-16 instead of the reference, which is 0
  ValueStats absolute, relative;
  std::optional<Histogram> absolute_histogram, relative_histogram;
};

struct OutputComparison {
  std::string output, reference;  // names on both sides
  std::string matched;            // empty: same name; else how they were paired, in words
  std::string aligned;            // what was done to the reference's shape, in words
  Dtype dtype = Dtype::Undefined, reference_dtype = Dtype::Undefined;
  Shape shape, reference_shape;
  std::vector<FunctionResult> results;
  ValueStats values, reference_values;
  std::optional<Histogram> histogram, reference_histogram;  // on a shared range
  /// 10 log10(sum ref^2 / sum (ref - got)^2) of what is finite; absent where nothing was compared.
  std::optional<double> sqnr_db;
  bool passed = false;
};

struct IterationComparison {
  std::size_t iteration = 0;
  std::vector<OutputComparison> outputs;
  std::string unmatched;  // outputs that one side lacks, in words: nothing is skipped quietly
  bool passed = false;    // all outputs passed, and there was one
};

/// Compares one iteration of `got` with the same one of `ref`. `detail`: histograms are made also where all passed.
///
/// Outputs are paired by name; else with the first whose name contains the other's, whatever the case; else by
/// position, unless that one has its own partner. Types: every numeric type and bool; where both sides fit float32,
/// errors are computed in float32 as the peer does, else in float64; sums are always float64. Errors: Usage when an
/// output named in `options` does not exist, on either side; and as require_valid(). Cost: two passes over both tensors
/// for the values, two for `simple` (four each when float32 cannot hold the types), one for each other function; a few
/// megabytes beside the tensors.
VERNIER_API IterationComparison compare_iterations(std::size_t index, const Iteration& got, const Iteration& ref,
                                                   const CompareOptions& options, bool detail);

/// Errors: Usage when options contradict each other (check_average with elemwise or indices), or are out of range.
VERNIER_API void require_valid(const CompareOptions& options);

/// Verdicts of one pair of runs, over all iterations.
struct PairSummary {
  std::string run, reference;
  bool check_average = false;
  std::size_t iterations = 0, passed_iterations = 0;
  /// With check_average: the mean figures and their verdict, by output.
  std::map<std::string, std::vector<FunctionResult>> averages;
  /// The best of all outputs and iterations; absent where none has one.
  std::optional<double> best_sqnr_db;
  bool passed = false;  // never when nothing was compared
};

class VERNIER_API PairTally {
 public:
  PairTally(std::string run, std::string reference, CompareOptions options);
  void add(const IterationComparison& iteration);
  PairSummary summary() const;

 private:
  struct Sums {
    std::size_t iterations = 0;
    std::vector<FunctionResult> results;
  };
  CompareOptions options_;
  PairSummary summary_;
  std::map<std::string, Sums> sums_;  // by output
};

}  // namespace vernier
