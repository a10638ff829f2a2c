#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/output_channels.h"
#include "model/passes/pass.h"
#include "vernier/tensor.h"

namespace vernier::passes {
namespace {

/// Far below what a quantized product can add up to, and a normal number. OpenVINO 2026.4 needs one channel's bias to
/// differ from the others': 1e-38 to 1e-12 were tried.
constexpr float kTinyBias = 1e-30F;

bool is_product(const onnx::NodeProto& node) { return is_onnx(node, "MatMul") || is_onnx(node, "Gemm"); }

class ProductBias {
 public:
  ProductBias(Model& model, onnx::GraphProto& graph)
      : model_(model), graph_(graph), types_(infer_types(model)), outputs_(all_graph_outputs(model)), names_(model) {
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      for (const std::string& input : node.input()) {
        ++readers_[input];
        reader_[input] = &node;
      }
    }
  }

  int run() {
    int added = 0;
    for (onnx::NodeProto& node : *graph_.mutable_node()) {
      const auto channels = small_product(node);
      if (!channels || !leads_to_product(node.output(0))) continue;
      onnx::NodeProto* const add = add_behind(node);
      onnx::NodeProto& biased = add != nullptr ? *add : node;
      const int place = add == nullptr ? 2 : add->input(0) == node.output(0) ? 1 : 0;
      const auto even = even_bias(biased.input_size() > place ? biased.input(place) : "");
      if (!even) continue;
      if (add != nullptr && node.input_size() > 2 && !even_bias(node.input(2))) continue;
      Tensor bias(Dtype::Float32, {*channels});
      std::ranges::fill(bias.mutable_floats(), *even);
      bias.mutable_floats()[0] = *even == 0 ? kTinyBias : std::nextafter(*even, 0.0F);
      const std::string name = names_.unique(node.name() + "/bias");
      add_initializer(model_, graph_, name, bias);
      if (add == nullptr) node.set_op_type("Gemm");
      if (biased.input_size() > place) {
        biased.set_input(place, name);
      } else {
        biased.add_input(name);
      }
      ++added;
    }
    return added;
  }

 private:
  /// The columns of a product of fixed matrices as small as those that were seen to go wrong.
  std::optional<std::int64_t> small_product(const onnx::NodeProto& node) const {
    constexpr std::int64_t kMostRows = 8;
    constexpr std::int64_t kMostColumns = 256;
    if (!is_product(node)) return std::nullopt;
    const auto data = types_.find(node.input(0));
    const auto result = types_.find(node.output(0));
    const std::optional<Tensor> weight = initializer(model_, node.input(1));
    if (data == types_.end() || result == types_.end() || !weight || weight->dtype() != Dtype::Float32) {
      return std::nullopt;
    }
    const auto is_matrix = [](const ValueType& type) { return type.rank_known && type.shape.size() == 2; };
    const Shape& shape = result->second.shape;
    const bool small = is_matrix(data->second) && is_matrix(result->second) && weight->shape().size() == 2 &&
                       shape[0] >= 1 && shape[0] <= kMostRows &&
                       std::ranges::all_of(weight->shape(), [](std::int64_t size) { return size <= kMostColumns; });
    if (!small || shape[1] < 2) return std::nullopt;
    return shape[1];
  }

  /// The value of a bias that is the same for all channels, 0 where there is none; none if it differs.
  std::optional<float> even_bias(const std::string& name) const {
    if (name.empty()) return 0.0F;
    const std::optional<Tensor> value = initializer(model_, name);
    if (!value || value->dtype() != Dtype::Float32 || value->count() == 0) return std::nullopt;
    const auto& values = value->floats();
    const bool even = std::ranges::adjacent_find(values, std::not_equal_to()) == values.end();
    return even ? std::optional(values.front()) : std::nullopt;
  }

  /// The Add that alone reads the product.
  onnx::NodeProto* add_behind(const onnx::NodeProto& node) const {
    onnx::NodeProto* const behind = only_reader(node.output(0));
    return behind != nullptr && is_onnx(*behind, "Add") ? behind : nullptr;
  }

  onnx::NodeProto* only_reader(const std::string& tensor) const {
    const auto count = readers_.find(tensor);
    if (count == readers_.end() || count->second != 1 || outputs_.contains(tensor)) return nullptr;
    return reader_.at(tensor);
  }

  /// Another product reads it, behind operators that compute element by element.
  bool leads_to_product(std::string tensor) const {
    while (const onnx::NodeProto* node = only_reader(tensor)) {
      if (is_product(*node)) return node->input(0) == tensor;
      const bool elementwise = is_onnx(*node, "Relu") || is_onnx(*node, "Clip") || is_onnx(*node, "Add") ||
                               is_onnx(*node, "Mul") || is_onnx(*node, "Div");
      if (!elementwise) return false;
      tensor = node->output(0);
    }
    return false;
  }

  Model& model_;
  onnx::GraphProto& graph_;
  const std::map<std::string, ValueType> types_;
  const std::set<std::string> outputs_;
  std::map<std::string, int> readers_;
  std::map<std::string, onnx::NodeProto*> reader_;
  NamePool names_;
};

}  // namespace

Outcome bias_products(Model& model, const Context&) {
  const int added = ProductBias(model, *model.proto.mutable_graph()).run();
  if (added == 0) return {};
  return {.notes = {{"biases-added", {{"count", added}}}}, .changed_arithmetic = true};
}

}  // namespace vernier::passes
