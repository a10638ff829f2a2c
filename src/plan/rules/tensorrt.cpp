// TensorRT, explicit quantization: rules of its documentation, not run, and beside each what TensorRT-RTX, another
// product, was seen to compile.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/output_channels.h"
#include "plan/engine_limits.h"
#include "plan/rules/rules.h"
#include "plan/target.h"
#include "vernier/report/check_placement.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Node = onnx::NodeProto;
using Findings = std::vector<PlacementFinding>;

bool is_pair_node(const Node& node) { return QdqGraph::quantizes(node) || QdqGraph::dequantizes(node); }

void zero_point(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (!is_pair_node(node)) return;
  const auto params = graph.params(node);
  if (!params || params->zero_point.empty()) return;  // empty: all zero
  findings.push_back({{},
                      {},
                      fmt::format("its zero point is {}, but only 0 is supported", params->zero_point.front()),
                      "use symmetric ranges (‹vernier quantize --symmetric›)"});
}

void code_type(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (!is_pair_node(node)) return;
  const Dtype type = graph.codes_type(node);
  const bool taken =
      type == Dtype::Int8 || type == Dtype::Float8E4M3FN || type == Dtype::Int4 || type == Dtype::Float4E2M1;
  const bool refused = type == Dtype::Float8E5M2 || type == Dtype::UInt4;  // tensorrt_refusals() has them
  if (taken || refused || type == Dtype::Undefined) return;
  findings.push_back(
      {{},
       {},
       fmt::format("the type is {}, but the engine supports int8, int4, float8e4m3fn and float4e2m1", dtype_name(type)),
       type == Dtype::Int32 ? "keep the bias in float" : "quantize to INT8"});
}

void activation_along_axis(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (!QdqGraph::quantizes(node) || graph.constant(node.input(0))) return;
  const auto scale = node.input_size() > 1 ? graph.value(node.input(1)) : std::nullopt;
  if (!scale || scale->count() < 2) return;
  findings.push_back({{},
                      {},
                      fmt::format("an activation has {} scales, but only one is supported", scale->count()),
                      "give each activation one scale"});
}

void weight_along_other_axis(const QdqGraph& graph, const Node& node, Findings& findings) {
  const Node* weight = has_weight(node) && node.input_size() > 1 ? graph.dequantizer(node.input(1)) : nullptr;
  if (weight == nullptr) return;
  const auto params = graph.params(*weight);
  const auto codes = graph.value(weight->input(0));
  if (!params || params->scale.size() < 2 || params->block > 0 || !codes) return;
  const int wanted = weight_axis(node, codes->shape());
  if (params->axis == wanted) return;
  findings.push_back(
      {{},
       {},
       fmt::format("the scales of its weight run along axis {}, but output channels along {}", params->axis, wanted),
       fmt::format("axis {}", wanted)});
}

void one_input_in_float_for_tensorrt(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (!has_weight(node)) return;
  const auto inputs = graph.inputs(node, 2);
  const bool weight_alone = node.input_size() > 1 && graph.dequantizer(node.input(1)) != nullptr &&
                            graph.of_constant(*graph.dequantizer(node.input(1))) && inputs.dequantized == 1;
  if (inputs.dequantized == 0 || inputs.plain.empty() || weight_alone) return;
  findings.push_back(
      {{},
       {},
       fmt::format("its input '{}' is not quantized, so it runs in high precision", printable(inputs.plain.front())),
       "add a pair before every input of a weighted operator"});
}

/// The other input of the Add comes from a weighted operator with nothing between: the Add becomes part of that one,
/// and the pair stands on its skip branch.
bool other_is_fused(const QdqGraph& graph, const Node& add, const std::string& input) {
  return std::ranges::any_of(add.input(), [&](const std::string& other) {
    const Node* made = other == input ? nullptr : graph.maker(other);
    return made != nullptr && has_weight(*made) && graph.readers(other).size() == 1;
  });
}

/// Conv -> Q -> DQ -> `op`: the pair keeps the operator from becoming part of the convolution.
void pair_in_an_epilogue(const QdqGraph& graph, const Node& node, Findings& findings) {
  const bool epilogue = node.op_type() == "Relu" || node.op_type() == "BatchNormalization" || node.op_type() == "Add";
  if (!epilogue) return;
  for (const std::string& input : node.input()) {
    const Node* dequantizer = graph.dequantizer(input);
    const Node* quantizer = dequantizer == nullptr ? nullptr : graph.maker(dequantizer->input(0));
    const Node* source = quantizer == nullptr ? nullptr : graph.maker(quantizer->input(0));
    if (source == nullptr || !has_weight(*source)) continue;
    if (node.op_type() == "Add" && other_is_fused(graph, node, input)) return;
    if (graph.readers(quantizer->input(0)).size() != 1 || graph.readers(input).size() != 1) continue;
    findings.push_back(
        {{},
         {},
         fmt::format("a pair between '{}' ({}) and it prevents one kernel for both", printable(source->name()),
                     source->op_type()),
         fmt::format("remove '{}' and '{}'", printable(quantizer->name()), printable(dequantizer->name()))});
    return;
  }
}

