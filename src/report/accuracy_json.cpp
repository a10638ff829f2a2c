// The peer's accuracy results: writing them so that the peer's own `check accuracy` reads them, and reading what either
// of us wrote. Infinity and NaN stand in them as bare words, which strict JSON does not know.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/compare_function.h"
#include "core/text.h"
#include "report/python_json.h"
#include "vernier/comparison.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kClass = "polygraphy_class";
constexpr const char* kOurs = "vernier";
constexpr int kVersion = 1;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ---- writing

Json simple_entry(const FunctionResult& result) {
  const ErrorFigures& absolute = result.absolute_figures;
  const ErrorFigures& relative = result.relative_figures;
  const auto or_null = [](std::optional<double> value) { return value ? Json(*value) : Json(); };
  Json entry{{"max_absdiff", absolute.max},
             {"max_reldiff", relative.max},
             {"mean_absdiff", absolute.mean},
             {"mean_reldiff", relative.mean},
             {"median_absdiff", absolute.median},
             {"median_reldiff", relative.median},
             {"quantile_absdiff", or_null(absolute.quantile)},
             {"quantile_reldiff", or_null(relative.quantile)}};
  entry["thresholds"] = Json{{"check_error_stat", error_stat_name(result.stat)},
                             {"atol", result.atol},
                             {"rtol", result.rtol},
                             {kClass, "SimpleThreshold"}};
  entry["passed"] = result.stat == ErrorStat::Elemwise ? Json(result.passed) : Json();
  entry[kClass] = "OutputCompareResult";
  return entry;
}

/// What the peer knows of a result; a bare verdict where it knows nothing.
Json peer_entry(const FunctionResult& result) {
  if (!result.compared) return result.passed;
  if (result.function == CompareFunction::Simple) return simple_entry(result);
  const CompareFunctionInfo& info = compare_function_info(result.function);
  if (info.peer_class.empty()) return result.passed;
  // Its verdict follows from its figure: one that left something out has to be none.
  return Json{
      {std::string(info.peer_key), result.not_finite > 0 ? kNan : result.value},
      {"thresholds", Json{{"threshold", result.threshold}, {kClass, fmt::format("{}Threshold", info.peer_class)}}},
      {kClass, fmt::format("{}Result", info.peer_class)}};
}

Json our_entry(const FunctionResult& result) {
  Json entry{{"passed", result.passed}, {"compared", result.compared}};
  if (result.function != CompareFunction::Simple) {
    entry["value"] = result.value;
    entry["threshold"] = result.threshold;
  }
  if (result.not_finite > 0) entry["not_finite"] = result.not_finite;
  if (!result.left_out.empty()) entry["left_out"] = result.left_out;
  if (!result.reason.empty()) entry["reason"] = result.reason;
  return entry;
}

template <class Entry>
Json iterations_json(const AccuracyRecord::Row& row, std::size_t function, const Entry& entry) {
  Json iterations = Json::array();
  for (const IterationComparison& iteration : row.iterations) {
    Json outputs = Json::object();
    for (const OutputComparison& output : iteration.outputs) {
      if (function < output.results.size()) outputs[output.output] = entry(output.results[function]);
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
        for (std::size_t i = functions.size(); i < output.results.size(); ++i) {
          functions.push_back(output.results[i].function);
        }
      }
    }
  }
  return functions;
}

// ---- reading

/// A place in the file, for messages.
class Place {
 public:
  Place(const std::string& name, std::string where) : name_(name), where_(std::move(where)) {}
  Place in(const std::string& what) const { return {name_, where_.empty() ? what : where_ + ", " + what}; }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::Input, fmt::format("{}: {}{}{}", printable(name_), where_, where_.empty() ? "" : ": ", what),
                "accuracy results are written by --save-accuracy-results");
  }

  const Json& member(const Json& object, const char* key) const {
    if (!object.is_object() || !object.contains(key)) fail(fmt::format("no '{}'", key));
    return object[key];
  }
  const Json& list(const Json& object, const char* key) const {
    const Json& value = member(object, key);
    if (!value.is_array()) fail(fmt::format("'{}' is no list", key));
    return value;
  }
  std::string text(const Json& value, const char* what) const {
    if (!value.is_string()) fail(fmt::format("{} is no text", what));
    return value.get<std::string>();
  }
  double number(const Json& object, const char* key) const {
    const std::optional<double> value = python_number(member(object, key));
    if (!value) fail(fmt::format("'{}' is no number", key));
    return *value;
  }
  std::optional<double> number_or_null(const Json& object, const char* key) const {
    if (member(object, key).is_null()) return std::nullopt;
    return number(object, key);
  }

 private:
  const std::string& name_;
  std::string where_;
};

