#include "jobs/debug/unsaturated_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>

#include "analysis/run_tensors.h"
#include "base/text.h"
#include "model/graph_edit.h"
#include "plan/constant_codes.h"
#include "plan/normalized_file.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

struct Unsaturated {
  const onnx::NodeProto* node = nullptr;
  float largest = 0;  // that its grid holds
  float seen = 0;     // of the values, in magnitude
};

/// Of the float8 type of a zero point; 0: another type.
float largest_float8(const onnx::GraphProto& graph, const std::string& zero_point) {
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    if (tensor.name() != zero_point) continue;
    switch (tensor.data_type()) {
      case onnx::TensorProto::FLOAT8E4M3FN:
        return 448;
      case onnx::TensorProto::FLOAT8E4M3FNUZ:
        return 240;
      case onnx::TensorProto::FLOAT8E5M2:
      case onnx::TensorProto::FLOAT8E5M2FNUZ:
        return 57344;
      default:
        return 0;
    }
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
    const float largest = node.input_size() > 2 ? largest_float8(graph, node.input(2)) : 0;
    const auto scale = initializer(given, node.input(1));
    if (largest == 0 || !scale || !known.contains(node.input(0))) continue;
    const std::vector<float> scales = scales_of(*scale);
    if (scales.empty()) continue;
    pairs.push_back({&node, largest * std::ranges::max(scales), 0});
    if (std::ranges::find(tensors, node.input(0)) == tensors.end()) tensors.push_back(node.input(0));
  }
  if (pairs.empty()) return {};
  run_tensors(subject, simulated, tensors, all_samples(subject), [&](std::size_t, const std::vector<Tensor>& got) {
    for (Unsaturated& pair : pairs) {
      const auto place = std::ranges::find(tensors, pair.node->input(0)) - tensors.begin();
      for (const float value : got[static_cast<std::size_t>(place)].floats()) {
        if (std::isfinite(value)) pair.seen = std::max(pair.seen, std::abs(value));
      }
    }
    return true;
  });
  std::vector<FoundDefect> defects;
  for (const Unsaturated& pair : pairs) {
    if (!(pair.seen > pair.largest)) continue;
    defects.push_back({"overflowing-pair", pair.node->name(),
                       fmt::format("'{}' reaches {:.4g}, its range ends at {:.4g}, and with saturate=0 values beyond "
                                   "become NaN or infinite",
                                   printable(pair.node->input(0)), pair.seen, pair.largest),
                       "remove saturate=0, and calibrate again with samples that reach the largest values"});
  }
  return defects;
}

}  // namespace vernier
