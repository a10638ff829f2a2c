#include "plan/narrow_caches.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/graph_edit.h"
#include "model/graph_walk.h"
#include "model/layers.h"
#include "plan/normalized_file.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

class Narrowing {
 public:
  Narrowing(Model& typed, NamePool& names)
      : typed_(typed), graph_(*typed.proto.mutable_graph()), names_(names), types_(infer_types(typed)) {}

  /// `entry`: the layer of the cache in the network that the file was made of.
  void narrow(const Layer& entry) {
    const GraphWalk walk(typed_);
    const onnx::NodeProto* const sum = find_node(std::as_const(graph_), entry.name);
    const std::string& present = entry.outputs.front();
    const onnx::NodeProto* rounds = walk.maker(sum->input(0));
    if (is_scatter(*rounds)) return give_back(rounds->output(0), present);
    if (is_quantization(*rounds, "DequantizeLinear")) rounds = walk.maker(rounds->input(0));
    const bool casts = is_onnx(*rounds, "Cast");
    if (!casts && !is_quantization(*rounds, "QuantizeLinear")) return;
    const onnx::NodeProto& joins = *walk.maker(rounds->input(0));
    if (!casts && is_scatter(joins)) return give_back(joins.output(0), present);
    const Dtype type = type_of(rounds->output(0));
    if (!can_join(joins, type, walk)) return;
    const onnx::NodeProto rounding = *rounds, join = joins;
    const std::string values = names_.unique(present + "/values");
    rename_tensor(graph_, present, values);
    const bool idle = !is_read(values);
    remove_nodes(graph_, [&](const onnx::NodeProto& node) {
      return node.name() == rounding.name() || (idle && is_onnx(node, "Cast") && node.output(0) == values);
    });
    join_low(join, rounding, type);
    rename_tensor(graph_, rounding.output(0), present);
    set_type(*graph_.mutable_input(), join.input(0), type);
    set_type(*graph_.mutable_output(), present, type);
  }

 private:
  Dtype type_of(const std::string& tensor) const {
    const auto known = types_.find(tensor);
    return known == types_.end() ? Dtype::Undefined : known->second.dtype;
  }

  static bool is_scatter(const onnx::NodeProto& node) { return is_onnx(node, "TensorScatter"); }

  /// The graph returns what was scattered, as it was: the next step rounds it to the same values.
  void give_back(std::string joined, const std::string& present) {  // a copy: it is the name that changes
    rename_tensor(graph_, present, names_.unique(present + "/values"));
    rename_tensor(graph_, joined, present);
  }

  bool can_join(const onnx::NodeProto& join, Dtype type, const GraphWalk& walk) const {
    return schema_admits_input(join, 0, default_opset(typed_.proto), type) &&
           walk.readers(join.output(0)).size() == 1 &&
           std::ranges::all_of(walk.readers(join.input(0)), [&](const onnx::NodeProto* reader) {
             return reader == &join || has(*reader, Trait::ReadsShape);
           });
  }

  bool is_read(const std::string& tensor) const {
    return std::ranges::any_of(graph_.node(),
                               [&](const onnx::NodeProto& node) { return tensors_read(node).contains(tensor); });
  }

  /// The new values that `join` reads, in the low type, and what it then makes.
  void join_low(onnx::NodeProto join, onnx::NodeProto rounding, Dtype type) {
    const GraphWalk walk(typed_);
    const std::string low = rounding.output(0);
    const onnx::NodeProto* const maker = walk.maker(join.input(1));
    std::vector<onnx::NodeProto> nodes;
    if (maker != nullptr && is_onnx(*maker, "Cast") && type_of(maker->input(0)) == type) {
      join.set_input(1, maker->input(0));
    } else {
      rounding.set_input(0, join.input(1));
      rounding.set_output(0, names_.unique(join.input(1) + "/cached"));
      join.set_input(1, rounding.output(0));
      nodes.push_back(std::move(rounding));
    }
    join.set_output(0, low);
    const auto place = std::ranges::find(graph_.node(), join.name(), &onnx::NodeProto::name);
    nodes.push_back(std::move(join));
    replace_node(graph_, static_cast<int>(place - graph_.node().begin()), std::move(nodes));
  }

  static void set_type(google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& values, const std::string& name,
                       Dtype type) {
    const auto value = std::ranges::find(values, name, &onnx::ValueInfoProto::name);
    value->mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(type));
  }

  Model& typed_;
  onnx::GraphProto& graph_;
  NamePool& names_;
  const std::map<std::string, ValueType> types_;
};

std::int64_t casts_in(const onnx::GraphProto& graph) {
  return std::ranges::count_if(graph.node(), [](const onnx::NodeProto& node) { return is_onnx(node, "Cast"); });
}

}  // namespace

std::int64_t narrow_caches(Model& typed, const Model& prepared, NamePool& names) {
  const std::int64_t before = casts_in(typed.proto.graph());
  Narrowing narrowing(typed, names);
  for (const Layer& layer : find_layers(prepared)) {
    if (layer.cache) narrowing.narrow(layer);
  }
  return before - casts_in(typed.proto.graph());
}

}  // namespace vernier