/// Add of a convolution's result and a float skip branch, quantized behind: the output type follows the skip branch.
void skip_branch_in_float(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (node.op_type() != "Add" || node.output_size() == 0) return;
  const std::string* result = &node.output(0);
  const auto& readers = graph.readers(*result);
  if (readers.size() == 1 && readers.front()->op_type() == "Relu") result = &readers.front()->output(0);
  const auto& behind = graph.readers(*result);
  if (std::ranges::none_of(behind, [](const Node* r) { return QdqGraph::quantizes(*r); })) return;
  const auto quantized_conv = [&](const std::string& tensor) {
    const Node* made = graph.maker(tensor);
    return made != nullptr && has_weight(*made) && graph.inputs(*made, 1).dequantized == 1;
  };
  for (int i = 0; i < node.input_size() && i < 2; ++i) {
    const std::string& skip = node.input(1 - i);
    if (node.input_size() < 2 || !quantized_conv(node.input(i)) || graph.constant(skip)) continue;
    if (graph.dequantizer(skip) != nullptr) return;
    findings.push_back({{},
                        {},
                        fmt::format("its other input '{}' is float, so the convolution before it writes float and the "
                                    "quantizer after it is a separate kernel",
                                    printable(skip)),
                        "add a pair on the skip branch, and none between the convolution and it (‹vernier quantize "
                        "--quantize-residuals›)"});
    return;
  }
}

void unequal_concat(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (node.op_type() != "Concat") return;
  std::optional<QuantParams> first;
  for (const std::string& input : node.input()) {
    const Node* dequantizer = graph.dequantizer(input);
    const auto params = dequantizer == nullptr ? std::nullopt : graph.params(*dequantizer);
    if (!params) return;
    if (first && params->scale != first->scale) {
      findings.push_back({{},
                          {},
                          fmt::format("its inputs have scales {:g} and {:g}, so quantized values cannot pass through",
                                      first->scale.front(), params->scale.front()),
                          "give all its inputs one scale"});
      return;
    }
    first = params;
  }
}

void mixed_formats(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (!QdqGraph::quantizes(node) || graph.codes_type(node) != Dtype::Float8E4M3FN) return;
  for (const Node& other : graph.graph().node()) {
    if (!QdqGraph::quantizes(other) || graph.codes_type(other) != Dtype::Int8) continue;
    findings.push_back(
        {{},
         {},
         fmt::format("it computes FP8 values, but '{}' computes INT8 values: a network can have only one of them",
                     printable(other.name())),
         "use one 8-bit format for the whole network"});
    return;
  }
}

void lost_upper_limit(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (lost_limit(graph, node) != LostLimit::Upper) return;
  PlacementFinding finding;
  finding.why =
      "its upper limit is lost, because one kernel fuses the convolution before it, the limit, and the cast to float32 "
      "after it";
  finding.change = "use a Relu and a Min instead, as ‹vernier convert› does";
  finding.computes_otherwise = true;
  findings.push_back(std::move(finding));
}

void absent_limit(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (const LostLimit lost = lost_limit(graph, node); lost != LostLimit::Absent && lost != LostLimit::Both) return;
  PlacementFinding finding;
  finding.why = "only one of its two limits is given, in bfloat16, and the other is taken as 0";
  finding.change = "use a Max or a Min instead, as ‹vernier convert› does";
  finding.computes_otherwise = true;
  findings.push_back(std::move(finding));
}

void half_steps(const QdqGraph& graph, const Node& node, Findings& findings) {
  const std::string_view why = steps_in_half(node);
  if (why.empty() || node.output_size() == 0) return;
  const Dtype type = graph.type(node.output(0));
  if (type != Dtype::Float16 && type != Dtype::BFloat16) return;
  PlacementFinding finding;
  finding.why = std::string(why);
  finding.change = "compute the operator in float32, between two Casts, as ‹vernier convert› does";
  finding.computes_otherwise = true;
  findings.push_back(std::move(finding));
}

constexpr std::array kTensorrtRules = {
    PlacementRule{"zero-point", zero_point, "refused"},
    PlacementRule{"code-type", code_type, "int32 is refused; uint8 with zero point 0 is accepted, as int8"},
    PlacementRule{"activation-along-axis", activation_along_axis, "the next layer runs in float32"},
    PlacementRule{"weight-axis", weight_along_other_axis, "the layer runs in float32"},
    PlacementRule{"one-input-in-float", one_input_in_float_for_tensorrt, "the layer runs in float32"},
    PlacementRule{"pair-in-an-epilogue", pair_in_an_epilogue, "as many kernels as without the pair",
                  /*costs_nothing=*/true},
    PlacementRule{"skip-branch-in-float", skip_branch_in_float, "as many kernels as with a pair in this place",
                  /*costs_nothing=*/true},
    PlacementRule{"unequal-concat", unequal_concat, "as many kernels as with one scale", /*costs_nothing=*/true},
    PlacementRule{"int8-and-float8", mixed_formats, "accepted: one engine has kernels of both formats",
                  /*costs_nothing=*/true},
    PlacementRule{"lost-upper-limit", lost_upper_limit,
                  "run with 1.6.1: values above the limit; 1.7.1 compiles the same kernel"},
    PlacementRule{"absent-limit", absent_limit,
                  "run with 1.6.1: all zeros without an upper limit, no negative values without a lower"},
    PlacementRule{"half-steps", half_steps, "run with 1.6.1: infinities or zeros, unlike in float32"},
};

}  // namespace

std::span<const PlacementRule> tensorrt_rules() { return kTensorrtRules; }

}  // namespace vernier
