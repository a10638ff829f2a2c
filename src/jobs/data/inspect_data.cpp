// `vernier inspect data`: what is in a file of saved inputs or results, in the layout that users of the peer know.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "comparator/statistics.h"
#include "io/array_text.h"
#include "io/saved_data.h"
#include "report/text/stats_text.h"
#include "vernier/comparison.h"
#include "vernier/data_files.h"
#include "vernier/runs.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr std::size_t kStep = 4;

std::string indented(const std::string& text, std::size_t indent) {
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    made += std::string(indent, ' ') + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return made;
}

std::string array_lines(const NamedTensor& array, const InspectDataOptions& options, std::size_t indent) {
  const Tensor& tensor = array.tensor;
  const bool truth = tensor.dtype() == Dtype::Bool;
  const Summary summary = options.histogram && !truth ? summary_of(tensor) : Summary{stats_of(tensor), {}};
  std::string text =
      fmt::format("{:{}}{} [dtype={}, shape={}] | Stats: {}\n", "", indent,
                  array.name.empty() ? "(the only input)" : printable(array.name), dtype_name(tensor.dtype()),
                  tuple_text(tensor.shape()), stats_to_text(summary.stats, tensor.shape(), /*percentiles=*/!truth));
  if (summary.histogram) text += indented(histogram_to_text(*summary.histogram), indent + kStep);
  if (options.show_values) {
    text += indented(array_text(tensor, {options.edge_items, options.line_width}), indent + kStep);
  }
  return text;
}

std::string run_lines(const Run& run, const InspectDataOptions& options) {
  if (run.size() == 0) return "\nno iterations\n";
  const bool several = options.all && run.size() > 1;
  std::string text;
  for (std::size_t i = 0; i < (options.all ? run.size() : 1); ++i) {
    text += several ? fmt::format("\n-- Iteration: {}\n", i) : "\n";
    const Iteration iteration = run.at(i);
    if (iteration.outputs.empty()) text += "no arrays\n";
    for (const NamedTensor& array : iteration.outputs) text += array_lines(array, options, several ? kStep : 0);
  }
  return text;
}

using Json = nlohmann::ordered_json;

Json array_json(const NamedTensor& array) {
  const Tensor& tensor = array.tensor;
  const ValueStats stats = stats_of(tensor);
  return {{"name", array.name},      {"dtype", dtype_name(tensor.dtype())},
          {"shape", tensor.shape()}, {"values", stats.count},
          {"nan", stats.nan},        {"infinite", stats.positive_infinite + stats.negative_infinite},
          {"min", stats.min},        {"max", stats.max},
          {"mean", stats.mean},      {"standard_deviation", stats.standard_deviation},
          {"median", stats.median}};
}

std::string to_json(const SavedData& data, const InspectDataOptions& options) {
  constexpr std::array kKinds{"results", "inputs", "arrays", "arrays"};
  Json runs = Json::array();
  for (const auto& run : data.runs) {
    Json iterations = Json::array();
    for (std::size_t i = 0; i < (options.all ? run->size() : std::min<std::size_t>(run->size(), 1)); ++i) {
      Json arrays = Json::array();
      for (const NamedTensor& array : run->at(i).outputs) arrays.push_back(array_json(array));
      iterations.push_back(std::move(arrays));
    }
    runs.push_back({{"name", run->name()}, {"iterations", run->size()}, {"shown", std::move(iterations)}});
  }
  const Json root{{"version", 1},
                  {"file", options.path.string()},
                  {"kind", kKinds.at(static_cast<std::size_t>(data.kind))},
                  {"runs", std::move(runs)}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string inspect_data(const InspectDataOptions& options) {
  const SavedData data = open_saved_data(options.path);
  if (options.json) return to_json(data, options);
  if (data.kind != SavedData::Kind::Results) {
    const bool inputs = data.kind == SavedData::Kind::Inputs;
    std::string text = inputs ? fmt::format("==== Data ({} iterations) ====\n", data.runs.front()->size())
                              : std::string("==== Arrays ====\n");
    return text + run_lines(*data.runs.front(), options);
  }
  std::string text = fmt::format("==== Run Results ({} runners) ====\n", data.runs.size());
  std::size_t width = 0;
  for (const auto& run : data.runs) width = std::max(width, printable(run->name()).size());
  for (const auto& run : data.runs) {
    text += fmt::format("\n---- {:<{}} ({} iterations) ----\n", printable(run->name()), width, run->size());
    text += run_lines(*run, options);
  }
  return text;
}

}  // namespace vernier
