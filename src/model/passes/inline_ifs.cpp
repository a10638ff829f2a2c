#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/tensor.h"

namespace vernier::passes {
namespace {

bool is_if(const onnx::NodeProto& node) { return is_onnx(node, "If"); }

/// Renames a tensor that `body` produces, and its readers.
void rename_tensor(onnx::GraphProto& body, const std::string& from, const std::string& to) {
  rename_reads(body, from, to);
  for (onnx::NodeProto& node : *body.mutable_node()) {
    for (std::string& output : *node.mutable_output()) {
      if (output == from) output = to;
    }
  }
}

/// Puts the nodes of one branch in the place of the If. Names are unique over all graphs, so nothing can clash.
void splice(Model& model, onnx::GraphProto& parent, int index, bool condition) {
  const onnx::NodeProto node = parent.node(index);
  const onnx::AttributeProto* branch = find_attribute(node, condition ? "then_branch" : "else_branch");
  if (branch == nullptr || branch->g().output_size() != node.output_size()) {
    throw Error(ErrorCode::InvalidModel,
                fmt::format("node '{}' (If) has {} outputs, its {} branch another number", printable(node.name()),
                            node.output_size(), condition ? "then" : "else"));
  }
  onnx::GraphProto body = branch->g();
  NamePool names(model);
  std::vector<onnx::NodeProto> copies;
  std::map<std::string, std::string> renamed;
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    const std::string inner = branch->g().output(i).name();
    const bool produced = std::any_of(body.node().begin(), body.node().end(), [&](const onnx::NodeProto& made) {
      return std::find(made.output().begin(), made.output().end(), inner) != made.output().end();
    });
    if (produced) {
      rename_tensor(body, inner, node.output(i));
      renamed[inner] = node.output(i);
      continue;
    }
    // An initializer, a tensor from outside, or one that already is another output: it keeps its name.
    onnx::NodeProto& copy = copies.emplace_back();
    copy.set_op_type("Identity");
    copy.set_name(names.unique(node.name() + "/Identity"));
    copy.add_input(renamed.contains(inner) ? renamed[inner] : inner);
    copy.add_output(node.output(i));
  }
  std::vector<onnx::NodeProto> nodes(body.node().begin(), body.node().end());
  nodes.insert(nodes.end(), copies.begin(), copies.end());
  parent.mutable_initializer()->MergeFrom(body.initializer());
  parent.mutable_sparse_initializer()->MergeFrom(body.sparse_initializer());
  replace_node(parent, index, std::move(nodes));
}

bool truth_of(const Tensor& value, const onnx::NodeProto& node) {
  if (value.dtype() != Dtype::Bool || value.count() != 1) {
    throw Error(ErrorCode::InvalidModel,
                fmt::format("the condition of node '{}' (If) is {} {}, not one bool", printable(node.name()),
                            dtype_name(value.dtype()), shape_text(value.shape())));
  }
  return value.bytes()[0] != std::byte{0};
}

int inline_constant_ifs(Model& model) {
  int count = 0;
  for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (int i = 0; i < graph.node_size(); ++i) {
      if (!is_if(graph.node(i)) || graph.node(i).input_size() != 1) continue;
      const std::optional<Tensor> condition = initializer(model, graph.node(i).input(0));
      if (!condition) continue;
      splice(model, graph, i, truth_of(*condition, graph.node(i)));
      ++count;
      --i;  // the branch's first node stands here now, and may be an If itself
    }
  });
  return count;
}

/// The Ifs of the main graph whose condition is the same for all samples, inlined; one note each.
std::vector<Note> inline_steady_ifs(Model& model, const Context& context) {
  const onnx::GraphProto& graph = model.proto.graph();
  std::vector<std::string> conditions;
  for (const onnx::NodeProto& node : graph.node()) {
    if (is_if(node) && std::find(conditions.begin(), conditions.end(), node.input(0)) == conditions.end()) {
      conditions.push_back(node.input(0));
    }
  }
  if (conditions.empty()) return {};
  const Model probe = cut(model, conditions, infer_types(model));
  std::map<std::string, std::set<bool>> seen;
  const std::size_t samples = context.options.samples;
  const auto undecided = [&] {
    return seen.empty() ||
           std::any_of(seen.begin(), seen.end(), [](const auto& condition) { return condition.second.size() == 1; });
  };
  for (std::size_t index = 0; index < samples && undecided(); ++index) {
    const std::vector<Tensor> values = context.evaluate(probe, context.options.sample_at(index));
    for (std::size_t i = 0; i < conditions.size(); ++i) {
      const auto reader = std::find_if(graph.node().begin(), graph.node().end(), [&](const onnx::NodeProto& node) {
        return is_if(node) && node.input(0) == conditions[i];
      });
      seen[conditions[i]].insert(truth_of(values.at(i), *reader));
    }
  }
  std::vector<Note> notes;
  for (int i = 0; i < graph.node_size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    if (!is_if(node) || !seen.contains(node.input(0)) || seen[node.input(0)].size() != 1) continue;
    const bool taken = *seen[node.input(0)].begin();
    notes.push_back(
        {"if-inlined", {{"node", node.name()}, {"condition", node.input(0)}, {"taken", taken}, {"samples", samples}}});
    splice(model, *model.proto.mutable_graph(), i, taken);
    --i;
  }
  return notes;
}

/// A branch may have given a Range one element along an axis, which kernels take at run time; of a constant the shape
/// is checked, and must be a scalar's.
void make_range_constants_scalar(Model& model) {
  NamePool names(model);
  for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      if (!is_onnx(node, "Range")) continue;
      for (std::string& input : *node.mutable_input()) {
        const std::optional<Tensor> value = initializer(model, input);
        if (!value || value->shape().empty() || value->count() != 1) continue;
        Tensor scalar(value->dtype(), Shape{});
        std::ranges::copy(value->bytes(), scalar.mutable_bytes().begin());
        input = names.unique(input + "_scalar");
        set_initializer(model, graph, input, scalar);
      }
    }
  });
}

}  // namespace

Outcome inline_ifs(Model& model, const Context& context) {
  Outcome outcome;
  int constant = 0;
  for (;;) {
    const int now = inline_constant_ifs(model);
    constant += now;
    std::vector<Note> steady;
    if (now == 0 && context.options.inline_ifs && context.options.samples > 0) {
      steady = inline_steady_ifs(model, context);
    }
    if (now == 0 && steady.empty()) break;
    append(outcome.notes, steady);
    outcome.changed_arithmetic = outcome.changed_arithmetic || !steady.empty();
    // A branch brings constants and nodes that the condition made constant: what decides the next If may be among them.
    for (const auto pass : {constants_to_initializers, fold_constants}) {
      const Outcome folded = pass(model, context);
      append(outcome.notes, folded.notes);
    }
  }
  if (constant > 0) outcome.notes.push_back({"constant-ifs-inlined", {{"count", constant}}});
  if (!outcome.notes.empty()) {
    make_range_constants_scalar(model);
    remove_leftovers(model);
  }
  return outcome;
}

}  // namespace vernier::passes
