#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/output_channels.h"
#include "model/passes/pass.h"
#include "vernier/tensor.h"

namespace vernier::passes {
namespace {

constexpr double kMostRelativeNoise = 1e-12;  // 120 dB

std::optional<Tensor> float_constant(const Model& model, const std::string& name) {
  std::optional<Tensor> value = name.empty() ? std::nullopt : initializer(model, name);
  if (value && value->dtype() != Dtype::Float32) return std::nullopt;
  return value;
}

/// One value, or one for each of `channels` along the last dimension of a matrix.
std::optional<std::vector<double>> values_by_channel(const Tensor& constant, std::size_t channels) {
  const Shape& shape = constant.shape();
  const auto count = static_cast<std::size_t>(constant.count());
  if (shape.size() > 2 || (shape.size() == 2 && shape[0] != 1)) return std::nullopt;
  if (count != 1 && count != channels) return std::nullopt;
  std::vector<double> values(channels);
  for (std::size_t c = 0; c < channels; ++c) values[c] = constant.floats()[count == 1 ? 0 : c];
  return values;
}

/// A product of matrices, the constant Add behind it, and what is multiplied or divided behind both.
struct Product {
  int layer = 0;
  std::optional<int> add;
  std::size_t channels = 0;
};

/// The float32 values of constant * factor, unless that takes more than rounding from them.
std::optional<Tensor> scaled(const Tensor& constant, const std::vector<double>& factor,
                             const std::function<std::size_t(std::size_t)>& channel_of, bool divides) {
  Tensor out(Dtype::Float32, constant.shape());
  double energy = 0;
  double noise = 0;
  for (std::size_t i = 0; i < constant.floats().size(); ++i) {
    const double value = constant.floats()[i];
    const double by = factor[channel_of(i)];
    const double exact = divides ? value / by : value * by;
    const auto rounded = static_cast<float>(exact);
    if (!std::isfinite(rounded)) return std::nullopt;
    out.mutable_floats()[i] = rounded;
    energy += exact * exact;
    noise += (exact - rounded) * (exact - rounded);
  }
  if (noise > energy * kMostRelativeNoise) return std::nullopt;
  return out;
}

bool usable(const std::vector<double>& factor) {
  return std::ranges::all_of(factor, [](double f) { return std::isfinite(f) && f != 0; });
}

class FactorFold {
 public:
  FactorFold(Model& model, onnx::GraphProto& graph, const PrepareOptions& options,
             const std::map<std::string, ValueType>& types)
      : model_(model), graph_(graph), options_(options), types_(types) {}

  int run() {
    for (int i = 0; i < graph_.node_size(); ++i) {
      if (!look_at(i)) remember(i);
    }
    remove_nodes(graph_, [&](const onnx::NodeProto& node) { return gone_.contains(node.name()); });
    return folded_;
  }

 private:
  /// Takes the factor of node `i` into the product in front of it.
  bool look_at(int i) {
    const onnx::NodeProto& node = graph_.node(i);
    const bool divides = is_onnx(node, "Div");
    if (!divides && !is_onnx(node, "Mul")) return false;
    for (const int side : {0, 1}) {
      if (divides && side == 1) break;
      const auto product = products_.find(node.input(side));
      const std::optional<Tensor> constant = float_constant(model_, node.input(1 - side));
      if (product == products_.end() || !constant || count_readers(model_).at(node.input(side)) != 1) continue;
      const auto factor = values_by_channel(*constant, product->second.channels);
      if (!factor || (constant->count() != 1 && !options_.weights_per_channel)) continue;
      if (!fold(product->second, *factor, divides, /*with_bias=*/true)) continue;
      const Product folded = product->second;
      if (folded.add) {  // under its own name this tensor would seem to be that of the float model
        const std::string result = graph_.node(folded.layer).output(0);
        rename_tensor(graph_, result, NamePool(model_).unique(result + "_scaled"));
      }
      graph_.mutable_node(folded.add.value_or(folded.layer))->set_output(0, node.output(0));
      gone_.insert(node.name());
      products_[node.output(0)] = folded;
      return true;
    }
    return false;
  }

