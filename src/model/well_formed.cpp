#include "model/well_formed.h"

#include <fmt/format.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/elements.h"
#include "base/text.h"
#include "model/graph_edit.h"
#include "model/model.h"
#include "model/operator_traits.h"

namespace vernier {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// Graphs nest by If, Loop and Scan, and functions by calls; deeper than this is an attack, not a network.
constexpr int kMaxDepth = 64;
// A turn of a Loop takes a microsecond at least: this many take more than half an hour.
constexpr double kMaxTurns = 2147483648.0;
// The largest networks have some ten thousand nodes.
constexpr std::size_t kMaxUnfolded = 2'000'000;

/// Ends the walk: the first malformation is the answer.
struct Found {
  Malformation what;
};

std::string in_words(const onnx::NodeProto& node) {
  const std::string operator_name = printable(node.op_type());
  return node.name().empty() ? fmt::format("a node ({}) without a name", operator_name)
                             : fmt::format("node '{}' ({})", printable(node.name()), operator_name);
}

std::vector<std::string> named(const onnx::NodeProto& node) {
  return node.name().empty() ? std::vector<std::string>() : std::vector{node.name()};
}

class Walk {
 public:
  explicit Walk(const onnx::ModelProto& model) : model_(model) {
    for (const onnx::FunctionProto& function : model.functions()) functions_[key_of(function)].function = &function;
  }

  void run() {
    look_at_imports(model_.opset_import(), "the model");
    opset_ = std::max(1, default_opset(model_));
    look_at(model_.graph(), 0);
    for (const onnx::FunctionProto& function : model_.functions()) {
      look_at_imports(function.opset_import(), fmt::format("function '{}'", printable(function.name())));
      opset_ = 0;  // without an import of ONNX's operators nothing is known of them
      for (const onnx::OperatorSetIdProto& import : function.opset_import()) {
        if (import.domain().empty() || import.domain() == "ai.onnx") opset_ = static_cast<int>(import.version());
      }
      for (const onnx::NodeProto& node : function.node()) look_at(node, 0);
    }
    unfolded(model_.graph().node(), 0);
  }

 private:
  struct Callee {
    const onnx::FunctionProto* function = nullptr;
    std::size_t nodes = 0;  // unfolded; 0: not counted yet
    bool open = false;      // being counted: who meets it now calls itself
  };

  template <class Named>
  static std::pair<std::string, std::string> key_of(const Named& function) {
    if constexpr (requires { function.op_type(); }) {
      return {function.domain(), function.op_type()};
    } else {
      return {function.domain(), function.name()};
    }
  }

  /// Readers take the first, the last or the newest of two: what the operators mean would be a matter of luck.
  static void look_at_imports(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports,
                              const std::string& whose) {
    std::map<std::string, std::int64_t> versions;
    for (const onnx::OperatorSetIdProto& import : imports) {
      const std::string domain = import.domain().empty() ? "ai.onnx" : import.domain();
      const auto [known, fresh] = versions.emplace(domain, import.version());
      if (fresh || known->second == import.version()) continue;
      throw Found{{fmt::format("{} imports domain '{}' twice, in versions {} and {}", whose, printable(domain),
                               known->second, import.version()),
                   {}}};
    }
  }

  void look_at(const onnx::GraphProto& graph, int depth) {
    if (depth > kMaxDepth) throw Found{{fmt::format("subgraphs nest more than {} deep", kMaxDepth), {}}};
    std::set<std::string> names;
    for (const onnx::ValueInfoProto& input : graph.input()) {
      look_at_name(input.name());
      if (!names.insert(input.name()).second) {
        throw Found{{fmt::format("two inputs of a graph have the name '{}'", printable(input.name())), {}}};
      }
    }
    names.clear();
    const auto initializer = [&](const std::string& name) {
      if (names.insert(name).second) return;
      throw Found{{fmt::format("two initializers of a graph have the name '{}'", printable(name)), {}}};
    };
    for (const onnx::TensorProto& tensor : graph.initializer()) initializer(tensor.name());
    for (const onnx::SparseTensorProto& tensor : graph.sparse_initializer()) initializer(tensor.values().name());
    for (const onnx::NodeProto& node : graph.node()) {
      look_at(node, depth);
      look_at_loop(node, graph);
    }
  }

  /// C interfaces, ONNX Runtime's among them, take names to end at the first zero.
  static void look_at_name(const std::string& name) {
    if (name.find('\0') != std::string::npos) {
      throw Found{{fmt::format("the name '{}' has a zero byte in it", printable(name)), {}}};
    }
  }

