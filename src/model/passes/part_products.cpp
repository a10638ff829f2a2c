#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/graph_edit.h"
#include "model/openvino_reader.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"
#include "vernier/tensor.h"

namespace vernier::passes {
namespace {

bool is_product(const onnx::NodeProto& node) { return is_onnx(node, "MatMul") || is_onnx(node, "Gemm"); }

bool multiplies(const onnx::NodeProto& node) {
  return is_onnx(node, "Mul") || is_onnx(node, "Div") || is_onnx(node, "Neg");
}

class ProductParting {
 public:
  ProductParting(Model& model, onnx::GraphProto& graph, const std::map<std::string, ValueType>& types, NamePool& names)
      : model_(model), graph_(graph), types_(types), outputs_(all_graph_outputs(model)), names_(names) {
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& input : node.input()) {
        ++readers_[input];
        reader_[input] = &node;
      }
    }
  }

  int run() {
    std::set<std::string> apart;
    for (const onnx::NodeProto& node : graph_.node()) {
      const onnx::NodeProto* const next = in_one_kernel(node) ? product_in_doubt(node) : nullptr;
      if (next != nullptr) apart.insert(next->name());
    }
    for (int i = 0; i < graph_.node_size(); ++i) {
      if (!apart.contains(graph_.node(i).name())) continue;
      onnx::NodeProto product = graph_.node(i);
      onnx::NodeProto turned;
      turned.set_op_type("Transpose");
      turned.set_name(names_.unique(product.name() + "/Transpose"));
      turned.add_input(product.input(0));
      turned.add_output(names_.unique(product.name() + "/Transpose_output"));
      set_attribute(turned, "perm", std::vector<std::int64_t>{1, 0});
      product.set_op_type("Gemm");
      product.set_input(0, turned.output(0));
      set_attribute(product, "transA", std::int64_t{1});
      replace_node(graph_, i, {std::move(turned), std::move(product)});
      ++i;
    }
    return static_cast<int>(apart.size());
  }

 private:
  /// A product of fixed matrices as small as those that were seen to go wrong.
  bool in_one_kernel(const onnx::NodeProto& node) const {
    if (!is_product(node) || !is_matrix(node.input(0)) || !is_matrix(node.output(0))) return false;
    const std::optional<Tensor> weight = float_constant(node.input(1));
    if (!weight || weight->shape().size() != 2) return false;
    const std::int64_t rows = types_.at(node.output(0)).shape[0];
    return rows >= 1 && rows <= kMostRowsInOneKernel &&
           std::ranges::all_of(weight->shape(), [](std::int64_t size) { return size <= kMostColumnsInOneKernel; });
  }

  /// The product behind `node`, with nothing but constants and operators by element between, unless these are a bias
  /// that differs by channel and then at most one operator that is no factor.
  const onnx::NodeProto* product_in_doubt(const onnx::NodeProto& node) const {
    bool biased = is_onnx(node, "Gemm") && node.input_size() > 2 && differs_by_channel(node.input(2));
    bool factor = false;
    int others = 0;
    std::string tensor = node.output(0);
    while (const onnx::NodeProto* reader = only_reader(tensor)) {
      if (is_product(*reader)) {
        const bool turnable = reader->input(0) == tensor && attribute_int(*reader, "transA", 0) == 0 &&
                              is_matrix(tensor) && is_matrix(reader->output(0)) && float_constant(reader->input(1));
        return turnable && (!biased || factor || others > 1) ? reader : nullptr;
      }
      const std::optional<std::string> operand = constant_operand(*reader, tensor);
      if (!operand) return nullptr;
      if (!biased && others == 0 && is_onnx(*reader, "Add")) {
        biased = differs_by_channel(*operand);
      } else if (!has(*reader, Trait::Moves)) {
        factor = factor || multiplies(*reader);
        ++others;
      }
      tensor = reader->output(0);
    }
    return nullptr;
  }

  /// The last constant that `node` reads, or "", if it does nothing but move `tensor` or compute it by element.
  std::optional<std::string> constant_operand(const onnx::NodeProto& node, const std::string& tensor) const {
    if (!has(node, Traits(Trait::Elementwise) | Trait::Moves)) return std::nullopt;
    std::string constant;
    for (const std::string& input : node.input()) {
      if (input.empty() || input == tensor) continue;
      if (!is_initializer(model_, input)) return std::nullopt;
      constant = input;
    }
    return constant;
  }

  std::optional<Tensor> float_constant(const std::string& name) const {
    std::optional<Tensor> value = initializer(model_, name);
    if (value && value->dtype() != Dtype::Float32) return std::nullopt;
    return value;
  }

  bool is_matrix(const std::string& tensor) const {
    const auto type = types_.find(tensor);
    return type != types_.end() && type->second.rank_known && type->second.shape.size() == 2;
  }

  /// A bias with one value for all channels is as good as none.
  bool differs_by_channel(const std::string& name) const {
    const std::optional<Tensor> value = name.empty() ? std::nullopt : float_constant(name);
    return value && std::ranges::adjacent_find(value->floats(), std::not_equal_to()) != value->floats().end();
  }

  const onnx::NodeProto* only_reader(const std::string& tensor) const {
    const auto count = readers_.find(tensor);
    if (count == readers_.end() || count->second != 1 || outputs_.contains(tensor)) return nullptr;
    return reader_.at(tensor);
  }

  Model& model_;
  onnx::GraphProto& graph_;
  const std::map<std::string, ValueType>& types_;
  const std::set<std::string> outputs_;
  NamePool& names_;
  std::map<std::string, int> readers_;
  std::map<std::string, const onnx::NodeProto*> reader_;
};

}  // namespace

Outcome part_products(Model& model, const Context& /*context*/) {
  const std::map<std::string, ValueType> types = infer_types(model);
  NamePool names(model);
  int parted = 0;
  for_each_graph(*model.proto.mutable_graph(),
                 [&](onnx::GraphProto& graph) { parted += ProductParting(model, graph, types, names).run(); });
  if (parted == 0) return {};
  return {.notes = {{"products-parted", {{"count", parted}}}}, .changed_arithmetic = true};
}

}  // namespace vernier::passes
