#include "console/option_values.h"

#include <span>
#include <string_view>

#include "vernier/arithmetic.h"
#include "vernier/engine.h"
#include "vernier/eval.h"
#include "vernier/graph_optimization.h"
#include "vernier/precision.h"
#include "vernier/report/data_diff.h"
#include "vernier/report/reduce.h"
#include "vernier/samples.h"
#include "vernier/search_options.h"
#include "vernier/target.h"

namespace vernier::cli {
namespace {

template <class Enum>
std::vector<std::string> words() {
  const std::span<const std::string_view> all = words_of(Enum{});
  return {all.begin(), all.end()};
}

const std::vector<std::string> kFormats{"float16", "bfloat16", "float8e4m3fn", "float8e5m2", "int8", "uint8", "int4"};
const std::vector<std::string> kMethods{"minmax", "percentile", "entropy", "mse", "aciq", "auto"};
const std::vector<std::string> kFunctions{
    "simple", "indices", "l2",  "cosine_similarity", "psnr",           "snr", "mse",
    "sqnr",   "kl",      "ulp", "distance_metrics",  "quality_metrics"};

}  // namespace

std::vector<std::string> words_of_option(const std::string& command, const std::string& name) {
  if (name == "--target") return words<Target>();
  if (name == "--low" || name == "--check-sim") return kFormats;
  if (name == "--precision" || name == "--high") return {"float32", "float16", "bfloat16"};
  if (name == "--precision-constraints") return words<PrecisionConstraints>();
  if (name == "--accumulate") return words<Accumulate>();
  if (name == "--calibration-method" || name == "--method") return kMethods;
  if (name == "--compare" || name == "--compare-func") return kFunctions;
  if (name == "--check-error-stat") return {"elemwise", "max", "mean", "median", "quantile"};
  if (name == "--metric" && command == "vernier data diff") return words<DiffMetric>();
  if (name == "--image-color") return words<ImageColor>();
  if (name == "--image-layout") return words<ImageLayout>();
  if (name == "--graph-optimization-level") return words<GraphOptimization>();
  if (name == "--on" || name == "--confirm-on") return words<MeasureOn>();
  if (name == "--mode" && command == "vernier debug reduce") return words<ReduceMode>();
  if (name == "--mode" && command == "vernier debug precision") return words<SearchMode>();
  if (name == "--quantize-mode") return {"int8", "fp8", "int4", "int8-weight-only"};
  if (name == "--bias") return {"int32", "float"};
  if (name == "--convert-to" && command == "vernier convert") return {"onnx", "trt"};
  if (name == "--show" && command == "vernier inspect model") return {"layers", "attrs", "weights", "formats"};
  if (name == "--format" && command == "vernier data diff") return {"table", "json", "csv"};
  if (name == "--until") return {"good", "bad"};
  return {};
}

}  // namespace vernier::cli
