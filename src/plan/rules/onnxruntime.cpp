// ONNX Runtime's CPU provider, 1.31: what its QDQ transformer fuses into a kernel on codes. Neither a bias in float
// (but of a Gemm that gives float) nor int8 beside uint8 is an obstacle: both are converted on the way (checked).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "model/operator_traits.h"
#include "plan/batched_weights.h"
#include "plan/integer_bias.h"
#include "plan/nbits_products.h"
#include "plan/rules/rules.h"
#include "plan/target.h"
#include "vernier/format.h"
#include "vernier/report/check_placement.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Node = onnx::NodeProto;
using Findings = std::vector<PlacementFinding>;

bool in_table(const Node& node) {
  return scaled_scheme(Target::OnnxRuntime, Format::UInt8).find(node.op_type()) != nullptr;
}

bool quantizes_data(const QdqGraph& graph, const Node& node) {
  return node.input_size() > 0 && graph.dequantizer(node.input(0)) != nullptr &&
         !graph.of_constant(*graph.dequantizer(node.input(0)));
}

/// A Relu or Clip behind, which a QuantizeLinear makes superfluous, belongs to the operator.
const std::string& result_of(const QdqGraph& graph, const Node& node) {
  const auto& readers = graph.readers(node.output(0));
  const bool clipped = readers.size() == 1 && !graph.is_output(node.output(0)) && has(*readers.front(), Trait::Clips);
  return clipped ? readers.front()->output(0) : node.output(0);
}

/// Codes go through it as they are. A Resize that interpolates does so on codes, too.
bool moves_codes(const Node& node) {
  // Movers of values that it moves as floats (checked: tests/diff/test_quantized_files.py).
  static constexpr std::array<std::string_view, 6> kMovedInFloat = {"Compress",        "GatherND",     "GlobalMaxPool",
                                                                    "ReverseSequence", "SpaceToDepth", "TopK"};
  if (is_onnx(node, "Resize")) return true;
  return has(node, Trait::Moves | Trait::Selects) &&
         std::ranges::find(kMovedInFloat, node.op_type()) == kMovedInFloat.end();
}

/// A kernel on codes as the file has it: all that is weighed or summed comes from codes.
bool runs_on_codes(const QdqGraph& graph, const Node& node) {
  if (!in_table(node) && !moves_codes(node) && !has(node, Trait::Joins)) return false;
  if (!quantizes_data(graph, node)) return false;
  return !has_weight(node) || (node.input_size() > 1 && graph.dequantizer(node.input(1)) != nullptr);
}

/// Of a tensor: what makes it, in front of a Relu or Clip, runs on codes.
bool made_on_codes(const QdqGraph& graph, const std::string& tensor) {
  const Node* maker = graph.maker(tensor);
  if (maker != nullptr && has(*maker, Trait::Clips)) maker = graph.maker(maker->input(0));
  return maker != nullptr && runs_on_codes(graph, *maker);
}

/// Whether a node other than `node` reads the codes that `quantizer` makes, and runs on them.
bool read_on_codes(const QdqGraph& graph, const Node& quantizer, const Node& node) {
  for (const Node* dequantizer : graph.readers(quantizer.output(0))) {
    if (!QdqGraph::dequantizes(*dequantizer)) continue;
    for (const Node* reader : graph.readers(dequantizer->output(0))) {
      if (reader != &node && runs_on_codes(graph, *reader)) return true;
    }
  }
  return false;
}

/// Whether what lies around a node in float runs on codes and needs the pairs: the file is then as good as the target
/// allows. An input in float is made in float, so that a pair in front of it would only move the work.
bool pairs_of_neighbours(const QdqGraph& graph, const Node& node) {
  for (const std::string& input : node.input()) {
    if (input.empty() || graph.constant(input)) continue;
    const Node* const dequantizer = graph.dequantizer(input);
    const Node* const maker = graph.maker(dequantizer == nullptr ? input : dequantizer->input(0));
    if (maker == nullptr) return false;
    if (dequantizer == nullptr) {
      if (made_on_codes(graph, input)) return false;
    } else if (!graph.of_constant(*dequantizer) && QdqGraph::quantizes(*maker) &&
               !made_on_codes(graph, maker->input(0)) && !read_on_codes(graph, *maker, node)) {
      return false;
    }
  }
  const auto& readers = graph.readers(result_of(graph, node));
  return std::ranges::all_of(readers, [&](const Node* reader) {
    return !QdqGraph::quantizes(*reader) || read_on_codes(graph, *reader, node);
  });
}