  void look_at(const onnx::NodeProto& node, int depth) {
    look_at_name(node.name());
    for (const std::string& name : node.input()) look_at_name(name);
    for (const std::string& name : node.output()) look_at_name(name);
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) look_at(attribute.g(), depth + 1);
      for (const onnx::GraphProto& body : attribute.graphs()) look_at(body, depth + 1);
    }
    look_at_arity(node);
  }

  /// A Loop whose body hands its condition on ends only after its trip count.
  void look_at_loop(const onnx::NodeProto& node, const onnx::GraphProto& graph) const {
    const onnx::AttributeProto* body = find_attribute(node, "body");
    if (!is_onnx(node, "Loop") || body == nullptr || node.input_size() < 2) return;
    if (body->g().input_size() < 2 || body->g().output_size() < 1) return;
    const std::string& handed_on = body->g().output(0).name();
    const bool same = std::ranges::any_of(body->g().node(), [&](const onnx::NodeProto& inner) {
      return is_onnx(inner, "Identity") && inner.output_size() == 1 && inner.output(0) == handed_on &&
             inner.input_size() == 1 && inner.input(0) == body->g().input(1).name();
    });
    if (!same && handed_on != body->g().input(1).name()) return;
    const std::optional<double> goes_on = node.input(1).empty() ? 1.0 : constant(graph, node.input(1));
    const std::optional<double> turns = node.input(0).empty() ? HUGE_VAL : constant(graph, node.input(0));
    if (goes_on.value_or(0) == 0 || turns.value_or(0) <= kMaxTurns) return;
    throw Found{{std::isinf(*turns) ? fmt::format("{} never ends", in_words(node))
                                    : fmt::format("{} takes {:.0f} turns: it would not end", in_words(node), *turns),
                 named(node)}};
  }

  /// Of one element, where a graph says what it is.
  static std::optional<double> constant(const onnx::GraphProto& graph, const std::string& name) {
    const onnx::TensorProto* value = nullptr;
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      if (tensor.name() == name) value = &tensor;
    }
    for (const onnx::NodeProto& node : graph.node()) {
      const onnx::AttributeProto* held = find_attribute(node, "value");
      if (is_onnx(node, "Constant") && node.output_size() == 1 && node.output(0) == name && held != nullptr) {
        value = &held->t();
      }
    }
    if (value == nullptr || value->data_location() == onnx::TensorProto::EXTERNAL) return std::nullopt;
    if (value->data_type() != onnx::TensorProto::INT64 && value->data_type() != onnx::TensorProto::BOOL)
      return std::nullopt;
    const Tensor tensor = tensor_of(*value);
    if (tensor.count() != 1) return std::nullopt;
    std::vector<double> room;
    return read_block<double>(tensor, 0, 1, room).front();
  }

  void look_at_arity(const onnx::NodeProto& node) const {
    if (!of_onnx(node) || opset_ == 0 || functions_.contains(key_of(node))) return;
    const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), opset_, "");
    if (schema == nullptr) return;
    const auto require = [&](const char* what, int count, int least) {
      if (count >= least) return;
      throw Found{{fmt::format("{} has {}, its operator needs {}", in_words(node),
                               plural(static_cast<std::size_t>(count), what), least),
                   named(node)}};
    };
    require("input", node.input_size(), schema->min_input());
    require("output", node.output_size(), schema->min_output());
  }

  /// How many nodes are there once every call is replaced by what it calls.
  std::size_t unfolded(const Nodes& nodes, int depth) {
    std::size_t count = 0;
    for (const onnx::NodeProto& node : nodes) {
      count += 1 + called(node, depth);
      for_each_body(node, [&](const onnx::GraphProto& body) { count += unfolded(body.node(), depth); });
      if (count > kMaxUnfolded) {
        throw Found{{fmt::format("the model's functions unfold to more than {} nodes", kMaxUnfolded), named(node)}};
      }
    }
    return count;
  }

  std::size_t called(const onnx::NodeProto& node, int depth) {
    const auto found = functions_.find(key_of(node));
    if (found == functions_.end()) return 0;
    Callee& callee = found->second;
    const std::string name = printable(callee.function->name());
    if (callee.open) throw Found{{fmt::format("function '{}' calls itself", name), named(node)}};
    if (depth > kMaxDepth)
      throw Found{{fmt::format("calls of functions nest more than {} deep", kMaxDepth), named(node)}};
    if (callee.nodes == 0) {
      callee.open = true;
      callee.nodes = 1 + unfolded(callee.function->node(), depth + 1);
      callee.open = false;
    }
    return callee.nodes;
  }

  const onnx::ModelProto& model_;
  std::map<std::pair<std::string, std::string>, Callee> functions_;
  int opset_ = 1;
};

}  // namespace

std::optional<Malformation> malformation_of(const onnx::ModelProto& model) {
  try {
    Walk(model).run();
    return std::nullopt;
  } catch (const Found& found) {
    return found.what;
  }
}

}  // namespace vernier
