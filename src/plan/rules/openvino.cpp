// OpenVINO's low precision transformations: rules of its documentation, documented, not run; but for
// signed-behind-concat, which was seen with OpenVINO 2026.4 (docs/truth.md).
#include <fmt/format.h>

#include <array>

#include "core/text.h"
#include "plan/rules/rules.h"

namespace vernier {
namespace {

using Node = onnx::NodeProto;
using Findings = std::vector<PlacementFinding>;

void one_input_in_float(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (!has_weight(node)) return;
  const auto inputs = graph.inputs(node, 2);
  const bool data = node.input_size() > 0 && graph.dequantizer(node.input(0)) != nullptr;
  if (inputs.plain.empty() || !data) return;
  findings.push_back({{},
                      {},
                      fmt::format("its input '{}' is not quantized: it runs in float", printable(inputs.plain.front())),
                      "put a pair in front of every input"});
}

/// Inputs of Concat and Add must lie on equal intervals for codes to pass.
void unequal_intervals(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (node.op_type() != "Concat") return;
  std::optional<QuantParams> first;
  for (const std::string& input : node.input()) {
    const Node* dequantizer = graph.dequantizer(input);
    const auto params = dequantizer == nullptr ? std::nullopt : graph.params(*dequantizer);
    if (!params) return;
    if (first && (params->scale != first->scale || params->zero_point != first->zero_point)) {
      findings.push_back({{},
                          {},
                          "its inputs lie on different intervals: they are requantized in front of it",
                          "give all its inputs one scale and zero point"});
      return;
    }
    first = params;
  }
}

/// It moves the quantizer in front of the Concat, and the values that come out are others: 17 dB where a file with
/// unsigned codes in the same place gives 133 dB.
void signed_behind_concat(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (node.op_type() != "Concat") return;
  for (const Node* reader : graph.readers(node.output(0))) {
    if (!QdqGraph::quantizes(*reader) || graph.codes_type(*reader) != Dtype::Int8) continue;
    findings.push_back(
        {{},
         {},
         fmt::format("its result '{}' is quantized to signed codes, which come out wrong", printable(node.output(0))),
         "quantize it to uint8, as --target openvino does"});
    return;
  }
}

void sixteen_bits(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (!QdqGraph::quantizes(node)) return;
  const Dtype type = graph.codes_type(node);
  if (type != Dtype::Int16 && type != Dtype::UInt16) return;
  findings.push_back(
      {{}, {}, fmt::format("codes are {}: kernels take 8 bits", dtype_name(type)), "quantize to 8 bits"});
}

constexpr std::array kRules = {
    PlacementRule{"one-input-in-float", one_input_in_float},
    PlacementRule{"unequal-intervals", unequal_intervals},
    PlacementRule{"signed-behind-concat", signed_behind_concat},
    PlacementRule{"sixteen-bits", sixteen_bits},
};

}  // namespace

std::span<const PlacementRule> openvino_rules() { return kRules; }

}  // namespace vernier