constexpr const char* kNeighbours = "none needed: its neighbours need the pairs";

bool gives_codes(const QdqGraph& graph, const Node& node) {
  if (node.output_size() == 0 || QdqGraph::quantizes(node) || QdqGraph::dequantizes(node)) return false;
  return std::ranges::any_of(graph.readers(node.output(0)), [](const Node* r) { return QdqGraph::quantizes(*r); });
}

/// Its data come from codes and its result goes to codes: someone meant it to run on codes.
bool meant_for_codes(const QdqGraph& graph, const Node& node) {
  return gives_codes(graph, node) && quantizes_data(graph, node);
}

void without_quantizer_behind(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (node.op_type() != "Conv" || !quantizes_data(graph, node)) return;
  if (node.input_size() < 2 || graph.dequantizer(node.input(1)) == nullptr) return;
  const std::string& result = result_of(graph, node);
  if (graph.only_quantizer(result) != nullptr) return;
  const bool shared = std::ranges::any_of(graph.readers(result), [](const Node* r) { return QdqGraph::quantizes(*r); });
  findings.push_back(
      {{},
       {},
       shared ? fmt::format("'{}' is quantized, but a float layer or an output also needs it", printable(result))
              : fmt::format("its result '{}' is not quantized, but the kernel returns only quantized values",
                            printable(result)),
       shared ? "let every reader read the one QuantizeLinear" : "add a QuantizeLinear and DequantizeLinear after it"});
}

void one_input_in_float_for_onnxruntime(const QdqGraph& graph, const Node& node, Findings& findings) {
  const bool two = node.op_type() == "Add" || node.op_type() == "Mul";
  if (!has_weight(node) && !two && node.op_type() != "Concat") return;
  const auto inputs = graph.inputs(node, node.op_type() == "Concat" ? node.input_size() : 2);
  if (inputs.dequantized == 0 || inputs.plain.empty()) return;
  const bool weight_alone = has_weight(node) && !quantizes_data(graph, node);
  if (weight_alone || (!has_weight(node) && !gives_codes(graph, node))) return;
  const std::string why =
      fmt::format("its input '{}' is not quantized, but another one is", printable(inputs.plain.front()));
  if (pairs_of_neighbours(graph, node)) {
    findings.push_back({{}, {}, why + ": it runs in float between layers that run on quantized values", kNeighbours});
    findings.back().costs_nothing = true;
    return;
  }
  findings.push_back({{}, {}, why, "add a pair before that input, or leave the others in float too"});
}

/// Biases are made integers only where codes come out.
void float_bias(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (node.op_type() != "Gemm" || node.input_size() < 3 || node.input(2).empty()) return;
  if (!quantizes_data(graph, node) || graph.dequantizer(node.input(1)) == nullptr) return;
  if (graph.dequantizer(node.input(2)) != nullptr) return;
  if (std::ranges::any_of(graph.readers(result_of(graph, node)),
                          [](const Node* r) { return QdqGraph::quantizes(*r); })) {
    return;
  }
  findings.push_back(
      {{},
       {},
       fmt::format("its bias '{}' is float and its result is not quantized", printable(node.input(2))),
       "store the bias as int32 with the product of the scales of data and weight, or add a pair after it"});
}

/// A kernel adds the codes of a bias to its sums as they are.
void bias_of_another_scale(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (!has_weight(node) || node.input_size() < 3 || node.input(2).empty() || !quantizes_data(graph, node)) return;
  const Node* weight = graph.dequantizer(node.input(1));
  const Node* bias = graph.dequantizer(node.input(2));
  const auto given = bias == nullptr ? std::nullopt : graph.value(bias->input(1));
  const auto data_params = graph.params(*graph.dequantizer(node.input(0)));
  const auto weight_params = weight == nullptr ? std::nullopt : graph.params(*weight);
  if (!given || given->dtype() != Dtype::Float32 || !data_params || !weight_params) return;
  const std::optional<OtherBiasScale> other =
      other_bias_scale(node, data_params->scale.front(), weight_params->scale, given->floats());
  if (!other) return;
  findings.push_back(
      {{},
       {},
       fmt::format("the scale of its bias '{}' is {:g} for channel {}, not {}, {:g}", printable(node.input(2)),
                   other->given, other->channel, bias_scale_words(node), other->wanted),
       fmt::format("make the scale of the int32 bias {}, or store the bias in float", bias_scale_words(node))});
}

