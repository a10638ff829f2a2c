// Accuracy results, whoever of us wrote them.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "json/python_json.h"
#include "options/compare_function.h"
#include "report/json/accuracy_json.h"
#include "vernier/accuracy_record.h"
#include "vernier/comparison.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

using accuracy_json::kClass;
using accuracy_json::kOurs;

/// A place in the file, for messages.
class AccuracyPlace {
 public:
  AccuracyPlace(const std::string& name, std::string where) : name_(name), where_(std::move(where)) {}
  AccuracyPlace in(const std::string& what) const { return {name_, where_.empty() ? what : where_ + ", " + what}; }
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

FunctionResult read_simple(const Json& entry, const AccuracyPlace& place) {
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

FunctionResult read_figure(const CompareFunctionInfo& info, const Json& entry, const AccuracyPlace& place) {
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

FunctionResult read_peer(CompareFunction function, const Json& entry, const AccuracyPlace& place) {
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

/// Errors: Input unless it is [[run, reference], [{output: entry, ...}, ...]].
void require_pair(const Json& pair, const AccuracyPlace& place) {
  if (!pair.is_array() || pair.size() != 2 || !pair[1].is_array()) place.fail("a pair of runs without its iterations");
  if (!pair[0].is_array() || pair[0].size() != 2) place.fail("a pair of runs without two names");
  for (const Json& iteration : pair[1]) {
    if (!iteration.is_object()) place.fail("an iteration without outputs");
  }
}

/// The function behind one AccuracyResult: from its entries; where they are all bare verdicts, from our own key; else
/// indices, the one that the peer writes so.
CompareFunction function_of(const Json& pairs, const Json* ours, std::size_t index, const AccuracyPlace& place) {
  for (const Json& pair : pairs) {
    for (const Json& iteration : pair[1]) {
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
      const std::string name = (*ours)["functions"][index];
      if (name == compare_function_name(CompareFunction::Script)) return CompareFunction::Script;
      return parse_compare_function(name).front();
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

/// Found at `hint` in files where every function has the same outputs.
OutputComparison& output_named(IterationComparison& iteration, const std::string& name, std::size_t hint) {
  if (hint < iteration.outputs.size() && iteration.outputs[hint].output == name) return iteration.outputs[hint];
  for (OutputComparison& output : iteration.outputs) {
    if (output.output == name) return output;
  }
  OutputComparison& added = iteration.outputs.emplace_back();
  added.output = added.reference = name;
  added.passed = true;
  return added;
}

}  // namespace

AccuracyRecord AccuracyRecord::from_json(const std::string& text, const std::string& name) {
  const AccuracyPlace top(name, "");
  const Json root = parse_python_json(text, name);
  if (!root.is_object() || !root.contains(kClass) || root[kClass] != "AccuracyResults") {
    top.fail("no accuracy results");
  }
  const Json* ours = root.contains(kOurs) && root[kOurs].is_object() ? &root[kOurs] : nullptr;
  AccuracyRecord record;
  const Json& results = top.list(root, "lst");
  for (std::size_t f = 0; f < results.size(); ++f) {
    const AccuracyPlace in_function = top.in(fmt::format("comparison {}", f));
    const Json& pairs = in_function.list(results[f], "lst");
    for (const Json& pair : pairs) require_pair(pair, in_function);
    const CompareFunction function = function_of(pairs, ours, f, in_function);
    record.check_average_ =
        record.check_average_ || (results[f].contains("aggregation") && results[f]["aggregation"] == "average");
    for (std::size_t r = 0; r < pairs.size(); ++r) {
      const Json& runs = pairs[r][0];
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
        std::size_t hint = 0;
        for (const auto& [output_name, entry] : iterations[i].items()) {
          const AccuracyPlace place =
              in_function.in(fmt::format("iteration {}, output '{}'", i, printable(output_name)));
          FunctionResult result = read_peer(function, entry, place);
          read_ours(our_result(ours, f, r, i, output_name), result);
          OutputComparison& output = output_named(iteration, output_name, hint++);
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
