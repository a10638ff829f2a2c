#include "options/compare_function.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();

// The thresholds of the first five are the peer's. 4 ulp is what GoogleTest calls almost equal.
constexpr std::array<CompareFunctionInfo, 9> kInfos{{
    {CompareFunction::Indices, "indices", "indices", "", false, 0, 0, kLargest, "index-tolerance", "", ""},
    {CompareFunction::L2, "l2", "L2 Norm", "", false, 1e-5, 0, kLargest, "l2-threshold", "l2_norm", "L2"},
    {CompareFunction::CosineSimilarity, "cosine_similarity", "Cosine Similarity", "", true, 0.997, -1, 1,
     "cosine-similarity-threshold", "cosine_similarity", "CosineSimilarity"},
    {CompareFunction::Psnr, "psnr", "PSNR", " dB", true, 30, -kLargest, kLargest, "psnr-threshold", "psnr", "Psnr"},
    {CompareFunction::Snr, "snr", "SNR", " dB", true, 20, -kLargest, kLargest, "snr-threshold", "snr", "Snr"},
    {CompareFunction::Mse, "mse", "MSE", "", false, 1e-5, 0, kLargest, "mse-threshold", "", ""},
    {CompareFunction::Sqnr, "sqnr", "SQNR", " dB", true, 20, -kLargest, kLargest, "sqnr-threshold", "", ""},
    {CompareFunction::Kl, "kl", "KL Divergence", " nats", false, 0.01, 0, kLargest, "kl-threshold", "", ""},
    {CompareFunction::Ulp, "ulp", "ULP Distance", " ulp", false, 4, 0, kLargest, "ulp-threshold", "", ""},
}};

struct StatName {
  ErrorStat stat;
  std::string_view name;
};
constexpr std::array<StatName, 5> kStats{{{ErrorStat::Elemwise, "elemwise"},
                                          {ErrorStat::Max, "max"},
                                          {ErrorStat::Mean, "mean"},
                                          {ErrorStat::Median, "median"},
                                          {ErrorStat::Quantile, "quantile"}}};

[[noreturn]] void unknown(const std::string& what, const std::string& text, const std::vector<std::string>& names) {
  const std::vector<std::string> near = nearest_names(text, names, 1);
  const std::string all = list_some(names, names.size());
  throw Error(ErrorCode::BadValue, fmt::format("'{}' is not a {}", printable(text), what),
              near.empty() ? "one of: " + all : fmt::format("did you mean {}? one of: {}", near.front(), all));
}

/// Both numbers with as many digits as it takes to tell them apart: 0.99699999 against 0.997.
std::pair<std::string, std::string> told_apart(double value, double threshold) {
  for (int digits = 5; digits < 17; ++digits) {
    std::string one = fmt::format("{:.{}g}", value, digits);
    std::string other = fmt::format("{:.{}g}", threshold, digits);
    if (value == threshold || one != other) return {one, other};
  }
  return {fmt::format("{:.17g}", value), fmt::format("{:.17g}", threshold)};
}

void judge_figure(FunctionResult& result) {
  const CompareFunctionInfo& info = compare_function_info(result.function);
  const bool holds = info.higher_is_better ? result.value >= result.threshold : result.value <= result.threshold;
  result.passed = holds && result.not_finite == 0;
  if (holds) {
    result.reason = result.left_out;
    return;
  }
  const auto [value, threshold] = told_apart(result.value, result.threshold);
  result.reason = fmt::format("{} is {}{}; {}{} is the {} allowed", info.label, value, info.unit, threshold, info.unit,
                              info.higher_is_better ? "least" : "most");
  if (!result.left_out.empty()) result.reason += "; " + result.left_out;
}

void judge_statistic(FunctionResult& result) {
  const double absolute = checked_figure(result.absolute_figures, result.stat);
  const double relative = checked_figure(result.relative_figures, result.stat);
  result.passed = absolute <= result.atol || relative <= result.rtol;  // false for NaN
  result.reason = result.left_out;
  if (result.passed || std::isnan(absolute)) return;
  const auto [absolute_text, atol] = told_apart(absolute, result.atol);
  const auto [relative_text, rtol] = told_apart(relative, result.rtol);
  result.reason = fmt::format("{} error is {}, above atol {}, and relatively {}, above rtol {}",
                              error_stat_name(result.stat), absolute_text, atol, relative_text, rtol);
  if (!result.left_out.empty()) result.reason += "; " + result.left_out;
}

}  // namespace

std::span<const CompareFunctionInfo> compare_function_infos() { return kInfos; }

const CompareFunctionInfo& compare_function_info(CompareFunction function) {
  for (const CompareFunctionInfo& info : kInfos) {
    if (info.function == function) return info;
  }
  throw Error(ErrorKind::Internal, "a comparison function without a threshold");
}

std::string_view compare_function_name(CompareFunction function) {
  if (function == CompareFunction::Simple) return "simple";
  return function == CompareFunction::Script ? "compare_func_script" : compare_function_info(function).name;
}

bool is_compare_function(const std::string& text) {
  return text == "simple" || text == "distance_metrics" || text == "quality_metrics" || text == "perceptual_metrics" ||
         std::any_of(kInfos.begin(), kInfos.end(), [&](const CompareFunctionInfo& info) { return info.name == text; });
}

std::vector<CompareFunction> parse_compare_function(const std::string& text) {
  if (text == "distance_metrics") return {CompareFunction::L2, CompareFunction::CosineSimilarity};
  if (text == "quality_metrics") return {CompareFunction::Psnr, CompareFunction::Snr};
  if (text == "simple") return {CompareFunction::Simple};
  std::vector<std::string> names{"simple"};
  for (const CompareFunctionInfo& info : kInfos) {
    if (info.name == text) return {info.function};
    names.emplace_back(info.name);
  }
  if (text == "perceptual_metrics") {
    throw Error(ErrorCode::NotSupported, "perceptual_metrics: LPIPS needs its own network, which vernier does not have",
                "psnr, snr or sqnr compare images without one");
  }
  names.insert(names.end(), {"distance_metrics", "quality_metrics"});
  unknown("comparison function", text, names);
}

std::string_view error_stat_name(ErrorStat stat) {
  return std::find_if(kStats.begin(), kStats.end(), [&](const StatName& row) { return row.stat == stat; })->name;
}

ErrorStat parse_error_stat(const std::string& text) {
  std::vector<std::string> names;
  for (const StatName& row : kStats) {
    if (row.name == text) return row.stat;
    names.emplace_back(row.name);
  }
  unknown("error statistic", text, names);
}

double checked_figure(const ErrorFigures& figures, ErrorStat stat) {
  switch (stat) {
    case ErrorStat::Max:
      return figures.max;
    case ErrorStat::Mean:
      return figures.mean;
    case ErrorStat::Median:
      return figures.median;
    case ErrorStat::Quantile:
      return figures.quantile.value_or(std::numeric_limits<double>::quiet_NaN());
    case ErrorStat::Elemwise:
      break;
  }
  throw Error(ErrorKind::Internal, "elemwise has no statistic");
}

void judge(FunctionResult& result) {
  if (!result.compared || result.function == CompareFunction::Indices || result.function == CompareFunction::Script) {
    return;
  }
  if (result.function != CompareFunction::Simple) {
    judge_figure(result);
  } else if (result.stat != ErrorStat::Elemwise) {
    judge_statistic(result);
  }
  if (result.passed) result.reason.clear();
}

}  // namespace vernier
