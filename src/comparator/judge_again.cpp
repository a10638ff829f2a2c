// Recorded figures against other thresholds.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "options/compare_function.h"
#include "vernier/accuracy_record.h"
#include "vernier/comparison.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

std::vector<std::string> names_of(const std::set<CompareFunction>& functions) {
  std::vector<std::string> names;
  for (const CompareFunction function : functions) names.emplace_back(compare_function_name(function));
  return names;
}

template <class T>
bool given(const PerOutput<T>& setting) {
  return setting.general.has_value() || !setting.own.empty();
}

template <class T>
void require_outputs(const std::string& option, const PerOutput<T>& setting, const std::set<std::string>& known) {
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& entry : setting.own) {
    if (known.contains(entry.first)) continue;
    const std::vector<std::string> near = nearest_names(entry.first, names);
    throw Error(ErrorCode::UnknownName,
                fmt::format("{}: the file holds no output '{}'", option, printable(entry.first)),
                near.empty() ? "outputs: " + list_some(names, 10) : "nearest: " + list_some(near));
  }
}

/// What the file holds, and that everything asked for is part of it.
class Contents {
 public:
  explicit Contents(const std::vector<AccuracyRecord::Row>& rows) {
    for (const AccuracyRecord::Row& row : rows) {
      for (const IterationComparison& iteration : row.iterations) {
        for (const OutputComparison& output : iteration.outputs) {
          outputs_.insert(output.output);
          for (const FunctionResult& result : output.results) functions_.insert(result.function);
        }
      }
    }
  }

  void require(const AccuracyRecord::Again& again) const {
    for (const CompareFunction function : again.functions) require_function("‹compare›", function);
    if (given(again.atol)) require_function("‹atol›", CompareFunction::Simple);
    if (given(again.rtol)) require_function("‹rtol›", CompareFunction::Simple);
    if (given(again.error_stat)) require_function("‹check-error-stat›", CompareFunction::Simple);
    require_outputs("‹atol›", again.atol, outputs_);
    require_outputs("‹rtol›", again.rtol, outputs_);
    require_outputs("‹check-error-stat›", again.error_stat, outputs_);
    for (const auto& [function, setting] : again.thresholds) {
      const std::string option = fmt::format("‹{}›", compare_function_info(function).option);
      require_function(option, function);
      require_outputs(option, setting, outputs_);
      if (function == CompareFunction::Indices) {
        throw Error(ErrorCode::WithoutEffect, "‹index-tolerance›: the file holds verdicts of indices, not the lists",
                    "compare the saved outputs again");
      }
    }
  }

 private:
  void require_function(const std::string& option, CompareFunction function) const {
    if (functions_.contains(function)) return;
    const std::vector<std::string> names = names_of(functions_);
    throw Error(ErrorCode::WithoutEffect,
                fmt::format("{}: the file holds no figures of {}", option, compare_function_name(function)),
                names.empty() ? "it holds nothing" : "it holds " + list_some(names, names.size()));
  }

  std::set<CompareFunction> functions_;
  std::set<std::string> outputs_;
};

void judge_elements_again(const FunctionResult& recorded, const std::string& output, FunctionResult& result) {
  const bool was_elemwise = recorded.stat == ErrorStat::Elemwise;
  const bool not_tighter = result.atol >= recorded.atol && result.rtol >= recorded.rtol;
  const bool not_looser = result.atol <= recorded.atol && result.rtol <= recorded.rtol;
  if (was_elemwise && not_tighter && not_looser) return;  // as recorded
  if (result.absolute_figures.max <= result.atol || result.relative_figures.max <= result.rtol ||
      (was_elemwise && recorded.passed && not_tighter)) {
    result.passed = true;
    result.reason.clear();
  } else if (was_elemwise && !recorded.passed && not_looser) {
    result.passed = false;
  } else {
    throw Error(ErrorCode::WithoutEffect,
                fmt::format("output '{0}': the largest errors, {3:.5g} and {4:.5g}, do not show whether each element "
                            "is within atol {1} or rtol {2}",
                            printable(output), result.atol, result.rtol, result.absolute_figures.max,
                            result.relative_figures.max),
                "‹check-error-stat› max, mean or median; or compare the saved outputs again");
  }
}

void judge_simple_again(const AccuracyRecord::Again& again, const std::string& output, FunctionResult& result) {
  const FunctionResult recorded = result;
  result.atol = again.atol.for_output(output).value_or(result.atol);
  result.rtol = again.rtol.for_output(output).value_or(result.rtol);
  result.stat = again.error_stat.for_output(output).value_or(result.stat);
  if (result.stat == ErrorStat::Quantile && !result.absolute_figures.quantile) {
    throw Error(ErrorCode::WithoutEffect,
                fmt::format("output '{}': the file holds no quantile of the errors", printable(output)),
                "‹check-error-stat› max, mean or median; or compare the saved outputs again");
  }
  if (result.stat == ErrorStat::Elemwise) {
    judge_elements_again(recorded, output, result);
  } else {
    judge(result);
  }
}

}  // namespace

void AccuracyRecord::judge_again(const Again& again) {
  Contents(rows_).require(again);
  const auto unwanted = [&](const FunctionResult& result) {
    return !again.functions.empty() &&
           std::find(again.functions.begin(), again.functions.end(), result.function) == again.functions.end();
  };
  for (Row& row : rows_) {
    for (IterationComparison& iteration : row.iterations) {
      iteration.passed = !iteration.outputs.empty();
      for (OutputComparison& output : iteration.outputs) {
        std::erase_if(output.results, unwanted);
        output.passed = true;
        for (FunctionResult& result : output.results) {
          if (result.compared && result.function == CompareFunction::Simple) {
            judge_simple_again(again, output.output, result);
          } else if (const auto setting = again.thresholds.find(result.function);
                     result.compared && setting != again.thresholds.end()) {
            result.threshold = setting->second.for_output(output.output).value_or(result.threshold);
            judge(result);
          }
          output.passed = output.passed && result.passed;
        }
        iteration.passed = iteration.passed && output.passed;
      }
    }
  }
}

}  // namespace vernier