  /// Node `i` is a product, or an Add behind one.
  void remember(int i) {
    const onnx::NodeProto& node = graph_.node(i);
    if (is_onnx(node, "Gemm") || is_onnx(node, "MatMul")) {
      const std::optional<Tensor> weight = float_constant(model_, node.input(1));
      if (!weight || weight->shape().size() != 2 || (node.op_type() == "MatMul" && !reads_a_matrix(node))) return;
      const std::optional<OutputChannels> channels = output_channels(node, weight->shape());
      if (!channels) return;
      const Product product{i, std::nullopt, channels->count};
      const onnx::AttributeProto* alpha = find_attribute(node, "alpha");
      if (alpha != nullptr && alpha->f() != 1.0F && node.op_type() == "Gemm") {
        const std::vector<double> factor(product.channels, alpha->f());
        if (!fold(product, factor, /*divides=*/false, /*with_bias=*/false)) return;
        set_attribute(*graph_.mutable_node(i), "alpha", 1.0F);
      }
      products_[node.output(0)] = product;
    } else if (is_onnx(node, "Add")) {
      for (const int side : {0, 1}) {
        const auto product = products_.find(node.input(side));
        const std::optional<Tensor> bias = float_constant(model_, node.input(1 - side));
        if (product == products_.end() || product->second.add || !bias) continue;
        if (!values_by_channel(*bias, product->second.channels)) continue;
        if (count_readers(model_).at(node.input(side)) != 1) continue;
        Product with_add = product->second;
        with_add.add = i;
        products_[node.output(0)] = with_add;
        return;
      }
    }
  }

  bool reads_a_matrix(const onnx::NodeProto& node) const {
    const auto type = types_.find(node.input(0));
    return type != types_.end() && type->second.rank_known && type->second.shape.size() == 2;
  }

  bool fold(const Product& product, const std::vector<double>& factor, bool divides, bool with_bias) {
    if (!usable(factor)) return false;
    const onnx::NodeProto& layer = graph_.node(product.layer);
    const std::optional<Tensor> weight = float_constant(model_, layer.input(1));
    const std::optional<OutputChannels> channels = output_channels(layer, weight->shape());
    const auto new_weight = scaled(
        *weight, factor, [&](std::size_t k) { return channels->of(k); }, divides);
    if (!new_weight) return false;

    // The bias of a Gemm, and the constant of the Add: (node, input, value).
    struct NewBias {
      int node = 0;
      int input = 0;
      Tensor value;
    };
    std::vector<NewBias> biases;
    const auto add_bias = [&](int node, int input) {
      const std::optional<Tensor> bias = float_constant(model_, graph_.node(node).input(input));
      const auto values = bias ? values_by_channel(*bias, product.channels) : std::nullopt;
      if (!values) return false;
      Tensor each(Dtype::Float32, {static_cast<std::int64_t>(product.channels)});
      std::ranges::transform(*values, each.mutable_floats().begin(), [](double v) { return static_cast<float>(v); });
      auto value = scaled(
          each, factor, [](std::size_t c) { return c; }, divides);
      if (!value) return false;
      biases.push_back({node, input, *std::move(value)});
      return true;
    };
    if (with_bias && layer.input_size() > 2 && !layer.input(2).empty() && !add_bias(product.layer, 2)) return false;
    if (with_bias && product.add) {
      const bool first = float_constant(model_, graph_.node(*product.add).input(0)).has_value();
      if (!add_bias(*product.add, first ? 0 : 1)) return false;
    }
    replace_parameter(model_, graph_, *graph_.mutable_node(product.layer), 1, *new_weight, count_readers(model_));
    for (const NewBias& bias : biases) {
      replace_parameter(model_, graph_, *graph_.mutable_node(bias.node), bias.input, bias.value, count_readers(model_));
    }
    ++folded_;
    return true;
  }

  Model& model_;
  onnx::GraphProto& graph_;
  const PrepareOptions& options_;
  const std::map<std::string, ValueType>& types_;
  std::map<std::string, Product> products_;  // by the tensor that they make
  std::set<std::string> gone_;
  int folded_ = 0;
};

}  // namespace

Outcome fold_factors(Model& model, const Context& context) {
  const std::map<std::string, ValueType> types = infer_types(model);
  int folded = 0;
  for_each_graph(*model.proto.mutable_graph(),
                 [&](onnx::GraphProto& graph) { folded += FactorFold(model, graph, context.options, types).run(); });
  if (folded == 0) return {};
  remove_leftovers(model);
  return {.notes = {{"factors-folded", {{"count", folded}}}}, .changed_arithmetic = true};
}

}  // namespace vernier::passes
