#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
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

constexpr int kKeys = 1, kPresentKeys = 1;  // values follow
constexpr int kBias = 3;                    // of MultiHeadAttention: of queries, keys and values together
constexpr std::int64_t kTime = 2;

/// An operator that joins its cache with new keys and values inside. Not GroupQueryAttention: how much of its cache
/// counts stands in other inputs.
struct Attending {
  int past_keys = 0;  // the input; values follow
  const char* heads;  // attribute: how many heads keys have
  bool onnx = false;
};

std::optional<Attending> attending(const onnx::NodeProto& node) {
  if (is_onnx(node, "Attention")) return Attending{4, "kv_num_heads", true};
  if (node.domain() == "com.microsoft" && node.op_type() == "MultiHeadAttention") return Attending{6, "num_heads"};
  return std::nullopt;
}

const std::string& optional_input(const onnx::NodeProto& node, int index) {
  static const std::string none;
  return index < node.input_size() ? node.input(index) : none;
}

class CacheEntries {
 public:
  explicit CacheEntries(Model& model) : model_(model), names_(model) {
    const onnx::GraphProto& graph = model.proto.graph();
    for (const InputInfo& input : model_inputs(model)) {
      if (input.dtype == Dtype::Float32) inputs_.insert(input.name);
      if (input.shape.size() == 4) shapes_[input.name] = input.shape;
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
      if (const std::optional<Attending> kind = attending(node); kind && attends_to_cache(node, *kind)) {
        attend(node, *kind);
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
  bool attends_to_cache(const onnx::NodeProto& node, const Attending& kind) const {
    if (node.input_size() <= kind.past_keys + 1 || node.output_size() <= kPresentKeys + 1) return false;
    for (const int part : {0, 1}) {
      if (!inputs_.contains(node.input(kind.past_keys + part))) return false;
      if (!outputs_.contains(node.output(kPresentKeys + part))) return false;
      // Packed with the queries, or with each other.
      if (node.input(kKeys + part).empty()) return false;
    }
    if (kind.onnx)
      return rank_of(node.input(kKeys)) != 0 && rank_of(node.input(kKeys)) == rank_of(node.input(kKeys + 1));
    return optional_input(node, kBias).empty();
  }

  /// 3 or 4; 0: another, or not known.
  std::size_t rank_of(const std::string& tensor) const {
    const auto type = types_.find(tensor);
    if (type == types_.end() || !type->second.rank_known) return 0;
    const std::size_t rank = type->second.shape.size();
    return rank == 3 || rank == 4 ? rank : 0;
  }

  void attend(onnx::NodeProto& node, const Attending& kind) {
    const bool heads_apart = kind.onnx && rank_of(node.input(kKeys)) == 4;
    // A mask that begins behind what is past has to know which keys are, and rank 3 has no place for all of them.
    const bool in_two_parts = !heads_apart || attribute_int(node, "is_causal", 0) != 0;
    for (const int part : {0, 1}) {
      const std::string past = node.input(kind.past_keys + part), present = node.output(kPresentKeys + part);
      const std::string fresh = node.input(kKeys + part);
      const std::int64_t heads = attribute_int(node, kind.heads, 1);
      const auto shape = shapes_.find(past);
      const std::int64_t width = shape == shapes_.end() || shape->second[3] < 0 ? -1 : heads * shape->second[3];
      const std::string split = heads_apart ? fresh : with_heads_apart(fresh, present, heads);
      onnx::NodeProto& join = add_node("Concat", {past, split}, present + "/joined");
      set_attribute(join, "axis", kTime);
      enter(join.output(0), present);
      // ONNX Runtime returns the cache where it gets one.
      node.set_output(kPresentKeys + part, in_two_parts ? names_.unique(present + "/unread") : "");
      node.set_input(kind.past_keys + part, in_two_parts ? sliced(past, present, /*first=*/true) : "");
      const std::string read = in_two_parts ? sliced(past, present, /*first=*/false) : present;
      node.set_input(kKeys + part, heads_apart ? read : with_heads_joined(read, width));
    }
    while (node.input(node.input_size() - 1).empty()) node.mutable_input()->RemoveLast();
    while (node.output(node.output_size() - 1).empty()) node.mutable_output()->RemoveLast();
  }

  std::string with_heads_apart(const std::string& values, const std::string& present, std::int64_t heads) {
    const std::string shape = whole_numbers({0, 0, heads, -1});
    const std::string split = add_node("Reshape", {values, shape}, present + "/heads").output(0);
    return with_heads_moved(split, present + "/new_heads");
  }

  /// `width`: of all heads, -1 where it is not known. ONNX Runtime takes an unknown one for 0 in its inference.
  std::string with_heads_joined(const std::string& values, std::int64_t width) {
    const std::string moved = with_heads_moved(values, values + "/moved");
    return add_node("Reshape", {moved, whole_numbers({0, 0, width})}, values + "/joined_heads").output(0);
  }

  std::string with_heads_moved(const std::string& values, const std::string& output) {
    onnx::NodeProto& moved = add_node("Transpose", {values}, output);
    set_attribute(moved, "perm", std::vector<std::int64_t>{0, 2, 1, 3});
    return moved.output(0);
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
    const std::string length = length_of(past);
    const std::string begin = first ? whole_numbers({0}) : length;
    const std::string end = first ? length : whole_numbers({std::numeric_limits<std::int64_t>::max()});
    return add_node("Slice", {present, begin, end, whole_numbers({kTime})}, present + (first ? "/past" : "/new"))
        .output(0);
  }

  /// As a tensor of one number.
  std::string length_of(const std::string& past) {
    onnx::NodeProto& shape = add_node("Shape", {past}, past + "/length");
    set_attribute(shape, "start", kTime);
    set_attribute(shape, "end", kTime + 1);
    return shape.output(0);
  }

  std::string whole_numbers(const std::vector<std::int64_t>& values) {
    const std::string name = names_.unique("cache/" + std::to_string(values.back()));
    const auto count = static_cast<std::int64_t>(values.size());
    add_initializer(model_, *model_.proto.mutable_graph(), name, Tensor::of_int64(Shape{count}, values));
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
  std::map<std::string, Shape> shapes_;  // of inputs of rank 4
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
