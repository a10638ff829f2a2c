#include "jobs/debug/expansions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>

#include "model/graph_edit.h"
#include "model/onnx_runtime_operators.h"
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

/// The activation that a FusedConv of ONNX Runtime holds. Null: none.
const onnx::AttributeProto* activation_in(const onnx::NodeProto& node) {
  return is_onnx_runtime(node, "FusedConv") ? find_attribute(node, "activation") : nullptr;
}

/// The parameters of an activation, which a FusedConv lists in this order. Others take none, or read tensors.
struct ActivationParameter {
  std::string_view op_type, name;
  float otherwise;
};
constexpr std::array kActivationParameters{ActivationParameter{"LeakyRelu", "alpha", 0.01F},
                                           ActivationParameter{"HardSigmoid", "alpha", 0.2F},
                                           ActivationParameter{"HardSigmoid", "beta", 0.5F}};

/// "alpha 0.01, in the float model 0.3"; empty: the activation of the FusedConv is that of the other node.
std::string other_parameter(const onnx::NodeProto& fused, const onnx::NodeProto& other, bool fused_is_low) {
  constexpr float kSame = 1e-5F;
  const onnx::AttributeProto* held = find_attribute(fused, "activation_params");
  int index = 0;
  for (const ActivationParameter& row : kActivationParameters) {
    if (row.op_type != other.op_type()) continue;
    const float wanted = attribute_float(other, std::string(row.name).c_str(), row.otherwise);
    const bool there = held != nullptr && index < held->floats_size();
    const float inside = there ? held->floats(index) : row.otherwise;
    ++index;
    if (std::abs(inside - wanted) <= kSame * std::max(std::abs(inside), std::abs(wanted))) continue;
    const auto [is, was] = fused_is_low ? std::pair(inside, wanted) : std::pair(wanted, inside);
    return fmt::format("{} {:g}, in the float model {:g}", row.name, is, was);
  }
  return {};
}

/// Which of `others` the activation in a FusedConv is: one with its parameters, else the first.
auto twin_of_activation(const onnx::NodeProto& fused, const std::vector<const onnx::NodeProto*>& others) {
  const std::string& inside = activation_in(fused)->s();
  const auto same = std::ranges::find_if(others, [&](const onnx::NodeProto* other) {
    return is_onnx(*other, inside) && other_parameter(fused, *other, true).empty();
  });
  return same != others.end()
             ? same
             : std::ranges::find_if(others, [&](const auto* other) { return is_onnx(*other, inside); });
}

/// ONNX Runtime's FusedConv holds one activation: one of the others.
void drop_fused_activations(std::vector<const onnx::NodeProto*>& nodes, std::vector<const onnx::NodeProto*>& others) {
  std::erase_if(nodes, [&](const onnx::NodeProto* node) {
    if (activation_in(*node) == nullptr) return false;
    const auto other = twin_of_activation(*node, others);
    if (other == others.end() || !other_parameter(*node, **other, true).empty()) return false;
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

std::optional<OtherActivation> other_activation(const std::vector<const onnx::NodeProto*>& lost,
                                                const std::vector<const onnx::NodeProto*>& added) {
  const auto look = [](const auto& fused, const auto& others, bool fused_is_low) -> std::optional<OtherActivation> {
    for (const onnx::NodeProto* node : fused) {
      const auto other = activation_in(*node) == nullptr ? others.end() : twin_of_activation(*node, others);
      if (other == others.end()) continue;
      std::string text = other_parameter(*node, **other, fused_is_low);
      if (!text.empty()) return OtherActivation{fused_is_low ? node : *other, std::move(text)};
    }
    return std::nullopt;
  };
  if (auto found = look(added, lost, true)) return found;
  return look(lost, added, false);
}

bool is_norm(const onnx::NodeProto& node) {
  static constexpr std::array<std::string_view, 5> kNorms = {"GroupNormalization", "InstanceNormalization",
                                                             "LayerNormalization", "RMSNormalization",
                                                             "SimplifiedLayerNormalization"};
  return std::ranges::find(kNorms, node.op_type()) != kNorms.end();
}

bool drop_norms_in_pieces(std::vector<const onnx::NodeProto*>& norms, std::vector<const onnx::NodeProto*>& pieces) {
  const auto is_any_norm = [](const onnx::NodeProto* node) { return is_norm(*node); };
  const auto is_root = [](const onnx::NodeProto* node) { return is_onnx(*node, "Sqrt"); };
  auto in_pieces = std::ranges::count_if(pieces, is_root);
  if (in_pieces == 0 || std::ranges::count_if(norms, is_any_norm) <= in_pieces) return false;
  std::erase_if(norms, [&](const onnx::NodeProto* node) { return is_norm(*node) && in_pieces-- > 0; });
  const onnx::NodeProto& norm = **std::ranges::find_if(norms, is_any_norm);
  std::erase_if(pieces, [&](const onnx::NodeProto* node) { return may_be_written_with(norm, *node); });
  return true;
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
