// `vernier inspect data`: what is in a file of saved inputs or results.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "comparator/statistics.h"
#include "io/array_text.h"
#include "io/saved_data.h"
#include "vernier/comparison.h"
#include "vernier/data_files.h"
#include "vernier/runs.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

InspectedArray inspect(const NamedTensor& array, const InspectDataOptions& options) {
  const Tensor& tensor = array.tensor;
  InspectedArray seen;
  seen.name = array.name;
  seen.dtype = tensor.dtype();
  seen.shape = tensor.shape();
  if (options.histogram && tensor.dtype() != Dtype::Bool) {
    Summary summary = summary_of(tensor);
    seen.stats = summary.stats;
    seen.histogram = std::move(summary.histogram);
  } else {
    seen.stats = stats_of(tensor);
  }
  if (options.show_values) seen.values = array_text(tensor, {options.edge_items, options.line_width});
  return seen;
}

DataInspection::Kind kind_of(SavedData::Kind kind) {
  if (kind == SavedData::Kind::Results) return DataInspection::Kind::Results;
  return kind == SavedData::Kind::Inputs ? DataInspection::Kind::Inputs : DataInspection::Kind::Arrays;
}

}  // namespace

DataInspection inspect_data(const InspectDataOptions& options) {
  const SavedData data = open_saved_data(options.path);
  DataInspection report;
  report.file = options.path.string();
  report.kind = kind_of(data.kind);
  report.all = options.all;
  for (const auto& run : data.runs) {
    InspectedRun& seen = report.runs.emplace_back();
    seen.name = run->name();
    seen.iterations = run->size();
    for (std::size_t i = 0; i < (options.all ? run->size() : std::min<std::size_t>(run->size(), 1)); ++i) {
      std::vector<InspectedArray>& arrays = seen.shown.emplace_back();
      for (const NamedTensor& array : run->at(i).outputs) arrays.push_back(inspect(array, options));
    }
  }
  return report;
}

}  // namespace vernier
