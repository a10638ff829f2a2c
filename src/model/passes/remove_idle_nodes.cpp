#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"
#include "vernier/tensor.h"

namespace vernier::passes {
namespace {

using Types = std::map<std::string, ValueType>;

bool same_fixed_shape(const Types& types, const std::string& a, const std::string& b) {
  const auto first = types.find(a);
  const auto second = types.find(b);
  if (first == types.end() || second == types.end()) return false;
  const ValueType& type = first->second;
  return type.rank_known && second->second.rank_known && type.shape == second->second.shape &&
         std::none_of(type.shape.begin(), type.shape.end(), [](std::int64_t dim) { return dim < 0; });
}

bool all_values(const Model& model, const std::string& name, std::int64_t wanted) {
  const std::optional<Tensor> values = initializer(model, name);
  if (!values || values->dtype() != Dtype::Int64) return false;
  const auto span = values->int64s();
  return std::all_of(span.begin(), span.end(), [&](std::int64_t value) { return value == wanted; });
}

bool is_ascending(const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> identity(order.size());
  std::iota(identity.begin(), identity.end(), 0);
  return !order.empty() && order == identity;
}

bool gives_its_input(const Model& model, const onnx::NodeProto& node, const Types& types, int opset,
                     const std::map<std::string, int>& readers) {
  if (!of_onnx(node) || node.input_size() < 1 || node.output_size() < 1) return false;
  const std::string& op = node.op_type();
  if (op == "Dropout") {
    const bool training = node.input_size() > 2 && !node.input(2).empty();
    const bool mask = node.output_size() > 1 && readers.contains(node.output(1));
    return !training && !mask && (opset >= 7 || attribute_int(node, "is_test", 0) == 1);
  }
  if (node.output_size() != 1) return false;  // the schemas of all below have one: no such node is known
  if (op == "Identity") return true;
  if (op == "Cast") {
    const auto type = types.find(node.input(0));
    return type != types.end() && static_cast<int>(type->second.dtype) == attribute_int(node, "to", 0);
  }
  if (op == "Transpose") return is_ascending(attribute_ints(node, "perm"));
  if (op == "Reshape" || op == "Flatten" || op == "Expand" || op == "Squeeze" || op == "Unsqueeze") {
    return same_fixed_shape(types, node.input(0), node.output(0));
  }
  if (op == "Concat" || op == "Sum" || op == "Max" || op == "Min" || op == "Mean") return node.input_size() == 1;
  if (op == "Tile") return node.input_size() == 2 && all_values(model, node.input(1), 1);
  if (op == "Pad") {
    if (opset >= 11) return node.input_size() > 1 && all_values(model, node.input(1), 0);
    const std::vector<std::int64_t> pads = attribute_ints(node, "pads");
    return !pads.empty() && std::all_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad == 0; });
  }
  return false;
}

/// Transpose of Transpose -> one, which may then do nothing.
std::size_t join_transposes(onnx::GraphProto& graph) {
  std::size_t count = 0;
  std::map<std::string, const onnx::NodeProto*> made;
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    if (!is_onnx(node, "Transpose")) continue;
    const std::vector<std::int64_t> order = attribute_ints(node, "perm");
    const auto before = made.find(node.input(0));
    if (before != made.end()) {
      const std::vector<std::int64_t> first = attribute_ints(*before->second, "perm");
      if (first.size() == order.size() && !order.empty()) {
        std::vector<std::int64_t> joined;
        for (const std::int64_t axis : order) joined.push_back(first[static_cast<std::size_t>(axis)]);
        set_attribute(node, "perm", joined);
        node.set_input(0, before->second->input(0));
        ++count;
      }
    }
    made[node.output(0)] = &node;
  }
  return count;
}

std::optional<std::vector<std::int64_t>> constants(const Model& model, const onnx::NodeProto& node, int index) {
  if (index >= node.input_size()) return std::nullopt;
  const std::optional<Tensor> value = initializer(model, node.input(index));
  if (!value || value->dtype() != Dtype::Int64) return std::nullopt;
  return std::vector<std::int64_t>(value->int64s().begin(), value->int64s().end());
}

