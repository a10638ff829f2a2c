// OpenVINO's low precision transformations: rules of its documentation, documented, not run. Those that compute
// otherwise and signed-behind-concat, one-bias-for-all were seen with OpenVINO 2026.4 (docs/records/truth-openvino.md).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"
#include "model/model.h"
#include "model/operator_traits.h"
#include "plan/rules/openvino_kernels.h"
#include "plan/rules/openvino_reader_rules.h"
#include "plan/rules/rules.h"
#include "vernier/report/check_placement.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Node = onnx::NodeProto;
using Findings = std::vector<PlacementFinding>;

void one_input_in_float_for_openvino(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (!has_weight(node)) return;
  const auto inputs = graph.inputs(node, 2);
  const bool data = node.input_size() > 0 && graph.dequantizer(node.input(0)) != nullptr;
  if (inputs.plain.empty() || !data) return;
  findings.push_back(
      {{},
       {},
       fmt::format("its input '{}' is not quantized, so it runs in float", printable(inputs.plain.front())),
       "add a pair before every input"});
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
                          "its inputs have different scales, so they are quantized again before it",
                          "give all its inputs one scale and zero point"});
      return;
    }
    first = params;
  }
}

/// It moves the quantizer in front of the Concat. Where kernels take unsigned codes only (CPUs without AMX), the scale
/// is lost there: whole numbers come out, 12 dB where a file with unsigned codes in the same place gives 132 dB.
void signed_behind_concat(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (node.op_type() != "Concat") return;
  for (const Node* reader : graph.readers(node.output(0))) {
    if (!QdqGraph::quantizes(*reader) || graph.codes_type(*reader) != Dtype::Int8) continue;
    findings.push_back(
        {{},
         {},
         fmt::format("its result '{}' is quantized to a signed type, which CPUs without AMX return as whole numbers",
                     printable(node.output(0))),
         "quantize it to UINT8, as ‹target› openvino does"});
    return;
  }
}

/// The graph's batch is no number in the file.
bool open_batch(const QdqGraph& graph) {
  return std::ranges::any_of(graph.graph().input(), [](const onnx::ValueInfoProto& input) {
    const auto& shape = input.type().tensor_type().shape();
    return shape.dim_size() > 0 && !shape.dim(0).has_dim_value();
  });
}

/// The Concat that joins a tensor of a computed size, a class token for every image of a batch, with the data.
const Node* concat_of_computed_size(const QdqGraph& graph) {
  for (const Node& node : graph.graph().node()) {
    if (node.op_type() != "Concat") continue;
    for (const std::string& input : node.input()) {
      const Node* made = graph.maker(input);
      if (made != nullptr && made->op_type() == "Add") {
        const bool first = graph.constant(made->input(0));
        made = graph.maker(made->input(first ? 1 : 0));
      }
      if (made != nullptr && made->op_type() == "ConstantOfShape" && !graph.constant(made->input(0))) return &node;
    }
  }
  return nullptr;
}

/// It reads the batch size from the first convolution's result in front of its bias, which is then taken into the
/// quantizer behind it, and only the first channel's is kept.
void one_bias_for_all(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (node.op_type() != "Conv" || node.input_size() < 3 || node.input(2).empty()) return;
  if (graph.only_quantizer(node.output(0)) == nullptr || !open_batch(graph)) return;
  const auto& nodes = graph.graph().node();
  if (&node != &*std::ranges::find(nodes, "Conv", &Node::op_type)) return;
  const Node* concat = concat_of_computed_size(graph);
  if (concat == nullptr) return;
  findings.push_back(
      {{},
       {},
       fmt::format("every channel gets the bias of the first, because '{}' joins a tensor as large as a dynamic batch",
                   printable(concat->name())),
       "fix the batch in the file, or store that tensor as a constant"});
}

void sixteen_bits_for_openvino(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (!QdqGraph::quantizes(node)) return;
  const Dtype type = graph.codes_type(node);
  if (type != Dtype::Int16 && type != Dtype::UInt16) return;
  findings.push_back(
      {{}, {}, fmt::format("the type is {}, but kernels need 8 bits", dtype_name(type)), "quantize to 8 bits"});
}

/// On CPUs with VNNI it quantizes the data of such products to INT8 in groups while it runs; measured with 2026.4: 3.7
/// dB for 40.6, and 40.6 where DYNAMIC_QUANTIZATION_GROUP_SIZE is 0. Pairs of 16 bits in front are dropped.
void rounds_at_run_time(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (!is_onnx(node, "MatMul") && !is_onnx(node, "Gemm")) return;
  const auto codes = [&](int input) {
    const Node* const dequantizer = node.input_size() > input ? graph.dequantizer(node.input(input)) : nullptr;
    return dequantizer == nullptr ? Dtype::Undefined : graph.codes_type(*dequantizer);
  };
  const Node* const weight = node.input_size() > 1 ? graph.dequantizer(node.input(1)) : nullptr;
  if (weight == nullptr || !graph.of_constant(*weight)) return;
  const bool stored = codes(1) == Dtype::Int8 || codes(1) == Dtype::UInt8 || codes(1) == Dtype::UInt4;
  const bool in_float = codes(0) == Dtype::Undefined || codes(0) == Dtype::Int16 || codes(0) == Dtype::UInt16;
  if (!stored || !in_float) return;
  computes_otherwise(findings, "OpenVINO rounds its data to INT8 in groups at run time, on CPUs with VNNI",
                     "set DYNAMIC_QUANTIZATION_GROUP_SIZE to 0");
}

constexpr std::array kOpenvinoRules = {
    PlacementRule{"one-input-in-float", one_input_in_float_for_openvino},
    PlacementRule{"unequal-intervals", unequal_intervals},
    PlacementRule{"signed-behind-concat", signed_behind_concat},
    PlacementRule{"one-bias-for-all", one_bias_for_all},
    PlacementRule{"scale-behind-product", scale_behind_product},
    PlacementRule{"heads-taken-for-rows", heads_taken_for_rows},
    PlacementRule{"sixteen-bits", sixteen_bits_for_openvino},
    PlacementRule{"read-otherwise", reads_otherwise},
    PlacementRule{"refused-by-reader", refuses_to_read},
    PlacementRule{"rounded-at-run-time", rounds_at_run_time},
};

}  // namespace

std::span<const PlacementRule> openvino_rules() { return kOpenvinoRules; }

}  // namespace vernier
