#include "plan/skip_branch.h"

#include <algorithm>
#include <map>
#include <vector>

#include "model/graph_edit.h"
#include "model/output_channels.h"
#include "plan/typed_weights.h"

namespace vernier {
namespace {

bool weighted(const onnx::NodeProto* node) { return node != nullptr && has_weight_axis(*node); }

/// Makers and readers of the tensors of one graph. A reader is null for a graph output and for a body.
class Surroundings {
 public:
  explicit Surroundings(const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& output : node.output()) makers_[output] = &node;
      for (const std::string& input : node.input()) readers_[input].push_back(&node);
      for_each_body(node, [&](const onnx::GraphProto& body) {
        for (const std::string& name : captured_names(body)) readers_[name].push_back(nullptr);
      });
    }
    for (const onnx::ValueInfoProto& output : graph.output()) readers_[output.name()].push_back(nullptr);
  }

  const onnx::NodeProto* maker(const std::string& tensor) const {
    const auto found = makers_.find(tensor);
    return found == makers_.end() ? nullptr : found->second;
  }
  const std::vector<const onnx::NodeProto*>& readers(const std::string& tensor) const {
    static const std::vector<const onnx::NodeProto*> kNobody;
    const auto found = readers_.find(tensor);
    return found == readers_.end() ? kNobody : found->second;
  }

 private:
  std::map<std::string, const onnx::NodeProto*> makers_;
  std::map<std::string, std::vector<const onnx::NodeProto*>> readers_;
};

const onnx::GraphProto* graph_of(const onnx::GraphProto& main, const onnx::NodeProto& wanted) {
  const onnx::GraphProto* found = nullptr;
  for_each_graph(main, [&](const onnx::GraphProto& graph) {
    if (std::ranges::any_of(graph.node(), [&](const auto& node) { return node.name() == wanted.name(); })) {
      found = &graph;
    }
  });
  return found;
}

std::optional<int> none(std::string* reason, const char* why) {
  if (reason != nullptr) *reason = why;
  return std::nullopt;
}

}  // namespace

bool is_residual(const onnx::NodeProto& node, Format format, Target target) {
  const bool scaled = format == Format::Int8 || format == Format::Float8E4M3FN || format == Format::Float8E5M2;
  return target == Target::TensorRt && node.op_type() == "Add" && scaled;
}

bool names_add(const PrecisionOptions& precision) {
  return std::ranges::find(precision.selection.op_types, "Add") != precision.selection.op_types.end();
}

std::optional<int> skip_branch(const Model& model, const onnx::NodeProto& add, std::string* reason) {
  const onnx::GraphProto* graph = graph_of(model.proto.graph(), add);
  if (graph == nullptr || add.op_type() != "Add" || add.input_size() != 2 || add.output_size() != 1) {
    return none(reason, "it is not an Add of two tensors");
  }
  const Surroundings around(*graph);
  const auto made_for_it = [&](int i) {
    return weighted(around.maker(add.input(i))) && around.readers(add.input(i)).size() == 1;
  };
  const bool first = made_for_it(0);
  const bool second = made_for_it(1);
  if (!first && !second) return none(reason, "no weighted operator makes one of its inputs for it alone");
  const auto of_a_fork = [&](int i) { return around.readers(around.maker(add.input(i))->input(0)).size() > 1; };
  int skip = first ? 1 : 0;
  if (first && second && of_a_fork(0) && !of_a_fork(1)) skip = 0;
  if (is_initializer(model, add.input(skip))) return none(reason, "its other input is a constant");
  const auto read_by_weighted = [&](const std::string& tensor) {
    return std::ranges::any_of(around.readers(tensor), weighted);
  };
  const auto& behind = around.readers(add.output(0));
  const bool clipped = behind.size() == 1 && behind.front() != nullptr && behind.front()->op_type() == "Relu";
  if (read_by_weighted(clipped ? behind.front()->output(0) : add.output(0))) return skip;
  return none(reason, "no weighted operator reads its sum");
}

}  // namespace vernier
