#include "plan/rules/openvino_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "model/model.h"
#include "model/openvino_reader.h"
#include "model/operator_traits.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Node = onnx::NodeProto;

bool is_matrix_product(const Node& node) { return is_onnx(node, "Gemm") || is_onnx(node, "MatMul"); }

bool is_one_of(const Node& node, std::span<const std::string_view> operators) {
  return std::ranges::any_of(operators, [&](std::string_view name) { return is_onnx(node, name); });
}

/// What the kernel of two products has between them: operators of one value and a constant.
bool taken_between_products(const QdqGraph& graph, const Node& node, const std::string& tensor) {
  constexpr std::array<std::string_view, 15> kTaken = {"Add",   "Clip",    "Div", "Flatten", "Identity",
                                                       "Max",   "Min",     "Mul", "Neg",     "Relu",
                                                       "Round", "Reshape", "Sub", "Squeeze", "Unsqueeze"};
  return is_one_of(node, kTaken) && std::ranges::all_of(node.input(), [&](const std::string& input) {
           const Node* const dequantizer = graph.dequantizer(input);
           return input.empty() || input == tensor || graph.constant(input) ||
                  (dequantizer != nullptr && graph.of_constant(*dequantizer));
         });
}

/// A constant with one value for all channels is as good as none.
bool differs_by_channel(const QdqGraph& graph, const std::string& constant) {
  const std::optional<Tensor> value = graph.value(constant);
  if (!value) return graph.dequantizer(constant) != nullptr;
  if (value->dtype() != Dtype::Float32) return true;
  return std::ranges::adjacent_find(value->floats(), std::not_equal_to()) != value->floats().end();
}

/// A quantized product of a result of up to 8 rows and a matrix of up to 256 rows and columns: these were measured.
bool small_quantized_product(const QdqGraph& graph, const Node& node) {
  if (!is_matrix_product(node) || node.input_size() < 2) return false;
  if (graph.dequantizer(node.input(0)) == nullptr || graph.dequantizer(node.input(1)) == nullptr) return false;
  const Shape result = graph.shape(node.output(0));
  const Shape weight = graph.shape(node.input(1));
  return result.size() == 2 && result[0] >= 1 && result[0] <= kMostRowsInOneKernel &&
         std::ranges::all_of(weight, [](std::int64_t size) { return size >= 1 && size <= kMostColumnsInOneKernel; });
}

/// What lies behind a product and in front of the quantizer of the next one.
struct BetweenProducts {
  std::vector<const Node*> nodes;
  std::vector<bool> by_channel;  // the node has a constant that differs by channel
};

/// Nullopt: no kernel of two products.
std::optional<BetweenProducts> between_products(const QdqGraph& graph, std::string tensor) {
  BetweenProducts between;
  while (true) {
    if (graph.readers(tensor).size() != 1 || graph.is_output(tensor)) return std::nullopt;
    const Node& node = *graph.readers(tensor).front();
    if (QdqGraph::quantizes(node)) break;
    if (!taken_between_products(graph, node, tensor)) return std::nullopt;
    if (!has(node, Trait::Moves)) {
      between.nodes.push_back(&node);
      const bool pairs = node.input_size() == 2 && !is_onnx(node, "Clip");
      between.by_channel.push_back(pairs && differs_by_channel(graph, node.input(node.input(0) == tensor ? 1 : 0)));
    }
    tensor = node.output(0);
  }
  for (const Node* dequantizer : graph.readers(graph.only_quantizer(tensor)->output(0))) {
    for (const Node* reader : graph.readers(dequantizer->output(0))) {
      const bool follows = is_matrix_product(*reader) && reader->input(0) == dequantizer->output(0);
      if (follows && attribute_int(*reader, "transA", 0) == 0) return between;
    }
  }
  return std::nullopt;
}

/// Of data, not of a weight.
bool product_of_data(const QdqGraph& graph, const Node& node) {
  if (!is_onnx(node, "MatMul") && !is_onnx(node, "Einsum")) return false;
  return std::ranges::none_of(node.input(), [&](const std::string& input) {
    const Node* const dequantizer = graph.dequantizer(input);
    return graph.constant(input) || (dequantizer != nullptr && graph.of_constant(*dequantizer));
  });
}

