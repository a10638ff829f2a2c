#include "jobs/common/lint_graph.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/graph_edit.h"

namespace vernier {
namespace {

class GraphLint {
 public:
  GraphLint(const onnx::ModelProto& model, LintLog& log) : model_(model), log_(log) {}

  void run() {
    look_at_header();
    look_at_names(model_.graph(), {}, "");
  }

 private:
  void look_at_header() {
    if (!model_.has_graph()) log_.add(true, kChecker, "Field 'graph' of 'model' is required but missing.");
    if (model_.has_graph() && model_.graph().name().empty()) {
      log_.add(true, kChecker, "Field 'name' of 'graph' is required to be non-empty.");
    }
    if (model_.opset_import_size() == 0)
      log_.add(true, kChecker, "model with IR version >= 3 must specify opset_import for ONNX");
    if (model_.ir_version() <= 0) log_.add(true, kChecker, "the model has no IR version");
    if (model_.has_graph() && model_.graph().node_size() == 0) {
      log_.add(false, kLoader, "ONNX model has no nodes");
    }
  }

  void look_at_names(const onnx::GraphProto& graph, std::set<std::string> known, const std::string& where) {
    std::map<std::string, std::string> maker;
    const auto define = [&](const std::string& name, const std::string& by, bool by_node) {
      if (name.empty()) return;
      known.insert(name);
      const auto [first, fresh] = maker.emplace(name, by);
      if (!fresh) {
        log_.add(true, kChecker,
                 fmt::format("{}tensor '{}' is made twice: by {} and by {}", where, printable(name),
                             printable(first->second), printable(by)),
                 by_node ? std::vector{by} : std::vector<std::string>());
      }
    };
    std::set<std::string> inputs;
    for (const onnx::ValueInfoProto& value : graph.input()) {
      inputs.insert(value.name());
      define(value.name(), "the graph's inputs", false);
      // Bodies may leave it out (onnx/checker.cc).
      if (where.empty() && value.type().has_tensor_type() && !value.type().tensor_type().has_shape()) {
        log_.add(true, kChecker,
                 fmt::format("input '{}' has no shape, not even one with open sizes", printable(value.name())));
      }
    }
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      if (!inputs.contains(tensor.name())) define(tensor.name(), "an initializer", false);
    }
    for (const onnx::SparseTensorProto& tensor : graph.sparse_initializer()) {
      define(tensor.values().name(), "an initializer", false);
    }
    std::set<std::string> made_somewhere;
    for (const onnx::NodeProto& node : graph.node()) {
      made_somewhere.insert(node.output().begin(), node.output().end());
    }
    std::map<std::string, std::vector<int>> names;
    std::set<std::string> values;
    for (const onnx::ValueInfoProto& value : graph.value_info()) {
      if (!values.insert(value.name()).second) {
        log_.add(false, kGraph, fmt::format("{}value_info of '{}' appears twice", where, printable(value.name())));
      }
    }
    for (int i = 0; i < graph.node_size(); ++i) {
      if (!graph.node(i).name().empty()) names[graph.node(i).name()].push_back(i);
    }
    for (const auto& [name, places] : names) {
      if (places.size() < 2) continue;
      log_.add(true, kGraph,
               fmt::format("{}Duplicate node name: '{}' for nodes with topological IDs: [{}] found.", where,
                           printable(name), fmt::join(places, ", ")),
               {name});
    }
    for (const onnx::NodeProto& node : graph.node()) {
      const std::string name = where.empty() ? log_.name_of(node) : node.name();
      for (const std::string& input : node.input()) {
        if (input.empty()) continue;
        if (known.contains(input)) continue;
        if (made_somewhere.contains(input)) {
          log_.add(
              false, kChecker,
              fmt::format("{}Nodes in a graph must be topologically sorted, however input '{}' of node: {} is made "
                          "behind it",
                          where, printable(input), printable(name)),
              {name});
        } else {
          log_.add(true, kGraph,
                   fmt::format("{}node {} reads '{}', which nothing makes", where, printable(name), printable(input)),
                   {name});
        }
      }
      for (const std::string& output : node.output()) define(output, name, true);
      for_each_body(node, [&](const onnx::GraphProto& body) {
        look_at_names(body, known, fmt::format("{}body of '{}': ", where, printable(name)));
      });
    }
    for (const onnx::ValueInfoProto& output : graph.output()) {
      if (!known.contains(output.name())) {
        log_.add(true, kGraph, fmt::format("{}graph output '{}' is made by nothing", where, printable(output.name())));
      }
    }
    if (where.empty()) look_at_unused(graph);
    look_at_unread_constants(graph, inputs, where);
  }

  void look_at_unread_constants(const onnx::GraphProto& graph, const std::set<std::string>& inputs,
                                const std::string& where) {
    std::set<std::string> read;
    for (const onnx::NodeProto& node : graph.node()) read.merge(tensors_read(node));
    for (const onnx::ValueInfoProto& output : graph.output()) read.insert(output.name());
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      if (read.contains(tensor.name()) || inputs.contains(tensor.name())) continue;
      log_.add(
          false, kGraph,
          fmt::format("{}Initializer: '{}' is not used by any node, can be removed.", where, printable(tensor.name())));
    }
  }

  /// Nodes and inputs that no output depends on, by whatever path.
  void look_at_unused(const onnx::GraphProto& graph) {
    std::map<std::string, const onnx::NodeProto*> maker;
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& output : node.output()) maker.emplace(output, &node);
    }
    std::set<std::string> needed;
    std::set<const onnx::NodeProto*> used;
    std::vector<std::string> open;
    for (const onnx::ValueInfoProto& output : graph.output()) open.push_back(output.name());
    while (!open.empty()) {
      const std::string name = std::move(open.back());
      open.pop_back();
      if (!needed.insert(name).second) continue;
      const auto made = maker.find(name);
      if (made == maker.end() || !used.insert(made->second).second) continue;
      for (const std::string& read : tensors_read(*made->second)) open.push_back(read);
    }
    std::set<std::string> constants;
    for (const onnx::TensorProto& tensor : graph.initializer()) constants.insert(tensor.name());
    for (const onnx::ValueInfoProto& input : graph.input()) {
      if (needed.contains(input.name()) || constants.contains(input.name())) continue;
      log_.add(false, kGraph,
               fmt::format("Input: '{}' does not affect outputs, can be removed.", printable(input.name())));
    }
    for (const onnx::NodeProto& node : graph.node()) {
      if (!used.contains(&node))
        log_.add(false, kGraph, "Does not affect outputs, can be removed.", {log_.name_of(node)});
    }
  }

  const onnx::ModelProto& model_;
  LintLog& log_;
};

}  // namespace

void lint_graph(const onnx::ModelProto& model, LintLog& log) { GraphLint(model, log).run(); }

}  // namespace vernier
