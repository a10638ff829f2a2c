// `vernier inspect sparsity`: which weights are 2:4 sparse, and which could be.

#include <filesystem>

#include "model/sparsity.h"
#include "vernier/inspect.h"
#include "vernier/tensor.h"

namespace vernier {

SparsityReport inspect_sparsity(const OnnxModel& source, const std::filesystem::path& external_data_dir) {
  const Model model = read_model(source, external_data_dir);
  SparsityReport report;
  report.file = source.name();
  for (const SummedWeight& weight : summed_weights(model)) {
    const Tensor value = *initializer(model, weight.name);
    const auto why = not_prunable(value, weight.axis);
    report.weights.push_back({weight.name, weight.node, value.shape(),
                              /*sparse=*/!why && is_2_of_4_sparse(value, weight.axis), why.value_or("")});
  }
  return report;
}

}  // namespace vernier
