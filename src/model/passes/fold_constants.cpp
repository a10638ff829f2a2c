#include <fmt/format.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier::passes {
namespace {

using Types = std::map<std::string, ValueType>;

constexpr std::int64_t kMaxBytes = std::int64_t{64} << 20U;
constexpr std::int64_t kFreeBytes = std::int64_t{1} << 20U;  // growth does not matter below this
constexpr std::int64_t kMaxGrowth = 8;
// Each round folds what the last one made foldable; chains of shapes of shapes are a handful deep in practice.
constexpr int kMaxRounds = 32;

bool known_shape(const ValueType& type) {
  return type.rank_known && std::all_of(type.shape.begin(), type.shape.end(), [](std::int64_t d) { return d >= 0; });
}

/// Bytes of a tensor of known type and shape; -1 when unknown or absurd.
std::int64_t bytes_of(const Types& types, const std::string& name) {
  const auto type = types.find(name);
  if (type == types.end() || !known_shape(type->second) || dtype_bits(type->second.dtype) == 0) return -1;
  try {
    const std::int64_t count = element_count(type->second.shape);
    return count > kMaxBytes ? -1 : (count * dtype_bits(type->second.dtype) + 7) / 8;
  } catch (const Error&) {
    return -1;  // the product of the dimensions overflows
  }
}

bool small_enough(const onnx::NodeProto& node, const Types& types, std::int64_t most) {
  std::int64_t in = 0;
  for (const std::string& name : node.input()) in += std::max<std::int64_t>(0, bytes_of(types, name));
  for (const std::string& name : node.output()) {
    if (name.empty()) continue;
    const auto type = types.find(name);
    if (type == types.end() || dtype_bits(type->second.dtype) == 0) return false;
    // Their size is known only after the run, but is at most the rank (below 8) times 8 bytes for each element read.
    const bool bounded = node.op_type() == "NonZero" || node.op_type() == "Compress";
    const std::int64_t out = bounded ? in * 64 : bytes_of(types, name);
    if (out < 0 || out > (most == 0 ? kMaxBytes : std::max<std::int64_t>(most, 0))) return false;
    if (most == 0 && out > kFreeBytes && out > kMaxGrowth * in) return false;
  }
  return true;
}

bool may_fold(const onnx::NodeProto& node, int opset) {
  if (!of_onnx(node) || node.op_type() == "Constant" || has(node, Trait::Quantizes | Trait::Random)) return false;
  if (node.op_type() == "Dropout" && node.input_size() > 2 && !node.input(2).empty()) return false;  // training mode
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), opset, "");
  if (schema == nullptr || schema->GetNodeDeterminism() == onnx::OpSchema::NodeDeterminism::NonDeterministic) {
    return false;
  }
  return !has_body(node) && node.input_size() > 0;
}

/// Shape(x), x of known shape -> initializer. Main graph only: inside a Loop a shape may change from turn to turn. The
/// declared shapes of graph outputs are not believed.
int fold_shapes(Model& model, const Types& types) {
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  const std::set<std::string> outputs = all_graph_outputs(model);
  std::set<std::string> gone;
  for (const onnx::NodeProto& node : graph.node()) {
    if (!is_onnx(node, "Shape") || outputs.contains(node.input(0)) || outputs.contains(node.output(0))) continue;
    const auto type = types.find(node.input(0));
    if (type == types.end() || !known_shape(type->second)) continue;
    const auto rank = static_cast<std::int64_t>(type->second.shape.size());
    const auto place = [&](const char* name, std::int64_t fallback) {
      const std::int64_t at = attribute_int(node, name, fallback);
      return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
    };
    const std::int64_t start = place("start", 0);
    const std::int64_t end = std::max(start, place("end", rank));
    const Shape part(type->second.shape.begin() + start, type->second.shape.begin() + end);
    add_initializer(model, graph, node.output(0), Tensor::of_int64({end - start}, part));
    gone.insert(node.name());
  }
  remove_nodes(graph, [&](const onnx::NodeProto& node) { return gone.contains(node.name()); });
  return static_cast<int>(gone.size());
}

/// The constant part of all graphs as one model without inputs, and where its values are to go.
struct ConstantPart {
  Model model;
  std::vector<std::pair<std::string, onnx::GraphProto*>> values;  // by output of `model`
  std::set<std::string> nodes;
};

