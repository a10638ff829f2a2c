#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/graph_edit.h"
#include "model/layers.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"
#include "vernier/tensor.h"

namespace vernier::passes {
namespace {

constexpr int kKeys = 1, kPastKeys = 4, kPresentKeys = 1;  // of Attention; values follow
constexpr std::int64_t kTime = 2;

class CacheEntries {
 public:
  explicit CacheEntries(Model& model) : model_(model), names_(model) {
    const onnx::GraphProto& graph = model.proto.graph();
    for (const InputInfo& input : model_inputs(model)) {
      if (input.dtype == Dtype::Float32) inputs_.insert(input.name);
    }
    for (const onnx::ValueInfoProto& output : graph.output()) outputs_.insert(output.name());
    for (const onnx::NodeProto& node : graph.node()) node_names_.insert(node.name());
  }

  std::vector<std::string> add() {
    onnx::GraphProto& graph = *model_.proto.mutable_graph();
    if (std::ranges::any_of(graph.node(), [](const onnx::NodeProto& node) { return is_onnx(node, "Attention"); })) {
      types_ = infer_types(model_);
    }
    google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
    nodes.Swap(graph.mutable_node());
    for (onnx::NodeProto& node : nodes) {
      if (attends_to_cache(node)) {
        attend(node);
      } else if (joins_cache(node, inputs_) && outputs_.contains(node.output(0))) {
        const std::string present = node.output(0);
        node.set_output(0, names_.unique(present + "/joined"));
        const std::string joined = node.output(0);
        graph.add_node()->Swap(&node);
        enter(joined, present);
        continue;
      }
      graph.add_node()->Swap(&node);
    }
    return std::move(entered_);
  }

 private:
  bool attends_to_cache(const onnx::NodeProto& node) const {
    if (!is_onnx(node, "Attention") || node.input_size() <= kPastKeys + 1 || node.output_size() <= kPresentKeys + 1) {
      return false;
    }
    for (const int part : {0, 1}) {
      const auto type = types_.find(node.input(kKeys + part));
      const bool four = type != types_.end() && type->second.rank_known && type->second.shape.size() == 4;
      if (!four || !inputs_.contains(node.input(kPastKeys + part))) return false;
      if (!outputs_.contains(node.output(kPresentKeys + part))) return false;
    }
    return true;
  }

  void attend(onnx::NodeProto& node) {
    const bool causal = attribute_int(node, "is_causal", 0) != 0;
    for (const int part : {0, 1}) {
      const std::string past = node.input(kPastKeys + part), present = node.output(kPresentKeys + part);
      onnx::NodeProto& join = add_node("Concat", {past, node.input(kKeys + part)}, present + "/joined");
      set_attribute(join, "axis", kTime);
      enter(join.output(0), present);
      // The mask of a causal one begins behind what is past, and ONNX Runtime returns the cache where it gets one.
      node.set_output(kPresentKeys + part, causal ? names_.unique(present + "/unread") : "");
      node.set_input(kPastKeys + part, causal ? sliced(past, present, /*first=*/true) : "");
      node.set_input(kKeys + part, causal ? sliced(past, present, /*first=*/false) : present);
    }
    while (node.input(node.input_size() - 1).empty()) node.mutable_input()->RemoveLast();
    while (node.output(node.output_size() - 1).empty()) node.mutable_output()->RemoveLast();
  }

  void enter(const std::string& joined, const std::string& present) {
    onnx::NodeProto& entry = *model_.proto.mutable_graph()->add_node();
    entry.set_op_type("Sum");
    entry.set_doc_string(std::string(kCacheEntry));
    entry.set_name(node_names_.insert(present).second ? present : names_.unique(present));
    entry.add_input(joined);
    entry.add_output(present);
    entered_.push_back(present);
  }

  /// The part of `present` that `past` is, or what is behind it.
  std::string sliced(const std::string& past, const std::string& present, bool first) {
    onnx::NodeProto& shape = add_node("Shape", {past}, past + "/length");
    set_attribute(shape, "start", kTime);
    set_attribute(shape, "end", kTime + 1);
    const std::string length = shape.output(0);
    const std::string begin = first ? whole_number(0) : length;
    const std::string end = first ? length : whole_number(std::numeric_limits<std::int64_t>::max());
    return add_node("Slice", {present, begin, end, whole_number(kTime)}, present + (first ? "/past" : "/new"))
        .output(0);
  }

  std::string whole_number(std::int64_t value) {
    const std::string name = names_.unique("cache/" + std::to_string(value));
    add_initializer(model_, *model_.proto.mutable_graph(), name, Tensor::of_int64(Shape{1}, std::vector{value}));
    return name;
  }

  onnx::NodeProto& add_node(const char* op_type, const std::vector<std::string>& inputs, const std::string& output) {
    onnx::NodeProto& node = *model_.proto.mutable_graph()->add_node();
    node.set_op_type(op_type);
    node.set_name(names_.unique(output));
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(node.name());
    return node;
  }

  Model& model_;
  NamePool names_;
  std::set<std::string> inputs_, outputs_, node_names_;
  std::map<std::string, ValueType> types_;
  std::vector<std::string> entered_;
};

}  // namespace

Outcome enter_caches(Model& model, const Context&) {
  const std::vector<std::string> entered = CacheEntries(model).add();
  if (entered.empty()) return {};
  return {.notes = {{"caches-found", {{"outputs", entered}}}}};
}

}  // namespace vernier::passes
