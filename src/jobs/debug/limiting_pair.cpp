#include "jobs/debug/limiting_pair.h"

#include <algorithm>
#include <cmath>

#include "analysis/quantizer_loss.h"
#include "vernier/format.h"

namespace vernier {
namespace {

bool differs_from_others(const SimulatedFile& file, const QuantizedTensor& pair) {
  return std::ranges::any_of(file.quantized, [&](const QuantizedTensor& other) {
    return other.tensor == pair.tensor && other.params.scale.size() == 1 && !other.quantizer.empty() &&
           ends_of(other.params) != ends_of(pair.params);
  });
}

}  // namespace

const QuantizedTensor* pair_with_limits(const SimulatedFile& file, const Makers& made_by, const onnx::NodeProto& source,
                                        const std::vector<const onnx::NodeProto*>& nodes) {
  for (const onnx::NodeProto* node : nodes) {
    for (const QuantizedTensor& pair : file.quantized) {
      if (pair.quantizer.empty() || pair.output != node->output(0) || pair.params.scale.size() != 1) continue;
      const auto made = made_by.find(pair.tensor);
      if (made == made_by.end() || made->second->op_type() != source.op_type()) continue;
      const auto [least, most] = ends_of(pair.params);
      const bool meant = std::abs(least + most) > 2 * pair.params.scale.front() || differs_from_others(file, pair);
      if (is_integer(pair.params.format) && meant) return &pair;
    }
  }
  return nullptr;
}

}  // namespace vernier