/// `allowed` says of each node by name whether it may be part of it.
ConstantPart constant_part(Model& model, const Types& types, const FoldLimits& limits,
                           const std::function<bool(const std::string&)>& allowed) {
  ConstantPart part;
  part.model.proto.set_ir_version(model.proto.ir_version());
  *part.model.proto.mutable_opset_import() = model.proto.opset_import();
  onnx::GraphProto& out = *part.model.proto.mutable_graph();
  out.set_name("constants");

  const int opset = default_opset(model.proto);
  const std::set<std::string> outputs = outputs_left_alone(model, limits);
  std::set<std::string> constant = initializer_names(model);
  std::map<std::string, onnx::GraphProto*> made;  // value -> graph of its node
  for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      const bool reads_constants = std::all_of(node.input().begin(), node.input().end(), [&](const std::string& name) {
        return name.empty() || constant.contains(name);
      });
      const bool is_output = std::any_of(node.output().begin(), node.output().end(),
                                         [&](const std::string& name) { return outputs.contains(name); });
      if (!reads_constants || is_output || !may_fold(node, opset) || !small_enough(node, types, limits.max_bytes)) {
        continue;
      }
      if (!allowed(node.name())) continue;
      *out.add_node() = node;
      part.nodes.insert(node.name());
      for (const std::string& name : node.output()) {
        if (name.empty()) continue;
        constant.insert(name);
        made[name] = &graph;
      }
    }
  });

  std::set<std::string> inner_reads;
  for (const onnx::NodeProto& node : out.node()) inner_reads.insert(node.input().begin(), node.input().end());
  const std::vector<std::string> model_outputs = output_names(model);
  std::set<std::string> frontier(model_outputs.begin(), model_outputs.end());
  for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      if (!inner_reads.contains(tensor.name())) continue;
      *out.add_initializer() = tensor;
      const auto weight = model.weights.find(tensor.name());
      if (weight != model.weights.end()) part.model.weights.insert(*weight);
    }
    for (const onnx::NodeProto& node : graph.node()) {
      if (!part.nodes.contains(node.name())) frontier.insert(node.input().begin(), node.input().end());
    }
  });
  for (const auto& [name, graph] : made) {
    if (!frontier.contains(name)) continue;
    onnx::ValueInfoProto& output = *out.add_output();
    output.set_name(name);
    output.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(types.at(name).dtype));
    part.values.emplace_back(name, graph);
  }
  return part;
}

}  // namespace

Outcome fold_constants(Model& model, const Context& context) {
  Outcome outcome;
  int shapes = 0;
  int folded = 0;
  bool apart = false;           // node by node from now on
  std::set<std::string> stuck;  // nodes that the evaluator refuses alone
  const int rounds = context.fold.rounds > 0 ? context.fold.rounds : kMaxRounds;
  for (int round = 0; round < rounds;) {
    const Types types = infer_types(model);
    const int new_shapes = context.fold.shapes ? fold_shapes(model, types) : 0;
    shapes += new_shapes;
    std::string only;
    ConstantPart part = constant_part(model, types, context.fold, [&](const std::string& name) {
      if (stuck.contains(name)) return false;
      if (apart && only.empty()) only = name;
      return !apart || only == name;
    });
    if (!apart) ++round;
    if (part.nodes.empty()) {
      if (new_shapes == 0) break;
      continue;
    }
    std::vector<Tensor> values;
    try {
      if (!part.values.empty()) values = context.evaluate(part.model, {});
    } catch (const Error& failure) {
      if (context.fold.apart && failure.kind() != ErrorKind::Interrupted) {
        if (apart) stuck.insert(only);
        apart = true;
        continue;
      }
      outcome.notes.push_back({"constants-not-folded", {{"count", part.nodes.size()}, {"error", failure.what()}}});
      break;
    }
    if (values.size() != part.values.size()) {
      throw Error(ErrorKind::Internal,
                  fmt::format("constant folding asked for {} values and got {}", part.values.size(), values.size()));
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      add_initializer(model, *part.values[i].second, part.values[i].first, values[i]);
    }
    for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
      remove_nodes(graph, [&](const onnx::NodeProto& node) { return part.nodes.contains(node.name()); });
    });
    if (context.fold.rounds > 0) {  // who limits the passes wants to know what each of them did
      outcome.notes.push_back({"constants-folded-in-pass", {{"pass", round}, {"count", part.nodes.size()}}});
    }
    folded += static_cast<int>(part.nodes.size());
  }
  for (const std::string& name : stuck) {
    outcome.notes.push_back({"node-not-folded", {{"node", name}}});
  }
  remove_leftovers(model);
  if (shapes > 0) outcome.notes.push_back({"shapes-folded", {{"count", shapes}}});
  if (folded > 0 && context.fold.rounds == 0) outcome.notes.push_back({"constants-folded", {{"count", folded}}});
  return outcome;
}

}  // namespace vernier::passes
