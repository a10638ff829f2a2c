#include "jobs/debug/expansions.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

namespace vernier {
namespace {

struct Expansion {
  std::string_view op_type;
  std::array<std::string_view, 6> others{};
};

/// From the function bodies of ONNX, and what exporters write.
constexpr std::array kExpansions{
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
    Expansion{"Softmax", {"Exp", "ReduceSum", "ReduceMax"}},
    Expansion{"Softplus", {"Exp", "Log"}},
    Expansion{"Swish", {"Sigmoid"}},
};

/// Among sums and products.
bool may_be_written_with(const onnx::NodeProto& node, const onnx::NodeProto& other) {
  const auto* const row = std::ranges::find(kExpansions, std::string_view(node.op_type()), &Expansion::op_type);
  return row != kExpansions.end() && std::ranges::find(row->others, other.op_type()) != row->others.end();
}

}  // namespace

std::pair<std::vector<const onnx::NodeProto*>, std::vector<const onnx::NodeProto*>> without_expansions(
    const std::vector<const onnx::NodeProto*>& lost, const std::vector<const onnx::NodeProto*>& added) {
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

}  // namespace vernier
