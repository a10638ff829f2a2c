#include "jobs/verify/second_findings.h"

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "analysis/match_layers.h"
#include "model/operator_traits.h"
#include "plan/normalized_file.h"

namespace vernier {
namespace {

using Kinds = std::set<std::string_view>;

/// The dequantizer of each node of a pair: itself, its quantizer, and limits of quantized values between them.
std::map<std::string, std::string> dequantizers_of(const Model& file) {
  const Makers made_by = makers_in(file);
  std::map<std::string, std::string> found;
  for (const onnx::NodeProto& node : file.proto.graph().node()) {
    if (!is_quantization(node, "DequantizeLinear")) continue;
    found[node.name()] = node.name();
    for (auto made = made_by.find(node.input(0)); made != made_by.end(); made = made_by.find(made->second->input(0))) {
      found[made->second->name()] = node.name();
      if (!is_onnx(*made->second, "Clip")) break;
    }
  }
  return found;
}

}  // namespace

void drop_second_findings(std::vector<FoundDefect>& defects, const Model& file) {
  static const Kinds kOfPairs{"wrong-axis", "other-scale"};
  static const Kinds kOfValues{"other-values", "weight-scale", "wrong-codes"};
  static const Kinds kLosses{"lost-layer", "lost-pair", "starved-channels"};
  const std::map<std::string, std::string> pairs = dequantizers_of(file);
  const auto pair_of = [&](const FoundDefect& defect) {
    const auto pair = pairs.find(defect.node);
    return pair == pairs.end() ? defect.node : pair->second;
  };
  std::set<std::string> wrong_pairs, wrong_values;
  for (const FoundDefect& defect : defects) {
    if (kOfPairs.contains(defect.kind)) wrong_pairs.insert(pair_of(defect));
    if (kOfValues.contains(defect.kind)) wrong_values.insert(pair_of(defect));
  }
  std::erase_if(defects, [&](const FoundDefect& defect) {
    const std::string pair = pair_of(defect);
    const bool loss = kLosses.contains(defect.kind);
    if (loss && wrong_values.contains(pair)) return true;
    return (loss || kOfValues.contains(defect.kind) || defect.kind == "other-operator") && wrong_pairs.contains(pair);
  });
}

}  // namespace vernier