void sixteen_bits_for_onnxruntime(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (!meant_for_codes(graph, node)) return;
  const Dtype type = graph.codes_type(*graph.dequantizer(node.input(0)));
  if (type != Dtype::Int16 && type != Dtype::UInt16) return;
  findings.push_back({{},
                      {},
                      fmt::format("its data are {}, but the CPU provider has only 8-bit kernels", dtype_name(type)),
                      "quantize it to 8 bits, or leave it in float"});
}

void along_an_axis(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (!QdqGraph::quantizes(node) || graph.constant(node.input(0))) return;
  const auto scale = node.input_size() > 1 ? graph.value(node.input(1)) : std::nullopt;
  if (!scale || scale->count() < 2) return;
  findings.push_back({{},
                      {},
                      fmt::format("an activation has {} scales, but kernels support one", scale->count()),
                      "give each activation one scale"});
}

void moved_to_another_grid(const QdqGraph& graph, const Node& node, Findings& findings) {
  if (!moves_codes(node) || !meant_for_codes(graph, node)) return;
  const Node* quantizer = graph.only_quantizer(node.output(0));
  const auto before = graph.params(*graph.dequantizer(node.input(0)));
  const auto after = quantizer == nullptr ? std::nullopt : graph.params(*quantizer);
  if (!before || !after || *before == *after) return;
  findings.push_back({{},
                      {},
                      fmt::format("it moves quantized values from scale {:g} to scale {:g}", before->scale.front(),
                                  after->scale.front()),
                      "use the same scale and zero point on both sides, so that values move unchanged"});
}

void no_kernel(const QdqGraph& graph, const Node& node, Findings& findings) {
  // A Relu or Clip is part of what is in front of it or behind; the place of the largest code is that of the largest
  // value.
  const bool passes = moves_codes(node) || has(node, Trait::Joins | Trait::Clips) || is_onnx(node, "ArgMax");
  if (in_table(node) || passes || !meant_for_codes(graph, node)) return;
  const bool needed = pairs_of_neighbours(graph, node);
  findings.push_back({{},
                      {},
                      fmt::format("{} has no integer kernel, so its data are dequantized and quantized again",
                                  printable(node.op_type())),
                      needed ? kNeighbours : "remove the pairs around it, or accept that it runs in float"});
  findings.back().costs_nothing = needed;
}

void batched_weight_refused(const QdqGraph& graph, const Node& node, Findings& findings) {
  const std::string why = refused_batched_weight(graph, node);
  if (why.empty()) return;
  findings.push_back(
      {{},
       {},
       "the file loads, but its first run fails: " + why,
       "use one scale for the weight; or scales along its last axis, no zero points, and no QuantizeLinear after it"});
}

void expanded_weight(const QdqGraph& graph, const Node& node, Findings& findings) {
  const std::string why = why_weight_expands(graph, node);
  if (why.empty()) return;
  findings.push_back({{},
                      {},
                      "its 4-bit weight is dequantized in every run, because " + why,
                      "store the weight in a MatMulNBits (com.microsoft), as ‹vernier quantize› does if it can, or "
                      "leave the layer in float"});
}

constexpr std::array kOnnxRuntimeRules = {
    PlacementRule{"no-quantizer-behind", without_quantizer_behind},
    PlacementRule{"one-input-in-float", one_input_in_float_for_onnxruntime},
    PlacementRule{"float-bias", float_bias},
    PlacementRule{"bias-scale", bias_of_another_scale},
    PlacementRule{"sixteen-bits", sixteen_bits_for_onnxruntime},
    PlacementRule{"activation-along-axis", along_an_axis},
    PlacementRule{"moved-to-another-grid", moved_to_another_grid},
    PlacementRule{"no-kernel-on-codes", no_kernel},
    PlacementRule{kExpandedWeight, expanded_weight},
    PlacementRule{kRefusedToRun, batched_weight_refused},
};

}  // namespace

std::span<const PlacementRule> onnxruntime_rules() { return kOnnxRuntimeRules; }

}  // namespace vernier