FunctionResult read_simple(const Json& entry, const Place& place) {
  FunctionResult result;
  result.absolute_figures = {place.number(entry, "max_absdiff"), place.number(entry, "mean_absdiff"),
                             place.number(entry, "median_absdiff"), place.number_or_null(entry, "quantile_absdiff")};
  result.relative_figures = {place.number(entry, "max_reldiff"), place.number(entry, "mean_reldiff"),
                             place.number(entry, "median_reldiff"), place.number_or_null(entry, "quantile_reldiff")};
  const Json& thresholds = place.member(entry, "thresholds");
  try {
    result.stat = parse_error_stat(place.text(place.member(thresholds, "check_error_stat"), "check_error_stat"));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Usage) throw;
    place.fail(error.what());
  }
  result.atol = place.number(thresholds, "atol");
  result.rtol = place.number(thresholds, "rtol");
  if (result.stat != ErrorStat::Elemwise) {
    judge(result);
    return result;
  }
  const Json& passed = place.member(entry, "passed");
  if (!passed.is_boolean()) place.fail("an elemwise result without its verdict");
  result.passed = passed.get<bool>();
  if (!result.passed) {
    result.reason =
        fmt::format("recorded as failed: errors up to {:.5g}, atol {}, and relatively up to {:.5g}, rtol {}",
                    result.absolute_figures.max, result.atol, result.relative_figures.max, result.rtol);
  }
  return result;
}

FunctionResult read_figure(const CompareFunctionInfo& info, const Json& entry, const Place& place) {
  FunctionResult result;
  result.function = info.function;
  result.threshold = place.number(place.member(entry, "thresholds"), "threshold");
  const std::optional<double> value = place.number_or_null(entry, info.peer_key.data());
  if (!value) {
    result.compared = false;
    result.reason = "there was no figure";
    return result;
  }
  result.value = *value;
  judge(result);
  return result;
}

FunctionResult read_verdict(CompareFunction function, bool passed) {
  FunctionResult result;
  result.function = function;
  result.compared = false;
  result.passed = passed;
  if (!passed) result.reason = "recorded as failed, without figures";
  return result;
}

FunctionResult read_peer(CompareFunction function, const Json& entry, const Place& place) {
  if (entry.is_boolean()) return read_verdict(function, entry.get<bool>());
  if (function == CompareFunction::Simple) return read_simple(entry, place);
  return read_figure(compare_function_info(function), entry, place);
}

void read_ours(const Json& entry, FunctionResult& result) {
  if (!entry.is_object()) return;
  const auto text = [&entry](const char* key) {
    return entry.contains(key) && entry[key].is_string() ? entry[key].get<std::string>() : std::string();
  };
  result.reason = result.passed ? "" : text("reason");
  result.left_out = text("left_out");
  if (entry.contains("not_finite") && entry["not_finite"].is_number_integer()) {
    result.not_finite = entry["not_finite"].get<std::int64_t>();
  }
  if (result.function == CompareFunction::Simple) return;
  if (entry.contains("compared") && entry["compared"].is_boolean()) result.compared = entry["compared"].get<bool>();
  const auto number = [&entry](const char* key) {
    return entry.contains(key) ? python_number(entry[key]) : std::nullopt;
  };
  result.value = number("value").value_or(result.value);
  result.threshold = number("threshold").value_or(result.threshold);
}

std::optional<CompareFunction> function_of_class(const std::string& name) {
  if (name == "OutputCompareResult") return CompareFunction::Simple;
  for (const CompareFunctionInfo& info : compare_function_infos()) {
    if (!info.peer_class.empty() && name == fmt::format("{}Result", info.peer_class)) return info.function;
  }
  return std::nullopt;
}

/// The function behind one AccuracyResult: from its entries; where they are all bare verdicts, from our own key; else
/// indices, the one that the peer writes so.
CompareFunction function_of(const Json& result, const Json* ours, std::size_t index, const Place& place) {
  for (const Json& pair : place.list(result, "lst")) {
    if (!pair.is_array() || pair.size() != 2 || !pair[1].is_array())
      place.fail("a pair of runs without its iterations");
    for (const Json& iteration : pair[1]) {
      if (!iteration.is_object()) place.fail("an iteration without outputs");
      for (const Json& entry : iteration) {
        if (entry.is_boolean()) continue;
        const std::string name = place.text(place.member(entry, kClass), kClass);
        if (const std::optional<CompareFunction> function = function_of_class(name)) return *function;
        place.fail(fmt::format("'{}' is not known here", printable(name)));
      }
    }
  }
  if (ours != nullptr && ours->contains("functions") && (*ours)["functions"].is_array() &&
      index < (*ours)["functions"].size() && (*ours)["functions"][index].is_string()) {
    try {
      return parse_compare_function((*ours)["functions"][index].get<std::string>()).front();
    } catch (const Error& error) {
      place.fail(error.what());
    }
  }
  return CompareFunction::Indices;
}

