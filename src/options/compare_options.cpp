#include <fmt/format.h>

#include "options/compare_function.h"
#include "vernier/comparison.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

template <class T, class Check>
void require_each(const PerOutput<T>& setting, const Check& check) {
  if (setting.general) check(*setting.general);
  for (const auto& entry : setting.own) check(entry.second);
}

}  // namespace

void require_valid(const CompareOptions& options) {
  if (options.functions.empty()) throw Error(ErrorCode::MissingArgument, "no comparison function");
  const auto tolerance = [](double value) {
    if (!(value >= 0)) throw Error(ErrorCode::BadValue, fmt::format("a tolerance of {}: 0 or more is wanted", value));
  };
  require_each(options.atol, tolerance);
  require_each(options.rtol, tolerance);
  require_each(options.error_quantile, [](double value) {
    if (!(value >= 0 && value <= 1)) {
      throw Error(ErrorCode::BadValue, fmt::format("‹error-quantile›: {} is not in [0, 1]", value));
    }
  });
  for (const auto& [function, setting] : options.thresholds) {
    const CompareFunctionInfo& info = compare_function_info(function);
    require_each(setting, [&info](double value) {
      if (!(value >= info.least && value <= info.most)) {
        throw Error(ErrorCode::BadValue, fmt::format("‹{}›: {} is out of range", info.option, value));
      }
    });
  }
  if (!options.check_average) return;
  for (const CompareFunction function : options.functions) {
    if (function == CompareFunction::Indices) {
      throw Error(ErrorCode::WithoutEffect, "‹check-average›: indices has no figure to average",
                  "leave one of them out");
    }
    if (function != CompareFunction::Simple) continue;
    const auto has_statistic = [](ErrorStat stat) {
      if (stat == ErrorStat::Elemwise) {
        throw Error(ErrorCode::WithoutEffect, "‹check-average›: elemwise has no statistic to average",
                    "‹check-error-stat› max, mean, median or quantile");
      }
    };
    if (!options.error_stat.general) has_statistic(ErrorStat::Elemwise);
    require_each(options.error_stat, has_statistic);
  }
}

}  // namespace vernier
