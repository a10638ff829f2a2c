// Accuracy results in the peer's form, so that its own `check accuracy` reads them.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "json/python_json.h"
#include "options/compare_function.h"
#include "report/json/accuracy_json.h"
#include "vernier/accuracy_record.h"
#include "vernier/comparison.h"

namespace vernier {
namespace {

using accuracy_json::kClass;
using accuracy_json::kOurs;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Json simple_entry(const FunctionResult& result) {
  const ErrorFigures& absolute = result.absolute_figures;
  const ErrorFigures& relative = result.relative_figures;
  accuracy_json::SimpleEntry entry;
  entry.max_absolute = absolute.max;
  entry.max_relative = relative.max;
  entry.mean_absolute = absolute.mean;
  entry.mean_relative = relative.mean;
  entry.median_absolute = absolute.median;
  entry.median_relative = relative.median;
  entry.quantile_absolute = absolute.quantile;
  entry.quantile_relative = relative.quantile;
  entry.thresholds.check_error_stat = error_stat_name(result.stat);
  entry.thresholds.atol = result.atol;
  entry.thresholds.rtol = result.rtol;
  if (result.stat == ErrorStat::Elemwise) entry.passed = result.passed;
  return json_of(entry);
}

/// What the peer knows of a result; a bare verdict where it knows nothing.
Json peer_entry(const FunctionResult& result) {
  if (!result.compared) return result.passed;
  if (result.function == CompareFunction::Simple) return simple_entry(result);
  const CompareFunctionInfo& info = compare_function_info(result.function);
  if (info.peer_class.empty()) return result.passed;
  const accuracy_json::FigureThreshold threshold{result.threshold, fmt::format("{}Threshold", info.peer_class)};
  // Its verdict follows from its figure: one that left something out has to be none.
  return Json::Object{{std::string(info.peer_key), result.not_finite > 0 ? kNan : result.value},
                      {"thresholds", json_of(threshold)},
                      {kClass, fmt::format("{}Result", info.peer_class)}};
}

Json our_entry(const FunctionResult& result) {
  accuracy_json::OurEntry entry;
  entry.passed = result.passed;
  entry.compared = result.compared;
  if (result.function != CompareFunction::Simple) {
    entry.value = result.value;
    entry.threshold = result.threshold;
  }
  if (result.not_finite > 0) entry.not_finite = result.not_finite;
  if (!result.left_out.empty()) entry.left_out = result.left_out;
  if (!result.reason.empty()) entry.reason = result.reason;
  return json_of(entry);
}

template <class Entry>
Json iterations_json(const AccuracyRecord::Row& row, CompareFunction function, const Entry& entry) {
  Json::Array iterations;
  for (const IterationComparison& iteration : row.iterations) {
    Json outputs = Json::object();
    for (const OutputComparison& output : iteration.outputs) {
      for (const FunctionResult& result : output.results) {
        if (result.function == function) outputs[output.output] = entry(result);
      }
    }
    iterations.push_back(std::move(outputs));
  }
  return iterations;
}

std::vector<CompareFunction> functions_of(const std::vector<AccuracyRecord::Row>& rows) {
  std::vector<CompareFunction> functions;
  for (const AccuracyRecord::Row& row : rows) {
    for (const IterationComparison& iteration : row.iterations) {
      for (const OutputComparison& output : iteration.outputs) {
        for (const FunctionResult& result : output.results) {
          if (std::find(functions.begin(), functions.end(), result.function) == functions.end()) {
            functions.push_back(result.function);
          }
        }
      }
    }
  }
  return functions;
}

}  // namespace

void AccuracyRecord::add(const std::string& run, const std::string& reference, const IterationComparison& iteration) {
  const auto same = [&](const Row& row) { return row.run == run && row.reference == reference; };
  auto row = std::find_if(rows_.begin(), rows_.end(), same);
  if (row == rows_.end()) row = rows_.insert(rows_.end(), Row{run, reference, {}});
  IterationComparison kept = iteration;
  for (OutputComparison& output : kept.outputs) {
    output.histogram.reset();
    output.reference_histogram.reset();
    for (FunctionResult& result : output.results) {
      result.absolute_histogram.reset();
      result.relative_histogram.reset();
    }
  }
  row->iterations.push_back(std::move(kept));
}

std::string AccuracyRecord::to_json(const CompareOptions& options) const {
  std::vector<CompareFunction> functions = functions_of(rows_);
  if (functions.empty()) functions = options.functions;
  const bool average = options.check_average || check_average_;
  Json::Array results;
  accuracy_json::OurResults ours;
  ours.results = Json::array();
  for (const CompareFunction function : functions) {
    Json::Array pairs;
    Json::Array our_pairs;
    for (const Row& row : rows_) {
      pairs.push_back(Json::Array{Json::Array{row.run, row.reference}, iterations_json(row, function, peer_entry)});
      our_pairs.push_back(iterations_json(row, function, our_entry));
    }
    results.push_back(Json::Object{
        {"lst", std::move(pairs)}, {"aggregation", average ? "average" : "per_sample"}, {kClass, "AccuracyResult"}});
    ours.functions.emplace_back(compare_function_name(function));
    ours.results.add(std::move(our_pairs));
  }
  return python_json(Json::Object{{"lst", std::move(results)}, {kOurs, json_of(ours)}, {kClass, "AccuracyResults"}});
}

}  // namespace vernier