/// ours["results"][function][row][iteration][output]; null where there is none.
Json our_result(const Json* ours, std::size_t function, std::size_t row, std::size_t iteration,
                const std::string& output) {
  if (ours == nullptr || !ours->contains("results")) return {};
  const Json* at = &(*ours)["results"];
  for (const std::size_t index : {function, row, iteration}) {
    if (!at->is_array() || index >= at->size()) return {};
    at = &(*at)[index];
  }
  return at->is_object() && at->contains(output) ? (*at)[output] : Json();
}

OutputComparison& output_named(IterationComparison& iteration, const std::string& name) {
  for (OutputComparison& output : iteration.outputs) {
    if (output.output == name) return output;
  }
  OutputComparison& added = iteration.outputs.emplace_back();
  added.output = added.reference = name;
  added.passed = true;
  return added;
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
  Json results = Json::array();
  Json names = Json::array();
  Json ours = Json::array();
  for (std::size_t function = 0; function < functions.size(); ++function) {
    Json pairs = Json::array();
    Json our_pairs = Json::array();
    for (const Row& row : rows_) {
      pairs.push_back(Json::array({Json::array({row.run, row.reference}), iterations_json(row, function, peer_entry)}));
      our_pairs.push_back(iterations_json(row, function, our_entry));
    }
    results.push_back(Json{
        {"lst", std::move(pairs)}, {"aggregation", average ? "average" : "per_sample"}, {kClass, "AccuracyResult"}});
    names.push_back(compare_function_name(functions[function]));
    ours.push_back(std::move(our_pairs));
  }
  Json root{{"lst", std::move(results)}};
  root[kOurs] = Json{{"version", kVersion}, {"functions", std::move(names)}, {"results", std::move(ours)}};
  root[kClass] = "AccuracyResults";
  return python_json(root);
}

AccuracyRecord AccuracyRecord::from_json(const std::string& text, const std::string& name) {
  const Place top(name, "");
  const Json root = parse_python_json(text, name);
  if (!root.is_object() || !root.contains(kClass) || root[kClass] != "AccuracyResults") {
    top.fail("no accuracy results");
  }
  const Json* ours = root.contains(kOurs) && root[kOurs].is_object() ? &root[kOurs] : nullptr;
  AccuracyRecord record;
  const Json& results = top.list(root, "lst");
  for (std::size_t f = 0; f < results.size(); ++f) {
    const Place in_function = top.in(fmt::format("comparison {}", f));
    const CompareFunction function = function_of(results[f], ours, f, in_function);
    record.check_average_ =
        record.check_average_ || (results[f].contains("aggregation") && results[f]["aggregation"] == "average");
    const Json& pairs = results[f]["lst"];
    for (std::size_t r = 0; r < pairs.size(); ++r) {
      const Json& runs = pairs[r][0];
      if (!runs.is_array() || runs.size() != 2) in_function.fail("a pair of runs without two names");
      const std::string run = in_function.text(runs[0], "the name of a run");
      const std::string reference = in_function.text(runs[1], "the name of a run");
      const auto same = [&](const Row& row) { return row.run == run && row.reference == reference; };
      auto row = std::find_if(record.rows_.begin(), record.rows_.end(), same);
      if (row == record.rows_.end()) row = record.rows_.insert(record.rows_.end(), Row{run, reference, {}});
      const Json& iterations = pairs[r][1];
      for (std::size_t i = 0; i < iterations.size(); ++i) {
        if (i == row->iterations.size()) {
          row->iterations.emplace_back().iteration = i;
          row->iterations.back().passed = true;
        }
        IterationComparison& iteration = row->iterations[i];
        for (const auto& [output_name, entry] : iterations[i].items()) {
          const Place place = in_function.in(fmt::format("iteration {}, output '{}'", i, printable(output_name)));
          FunctionResult result = read_peer(function, entry, place);
          read_ours(our_result(ours, f, r, i, output_name), result);
          OutputComparison& output = output_named(iteration, output_name);
          output.passed = output.passed && result.passed;
          iteration.passed = iteration.passed && result.passed;
          output.results.push_back(std::move(result));
        }
      }
    }
  }
  // As when it was compared: nothing is no pass.
  for (Row& row : record.rows_) {
    for (IterationComparison& iteration : row.iterations)
      iteration.passed = iteration.passed && !iteration.outputs.empty();
  }
  return record;
}

}  // namespace vernier
