#include "console/option_values.h"

#include <span>
#include <sstream>
#include <string_view>

#include "options/rows.h"
#include "table/entries.h"
#include "vernier/report/data_diff.h"
#include "vernier/report/reduce.h"
#include "vernier/search_options.h"

namespace vernier::cli {
namespace {

template <class Enum>
std::vector<std::string> words() {
  const std::span<const std::string_view> all = words_of(Enum{});
  return {all.begin(), all.end()};
}

const std::vector<std::string> kFunctions{
    "simple", "indices", "l2",  "cosine_similarity", "psnr",           "snr", "mse",
    "sqnr",   "kl",      "ulp", "distance_metrics",  "quality_metrics"};

/// Of the table's row of that name; nullptr: there is none.
const table::Entry* row_of(const std::string& name) {
  for (const table::Entry& entry : table::entries()) {
    std::istringstream names(OptionNames(entry.words.names).names);
    for (std::string each; std::getline(names, each, ',');) {
      if (each == name) return &entry;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> words_of_option(const std::string& command, const std::string& name) {
  if (name == "--mode") {  // other commands have others
    if (command == "vernier debug reduce") return words<ReduceMode>();
    return command == "vernier debug precision" ? words<SearchMode>() : std::vector<std::string>{};
  }
  if (name == "--method") return words_of_option(command, "--calibration-method");
  if (name == "--check-sim") return words_of_option(command, "--low");
  if (name == "--compare" || name == "--compare-func") return kFunctions;
  if (name == "--check-error-stat") return {"elemwise", "max", "mean", "median", "quantile"};
  if (name == "--metric" && command == "vernier data diff") return words<DiffMetric>();
  if (name == "--convert-to" && command == "vernier convert") return {"onnx", "trt"};
  if (name == "--show" && command == "vernier inspect model") return {"layers", "attrs", "weights", "formats"};
  if (name == "--format" && command == "vernier data diff") return {"table", "json", "csv"};
  if (name == "--until") return {"good", "bad"};
  const table::Entry* row = row_of(name);
  return row ? row->choices : std::vector<std::string>{};
}

}  // namespace vernier::cli