/// Slice of Slice along other axes -> one Slice of both.
std::size_t join_slices(Model& model, onnx::GraphProto& graph, NamePool& names) {
  std::size_t count = 0;
  constexpr int kInputs = 5;  // data, starts, ends, axes, steps
  std::map<std::string, const onnx::NodeProto*> made;
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    if (!is_onnx(node, "Slice") || node.input_size() != kInputs) continue;
    const auto found = made.find(node.input(0));
    if (found != made.end()) {
      const onnx::NodeProto& before = *found->second;
      std::vector<std::vector<std::int64_t>> joined;
      bool known = true;
      for (int i = 1; i < kInputs && known; ++i) {
        const auto first = constants(model, before, i);
        const auto second = constants(model, node, i);
        known = first && second;
        if (!known) break;
        joined.push_back(*first);
        joined.back().insert(joined.back().end(), second->begin(), second->end());
      }
      std::set<std::int64_t> axes;
      if (known) axes.insert(joined[2].begin(), joined[2].end());
      // Negative axes may name the same dimension as others do.
      if (known && axes.size() == joined[2].size() && *axes.begin() >= 0) {
        for (int i = 1; i < kInputs; ++i) {
          const auto& values = joined[static_cast<std::size_t>(i - 1)];
          const std::string name = names.unique(fmt::format("{}/joined_{}", node.name(), i));
          add_initializer(model, graph, name, Tensor::of_int64({static_cast<std::int64_t>(values.size())}, values));
          node.set_input(i, name);
        }
        node.set_input(0, before.input(0));
        ++count;
      }
    }
    made[node.output(0)] = &node;
  }
  return count;
}

}  // namespace

Outcome remove_idle_nodes(Model& model, const Context& context) {
  const int opset = default_opset(model.proto);
  std::size_t removed = 0;
  std::size_t transposes = 0;
  std::size_t slices = 0;
  for (bool any = true; any;) {
    any = false;
    for_each_graph(*model.proto.mutable_graph(),
                   [&](onnx::GraphProto& graph) { transposes += join_transposes(graph); });
    NamePool names(model);
    slices += join_slices(model, *model.proto.mutable_graph(), names);
    remove_dead_nodes(model, context);
    const Types types = infer_types(model);
    const std::map<std::string, int> readers = count_readers(model);
    const std::set<std::string> outputs = all_graph_outputs(model);
    for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
      std::set<std::string> made;
      for (const onnx::NodeProto& node : graph.node()) made.insert(node.output().begin(), node.output().end());
      std::set<std::string> gone;
      for (onnx::NodeProto& node : *graph.mutable_node()) {
        if (!gives_its_input(model, node, types, opset, readers)) continue;
        const std::string from = node.input(0);
        const std::string to = node.output(0);
        if (!outputs.contains(to)) {
          rename_reads(graph, to, from);
        } else if (made.contains(from) && !outputs.contains(from)) {
          // The node that makes the value writes the output itself.
          for (onnx::NodeProto& maker : *graph.mutable_node()) {
            for (std::string& output : *maker.mutable_output()) {
              if (output == from) output = to;
            }
          }
          rename_reads(graph, from, to);
        } else {
          continue;  // an input or another output given on as it is
        }
        node.clear_output();
        gone.insert(node.name());
        any = true;
        ++removed;
        if (outputs.contains(to)) break;  // names have moved: look again
      }
      remove_nodes(graph, [&](const onnx::NodeProto& node) { return gone.contains(node.name()); });
    });
  }
  remove_leftovers(model);
  Outcome outcome;
  if (transposes > 0) outcome.notes.push_back({"transposes-joined", {{"count", transposes}}});
  if (slices > 0) outcome.notes.push_back({"slices-joined", {{"count", slices}}});
  if (removed > 0) outcome.notes.push_back({"idle-nodes-removed", {{"count", removed}}});
  return outcome;
}

}  // namespace vernier::passes
