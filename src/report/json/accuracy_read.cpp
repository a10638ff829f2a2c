// Accuracy results, whoever of us wrote them.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "json/python_json.h"
#include "options/compare_function.h"
#include "report/json/accuracy_json.h"
#include "vernier/accuracy_record.h"
#include "vernier/comparison.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

using accuracy_json::kClass;
using accuracy_json::kOurs;

/// A place in the file, for messages.
class AccuracyPlace {
 public:
  AccuracyPlace(const std::string& name, std::string where) : name_(name), where_(std::move(where)) {}
  AccuracyPlace in(const std::string& what) const { return {name_, where_.empty() ? what : where_ + ", " + what}; }
  std::string words() const { return printable(name_) + (where_.empty() ? "" : ": " + where_); }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::SampleFile, fmt::format("{}: {}", words(), what),
                "accuracy results are written by ‹save-accuracy-results›");
  }

  const Json& member(const Json& object, std::string_view key) const {
    const Json* const value = object.find(key);
    if (value == nullptr) fail(fmt::format("no '{}'", key));
    return *value;
  }
  const Json::Array& list(const Json& object, const char* key) const {
    const Json& value = member(object, key);
    if (!value.is_array()) fail(fmt::format("'{}' is not a list", key));
    return value.items();
  }
  std::string text(const Json& value, const char* what) const {
    if (!value.is_text()) fail(fmt::format("{} is not a text", what));
    return value.text();
  }
  template <class T>
  T read(const Json& json) const {
    const std::string where = words();
    T value;
    read_json(json, Place(where), value);
    return value;
  }

 private:
  const std::string& name_;
  std::string where_;
};

FunctionResult read_simple(const Json& json, const AccuracyPlace& place) {
  const auto entry = place.read<accuracy_json::SimpleEntry>(json);
  FunctionResult result;
  result.absolute_figures = {entry.max_absolute, entry.mean_absolute, entry.median_absolute, entry.quantile_absolute};
  result.relative_figures = {entry.max_relative, entry.mean_relative, entry.median_relative, entry.quantile_relative};
  try {
    result.stat = parse_error_stat(entry.thresholds.check_error_stat);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Usage) throw;
    place.fail(error.what());
  }
  result.atol = entry.thresholds.atol;
  result.rtol = entry.thresholds.rtol;
  if (result.stat != ErrorStat::Elemwise) {
    judge(result);
    return result;
  }
  if (!entry.passed) place.fail("an elemwise result without its verdict");
  result.passed = *entry.passed;
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
  result.threshold = place.read<accuracy_json::FigureThreshold>(place.member(entry, "thresholds")).threshold;
  const Json& figure = place.member(entry, info.peer_key);
  if (figure.is_null()) {
    result.compared = false;
    result.reason = "there was no figure";
    return result;
  }
  result.value = place.read<double>(figure);
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
  if (entry.is_boolean()) return read_verdict(function, entry.boolean());
  if (function == CompareFunction::Simple) return read_simple(entry, place);
  return read_figure(compare_function_info(function), entry, place);
}

void read_ours(const Json& json, const AccuracyPlace& place, FunctionResult& result) {
  if (!json.is_object()) return;
  const auto entry = place.read<accuracy_json::OurEntry>(json);
  result.reason = result.passed ? "" : entry.reason.value_or("");
  result.left_out = entry.left_out.value_or("");
  result.not_finite = entry.not_finite.value_or(result.not_finite);
  if (result.function == CompareFunction::Simple) return;
  result.compared = entry.compared;
  result.value = entry.value.value_or(result.value);
  result.threshold = entry.threshold.value_or(result.threshold);
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
  const auto is_pair = [](const Json& json) { return json.is_array() && json.size() == 2; };
  if (!is_pair(pair) || !pair.at(1).is_array()) place.fail("a pair of runs without its iterations");
  if (!is_pair(pair.at(0))) place.fail("a pair of runs without two names");
  for (const Json& iteration : pair.at(1).items()) {
    if (!iteration.is_object()) place.fail("an iteration without outputs");
  }
}

/// The function behind one AccuracyResult: from its entries; where they are all bare verdicts, from our own key; else
/// indices, the one that the peer writes so.
CompareFunction function_of(const Json::Array& pairs, const Json* ours, std::size_t index, const AccuracyPlace& place) {
  for (const Json& pair : pairs) {
    for (const Json& iteration : pair.at(1).items()) {
      for (const auto& [output, entry] : iteration.members()) {
        if (entry.is_boolean()) continue;
        const std::string name = place.text(place.member(entry, kClass), kClass);
        if (const std::optional<CompareFunction> function = function_of_class(name)) return *function;
        place.fail(fmt::format("'{}' is not known to this version", printable(name)));
      }
    }
  }
  const Json* const functions = ours == nullptr ? nullptr : ours->find("functions");
  if (functions != nullptr && functions->is_array() && index < functions->size() && functions->at(index).is_text()) {
    try {
      const std::string& name = functions->at(index).text();
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
  const Json* at = ours == nullptr ? nullptr : ours->find("results");
  if (at == nullptr) return {};
  for (const std::size_t index : {function, row, iteration}) {
    if (!at->is_array() || index >= at->size()) return {};
    at = &at->at(index);
  }
  const Json* const found = at->find(output);
  return found == nullptr ? Json() : *found;
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
  const Json* const written = root.find(kClass);
  if (written == nullptr || *written != "AccuracyResults") top.fail("no accuracy results");
  const Json* const ours = root.find(kOurs);
  AccuracyRecord record;
  const Json::Array& results = top.list(root, "lst");
  for (std::size_t f = 0; f < results.size(); ++f) {
    const AccuracyPlace in_function = top.in(fmt::format("comparison {}", f));
    const Json::Array& pairs = in_function.list(results[f], "lst");
    for (const Json& pair : pairs) require_pair(pair, in_function);
    const CompareFunction function = function_of(pairs, ours, f, in_function);
    const Json* const aggregation = results[f].find("aggregation");
    record.check_average_ = record.check_average_ || (aggregation != nullptr && *aggregation == "average");
    for (std::size_t r = 0; r < pairs.size(); ++r) {
      const Json& runs = pairs[r].at(0);
      const std::string run = in_function.text(runs.at(0), "the name of a run");
      const std::string reference = in_function.text(runs.at(1), "the name of a run");
      const auto same = [&](const Row& row) { return row.run == run && row.reference == reference; };
      auto row = std::find_if(record.rows_.begin(), record.rows_.end(), same);
      if (row == record.rows_.end()) row = record.rows_.insert(record.rows_.end(), Row{run, reference, {}});
      const Json::Array& iterations = pairs[r].at(1).items();
      for (std::size_t i = 0; i < iterations.size(); ++i) {
        if (i == row->iterations.size()) {
          row->iterations.emplace_back().iteration = i;
          row->iterations.back().passed = true;
        }
        IterationComparison& iteration = row->iterations[i];
        std::size_t hint = 0;
        for (const auto& [output_name, entry] : iterations[i].members()) {
          const AccuracyPlace place =
              in_function.in(fmt::format("iteration {}, output '{}'", i, printable(output_name)));
          FunctionResult result = read_peer(function, entry, place);
          read_ours(our_result(ours, f, r, i, output_name), place, result);
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
