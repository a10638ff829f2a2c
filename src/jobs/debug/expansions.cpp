#include "jobs/debug/expansions.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>

#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

struct Expansion {
  std::string_view op_type;
  std::array<std::string_view, 6> others{};
};

/// From the function bodies of ONNX, and what exporters write.
constexpr std::array kExpansions{
    Expansion{"BiasGelu", {"Gelu", "Erf", "Tanh", "Pow", "Sigmoid"}},
    Expansion{"Clip", {"Min", "Max", "Relu"}},
    Expansion{"Elu", {"Exp", "Relu", "Min", "Max"}},
    Expansion{"FastGelu", {"Tanh", "Pow", "Sigmoid"}},
    Expansion{"Gelu", {"Erf", "Tanh", "Pow", "Sigmoid"}},
    Expansion{"GlobalAveragePool", {"ReduceMean", "AveragePool"}},
    Expansion{"GroupNormalization", {"InstanceNormalization", "ReduceMean", "Pow", "Sqrt", "Reciprocal"}},
    Expansion{"HardSigmoid", {"Clip", "Relu", "Min", "Max"}},
    Expansion{"HardSwish", {"HardSigmoid", "Clip", "Relu", "Min", "Max"}},
    Expansion{"InstanceNormalization", {"ReduceMean", "Pow", "Sqrt", "Reciprocal"}},
    Expansion{"LayerNormalization", {"ReduceMean", "Pow", "Sqrt", "Reciprocal"}},
    Expansion{"LeakyRelu", {"Relu", "Neg", "Max", "Min", "Abs"}},
    Expansion{"LogSoftmax", {"Softmax", "Log", "Exp", "ReduceSum", "ReduceMax", "ReduceLogSumExp"}},
    Expansion{"LpNormalization", {"ReduceL1", "ReduceL2", "Clip", "Sqrt", "ReduceSum", "Pow"}},
    Expansion{"MeanVarianceNormalization", {"ReduceMean", "Pow", "Sqrt", "Reciprocal"}},
    Expansion{"Mish", {"Softplus", "Tanh", "Exp", "Log"}},
    Expansion{"PRelu", {"Relu", "Neg", "Max", "Min", "Abs"}},
    Expansion{"QuickGelu", {"Sigmoid"}},
    Expansion{"ReduceL2", {"ReduceSumSquare", "ReduceSum", "Pow", "Sqrt"}},
    Expansion{"ReduceMean", {"GlobalAveragePool", "AveragePool"}},
    Expansion{"RMSNormalization", {"ReduceMean", "Pow", "Sqrt", "Reciprocal"}},
    Expansion{"SimplifiedLayerNormalization", {"ReduceMean", "Pow", "Sqrt", "Reciprocal"}},
    Expansion{"Sigmoid", {"Exp", "Neg", "Reciprocal"}},
    Expansion{"SkipLayerNormalization", {"LayerNormalization", "ReduceMean", "Pow", "Sqrt", "Reciprocal"}},
    Expansion{"Softmax", {"Exp", "ReduceSum", "ReduceMax"}},
    Expansion{"Softplus", {"Exp", "Log"}},
    Expansion{"Swish", {"Sigmoid"}},
};

/// Among sums and products.
bool may_be_written_with(const onnx::NodeProto& node, const onnx::NodeProto& other) {
  const auto* const row = std::ranges::find(kExpansions, std::string_view(node.op_type()), &Expansion::op_type);
  return row != kExpansions.end() && std::ranges::find(row->others, other.op_type()) != row->others.end();
}

/// ONNX Runtime's FusedConv holds one activation: the nearest one of the others.
void drop_fused_activations(std::vector<const onnx::NodeProto*>& nodes, std::vector<const onnx::NodeProto*>& others) {
  std::erase_if(nodes, [&](const onnx::NodeProto* node) {
    const onnx::AttributeProto* inside = node->op_type() == "FusedConv" ? find_attribute(*node, "activation") : nullptr;
    if (inside == nullptr) return false;
    const auto other = std::ranges::find(others, inside->s(), &onnx::NodeProto::op_type);
    if (other == others.end()) return false;
    others.erase(other);
    return true;
  });
}

}  // namespace

std::pair<std::vector<const onnx::NodeProto*>, std::vector<const onnx::NodeProto*>> without_expansions(
    std::vector<const onnx::NodeProto*> lost, std::vector<const onnx::NodeProto*> added) {
  drop_fused_activations(added, lost);
  drop_fused_activations(lost, added);
  const auto none_of = [](const std::vector<const onnx::NodeProto*>& others) {
    return [&others](const onnx::NodeProto* node) {
      return std::ranges::none_of(others, [&](const onnx::NodeProto* other) {
        return may_be_written_with(*node, *other) || may_be_written_with(*other, *node);
      });
    };
  };
  std::vector<const onnx::NodeProto*> of_ref, of_low;
  std::ranges::copy_if(lost, std::back_inserter(of_ref), none_of(added));
  std::ranges::copy_if(added, std::back_inserter(of_low), none_of(lost));
  return {of_ref, of_low};
}

bool is_norm(const onnx::NodeProto& node) {
  static constexpr std::array<std::string_view, 5> kNorms = {"GroupNormalization", "InstanceNormalization",
                                                             "LayerNormalization", "RMSNormalization",
                                                             "SimplifiedLayerNormalization"};
  return std::ranges::find(kNorms, node.op_type()) != kNorms.end();
}

std::optional<Epsilon> epsilon_in(const Model& model, const std::vector<const onnx::NodeProto*>& nodes) {
  constexpr float kDefault = 1e-5F, kMost = 1;
  const auto is_root_of = [](const std::string& tensor) {
    return [&tensor](const onnx::NodeProto* node) {
      return (is_onnx(*node, "Sqrt") || is_onnx(*node, "Pow")) && node->input(0) == tensor;
    };
  };
  std::vector<Epsilon> found;
  for (const onnx::NodeProto* node : nodes) {
    if (is_norm(*node)) {
      found.push_back({node, attribute_float(*node, "epsilon", kDefault)});
    }
    if (!is_onnx(*node, "Add") || std::ranges::none_of(nodes, is_root_of(node->output(0)))) continue;
    for (const std::string& input : node->input()) {
      const auto value = initializer(model, input);
      if (!value || value->dtype() != Dtype::Float32 || value->count() != 1) continue;
      if (value->floats().front() <= kMost) found.push_back({node, value->floats().front()});
    }
  }
  return found.size() == 1 ? std::optional(found.front()) : std::nullopt;
}

}  // namespace vernier
