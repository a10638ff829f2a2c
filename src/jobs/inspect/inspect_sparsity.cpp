#include <fmt/format.h>

#include "base/text.h"
#include "model/sparsity.h"
#include "vernier/inspect.h"
#include "vernier/tensor.h"

namespace vernier {

std::string inspect_sparsity(const std::filesystem::path& path) {
  const Model model = read_model(path);
  std::string text;
  std::size_t sparse = 0;
  const std::vector<SummedWeight> weights = summed_weights(model);
  for (const SummedWeight& weight : weights) {
    const Tensor value = *initializer(model, weight.name);
    const auto why = not_prunable(value, weight.axis);
    const bool is_sparse = !why && is_2_of_4_sparse(value, weight.axis);
    if (is_sparse) ++sparse;
    text +=
        fmt::format("  {} [{}] of {}: {}\n", printable(weight.name), shape_text(value.shape()), printable(weight.node),
                    is_sparse ? "2:4 sparse"
                    : why     ? "not possible: " + *why
                              : std::string("not sparse"));
  }
  return fmt::format("{}: {} of {} 2:4 sparse\n", path.string(), sparse, plural(weights.size(), "weight")) + text;
}

}  // namespace vernier
