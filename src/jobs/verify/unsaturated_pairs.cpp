#include "jobs/verify/unsaturated_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run_tensors.h"
#include "base/format_definition.h"
#include "base/text.h"
#include "model/graph_edit.h"
#include "numerics/grid.h"
#include "numerics/tensor_grid.h"
#include "plan/constant_codes.h"
#include "plan/normalized_file.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

struct Unsaturated {
  const onnx::NodeProto* node = nullptr;
  float limit = 0;  // of a scale of 1: from here on values become NaN or infinite
  std::vector<float> scales;
  int axis = 1;
  float beyond = 0, end = 0;  // the largest value beyond its limit, and that limit
};

/// Where values overflow in the float8 format of a zero point, half a step behind its largest; 0: another type.
float limit_of_float8(const Model& file, const std::string& zero_point) {
  const auto zero = initializer(file, zero_point);
  for (const Format format : {Format::Float8E4M3FN, Format::Float8E5M2}) {
    if (zero && zero->dtype() == definition_of(format).stored) return float_grid(format)->limit;
  }
  return 0;
}

}  // namespace

std::vector<FoundDefect> find_overflowing_pairs(const Subject& subject, const Model& given, const Model& simulated) {
  const onnx::GraphProto& graph = given.proto.graph();
  std::set<std::string> known;
  for (const onnx::NodeProto& node : simulated.proto.graph().node()) {
    known.insert(node.output().begin(), node.output().end());
  }
  for (const onnx::ValueInfoProto& input : simulated.proto.graph().input()) known.insert(input.name());
  std::vector<Unsaturated> pairs;
  std::vector<std::string> tensors;
  for (const onnx::NodeProto& node : graph.node()) {
    if (!is_quantization(node, "QuantizeLinear") || attribute_int(node, "saturate", 1) != 0) continue;
    const float limit = node.input_size() > 2 ? limit_of_float8(given, node.input(2)) : 0;
    const auto scale = initializer(given, node.input(1));
    if (limit == 0 || !scale || !known.contains(node.input(0))) continue;
    std::vector<float> scales = scales_of(*scale);
    if (scales.empty()) continue;
    pairs.push_back({&node, limit, std::move(scales), static_cast<int>(attribute_int(node, "axis", 1)), 0, 0});
    if (std::ranges::find(tensors, node.input(0)) == tensors.end()) tensors.push_back(node.input(0));
  }
  if (pairs.empty()) return {};
  run_tensors(subject, simulated, tensors, all_samples(subject), [&](std::size_t, const std::vector<Tensor>& got) {
    for (Unsaturated& pair : pairs) {
      const auto place = std::ranges::find(tensors, pair.node->input(0)) - tensors.begin();
      const Tensor& tensor = got[static_cast<std::size_t>(place)];
      const int rank = static_cast<int>(tensor.shape().size());
      const int axis = pair.axis < 0 ? pair.axis + rank : pair.axis;
      if (pair.scales.size() > 1 && (axis < 0 || axis >= rank)) continue;
      const AxisGeometry along =
          pair.scales.size() > 1 ? geometry_along(tensor.shape(), axis) : AxisGeometry{1, tensor.count()};
      if (pair.scales.size() > 1 && !std::cmp_equal(along.channels, pair.scales.size())) continue;
      for (std::size_t i = 0; i < tensor.floats().size(); ++i) {
        const float value = std::abs(tensor.floats()[i]);
        const std::size_t channel =
            i / static_cast<std::size_t>(along.inner) % static_cast<std::size_t>(along.channels);
        const float end = pair.limit * pair.scales[channel];
        if (std::isfinite(value) && value > end && value > pair.beyond) pair.beyond = value, pair.end = end;
      }
    }
    return true;
  });
  std::vector<FoundDefect> defects;
  for (const Unsaturated& pair : pairs) {
    if (!(pair.beyond > 0)) continue;
    defects.push_back({"overflowing-pair", pair.node->name(),
                       fmt::format("'{}' reaches {:.4g}, but its range ends at {:.4g}, and with saturate=0 values "
                                   "beyond become NaN or infinite",
                                   printable(pair.node->input(0)), pair.beyond, pair.end),
                       "remove saturate=0, and calibrate again with samples that reach the largest values"});
  }
  return defects;
}

}  // namespace vernier