/// The product of data that the first input of another one was made of: in attention, that of queries and keys.
const Node* product_in_front(const QdqGraph& graph, const Node& node) {
  std::set<std::string> seen;
  std::vector<std::string> open{node.input(0)};
  while (!open.empty()) {
    const std::string tensor = open.back();
    open.pop_back();
    const Node* const maker = graph.maker(tensor);
    if (maker == nullptr || !seen.insert(tensor).second) continue;
    if (product_of_data(graph, *maker)) return maker;
    // An Unsqueeze in front, as ‹target› openvino writes it, ends what its kernel takes.
    const bool passes =
        (has(*maker, Traits(Trait::Elementwise) | Trait::Moves | Trait::Quantizes) && !is_onnx(*maker, "Unsqueeze")) ||
        is_onnx(*maker, "Softmax") || maker->op_type().starts_with("Reduce");
    if (passes) open.insert(open.end(), maker->input().begin(), maker->input().end());
  }
  return nullptr;
}

}  // namespace

void computes_otherwise(std::vector<PlacementFinding>& findings, std::string why, std::string change) {
  PlacementFinding finding{{}, {}, std::move(why), std::move(change)};
  finding.computes_otherwise = true;
  findings.push_back(std::move(finding));
}

void scale_behind_product(const QdqGraph& graph, const Node& node, std::vector<PlacementFinding>& findings) {
  if (!small_quantized_product(graph, node)) return;
  const std::optional<BetweenProducts> between = between_products(graph, node.output(0));
  if (!between) return;
  constexpr std::array<std::string_view, 3> kFactors = {"Div", "Mul", "Neg"};
  const onnx::AttributeProto* alpha = find_attribute(node, "alpha");
  std::string why = alpha != nullptr && alpha->f() != 1.0F ? fmt::format("its alpha is {}", alpha->f()) : "";
  bool biased = node.op_type() == "Gemm" && node.input_size() > 2 && differs_by_channel(graph, node.input(2));
  bool behind_others = false;  // than sums and factors
  for (std::size_t i = 0; i < between->nodes.size() && why.empty(); ++i) {
    const Node& behind = *between->nodes[i];
    const bool by_channel = between->by_channel[i];
    if (!behind_others && is_one_of(behind, kFactors)) {
      why = fmt::format("'{}' scales its result", printable(behind.name()));
    } else if (behind_others && by_channel) {
      why = fmt::format("'{}' has a constant for each channel", printable(behind.name()));
    }
    const bool sums = is_onnx(behind, "Add") || (is_onnx(behind, "Sub") && graph.constant(behind.input(1)));
    biased = biased || (sums && by_channel && !behind_others);
    behind_others = behind_others || !sums;
  }
  if (why.empty() && !biased) why = "the layer has no bias";
  if (why.empty()) return;
  computes_otherwise(
      findings,
      fmt::format("{} and another product follows, which OpenVINO 2026.4 gets wrong with one thread a stream", why),
      "read the data of the next product through a Transpose, with transA=1, as ‹target› openvino does");
}

void heads_taken_for_rows(const QdqGraph& graph, const Node& node, std::vector<PlacementFinding>& findings) {
  const bool attention = is_onnx(node, "Attention");
  if (!attention && !product_of_data(graph, node)) return;
  const Shape shape = graph.shape(node.output(0));
  if (shape.size() != 4 || shape[1] != shape[2] || shape[1] < 2) return;
  const bool in_bfloat16 = graph.type(node.output(0)) == Dtype::BFloat16;
  if (!in_bfloat16) {
    if (attention) return;
    const Node* const scores = product_in_front(graph, node);
    const bool quantized = scores != nullptr && graph.dequantizer(scores->input(0)) != nullptr;
    if (!quantized || graph.codes_type(*graph.dequantizer(scores->input(0))) == Dtype::Float8E4M3FN) return;
  } else if (!attention && product_in_front(graph, node) == nullptr) {
    return;
  }
  computes_otherwise(
      findings,
      fmt::format("it has {} heads and as many rows, which OpenVINO 2026.4 confuses if something is transposed",
                  shape[1]),
      attention ? "keep it in FP32 or FP16"
                : "put an Unsqueeze in front of the product and a Squeeze behind it, as ‹target› openvino does");
}

}  // namespace vernier
