#include "repairs/projections.h"

#include <cstdint>

#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "numerics/lattice.h"
#include "repairs/channel_scaling.h"
#include "repairs/factor_degrees.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

bool is_alone(const std::map<std::string, int>& readers, const std::string& tensor) {
  const auto found = readers.find(tensor);
  return found != readers.end() && found->second == 1;
}

}  // namespace

std::optional<Projection> projection_of(const Model& model, const GraphWalk& walk,
                                        const std::map<std::string, int>& readers, const std::string& tensor,
                                        std::size_t channels) {
  const onnx::NodeProto* maker = walk.maker(tensor);
  if (maker == nullptr || !is_alone(readers, tensor)) return std::nullopt;
  Projection found;
  const auto takes_bias = [&](const onnx::NodeProto& node, const std::string& name) {
    const std::optional<Tensor> value = float_constant(model, name);
    if (!value || value->count() != static_cast<std::int64_t>(channels) || value->shape().empty() ||
        value->shape().back() != value->count())
      return false;
    found.bias = name;
    found.bias_node = node.name();
    return true;
  };
  if (is_onnx(*maker, "Add")) {
    const int constant = is_initializer(model, maker->input(0)) ? 0 : 1;
    const std::string& product = maker->input(1 - constant);
    if (!takes_bias(*maker, maker->input(constant)) || !is_alone(readers, product)) return std::nullopt;
    maker = walk.maker(product);
    if (maker == nullptr) return std::nullopt;
  }
  const bool gemm = is_onnx(*maker, "Gemm");
  if (!gemm && !is_onnx(*maker, "MatMul")) return std::nullopt;
  found.layer = maker->name();
  found.tensor = maker->output(0);
  found.weight = maker->input(1);
  found.by_rows = gemm && attribute_int(*maker, "transB", 0) != 0;
  const std::optional<Tensor> weight = float_constant(model, found.weight);
  if (!weight || weight->shape().size() != 2 || !is_alone(readers, found.weight)) return std::nullopt;
  if (weight->shape()[found.by_rows ? 0 : 1] != static_cast<std::int64_t>(channels)) return std::nullopt;
  if (gemm && maker->input_size() > 2 && !maker->input(2).empty()) {
    if (!found.bias.empty() || !takes_bias(*maker, maker->input(2))) return std::nullopt;
  }
  if (lattice_of(weight->floats())) return std::nullopt;
  return found;
}

void scale_projection(Model& model, const Projection& projection, const std::function<float(std::size_t)>& factor) {
  const auto width = static_cast<std::size_t>(initializer(model, projection.weight)->shape()[1]);
  scale_constant(model, projection.weight,
                 [&](std::size_t i) { return factor(projection.by_rows ? i / width : i % width); });
  if (projection.bias.empty()) return;
  const bool shared = !is_alone(count_readers(model), projection.bias);
  scale_constant(model, shared ? own_copy(model, projection.bias, projection.bias_node) : projection.bias, factor);
}

}  // namespace vernier
