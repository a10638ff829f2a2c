#include "model/parts.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace vernier {
namespace {

bool makes_more_than_tensors(const onnx::GraphProto& main) {
  static const std::set<std::string> kMakers = {"SequenceConstruct", "SequenceEmpty", "SequenceInsert",
                                                "SequenceErase",     "SequenceMap",   "SplitToSequence",
                                                "Optional",          "ZipMap"};
  bool found = std::ranges::any_of(main.input(), [](const onnx::ValueInfoProto& input) {
    return input.has_type() && !input.type().has_tensor_type();
  });
  for_each_graph(main, [&](const onnx::GraphProto& graph) {
    found = found || std::ranges::any_of(graph.node(),
                                         [](const onnx::NodeProto& node) { return kMakers.contains(node.op_type()); });
  });
  return found;
}

/// What each node of the main graph reads and who makes it.
struct Links {
  std::vector<std::set<std::string>> reads;  // of each node, in the order of the graph
  std::map<std::string, std::size_t> maker;  // of each tensor that a node makes

  explicit Links(const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& output : node.output()) {
        if (!output.empty()) maker[output] = reads.size();
      }
      reads.push_back(tensors_read(node));
    }
  }
};

/// Each node after those that make what it reads, and those as late as that allows: measuring nodes, which stand at the
/// end of the graph, come to what they measure.
std::vector<std::size_t> run_order(const Links& links) {
  std::vector<std::size_t> order;
  std::vector<bool> seen(links.reads.size(), false);
  struct Visit {
    std::size_t node;
    std::set<std::string>::const_iterator next;
  };
  std::vector<Visit> path;  // not by recursion: a chain may be as long as the graph
  for (std::size_t root = 0; root < links.reads.size(); ++root) {
    if (seen[root]) continue;
    seen[root] = true;
    path.push_back({root, links.reads[root].begin()});
    while (!path.empty()) {
      Visit& visit = path.back();
      if (visit.next == links.reads[visit.node].end()) {
        order.push_back(visit.node);
        path.pop_back();
        continue;
      }
      const auto maker = links.maker.find(*visit.next++);
      if (maker == links.maker.end() || seen[maker->second]) continue;
      seen[maker->second] = true;
      path.push_back({maker->second, links.reads[maker->second].begin()});
    }
  }
  return order;
}

class Cutter {
 public:
  /// `starts`: the first place of each part in `order`, from 0 on.
  Cutter(const Model& model, Links links, std::vector<std::size_t> order, std::vector<std::size_t> starts)
      : graph_(model.proto.graph()),
        model_(model),
        links_(std::move(links)),
        order_(std::move(order)),
        starts_(std::move(starts)) {
    frame_.set_ir_version(model.proto.ir_version());
    *frame_.mutable_opset_import() = model.proto.opset_import();
    *frame_.mutable_functions() = model.proto.functions();
    for (std::size_t index = 0; index < starts_.size(); ++index) {
      for (std::size_t place = starts_[index]; place < end_of(index); ++place) {
        for (const std::string& read : links_.reads[order_[place]]) last_reader_[read] = index;
      }
    }
    for (const onnx::ValueInfoProto& output : graph_.output()) outputs_[output.name()] = &output;
    for (const onnx::ValueInfoProto& input : graph_.input()) inputs_[input.name()] = &input;
    for (const onnx::TensorProto& tensor : graph_.initializer()) initializers_[tensor.name()] = &tensor;
    for (const onnx::SparseTensorProto& tensor : graph_.sparse_initializer()) sparse_[tensor.values().name()] = &tensor;
  }

  std::vector<ModelPart> parts() {
    std::vector<ModelPart> parts;
    for (std::size_t index = 0; index < starts_.size(); ++index) parts.push_back(part(index));
    return parts;
  }

 private:
  std::size_t end_of(std::size_t index) const {
    return index + 1 < starts_.size() ? starts_[index + 1] : order_.size();
  }

  ModelPart part(std::size_t index) {
    ModelPart part;
    part.model.path = model_.path;
    part.model.proto = frame_;
    onnx::GraphProto& graph = *part.model.proto.mutable_graph();
    graph.set_name(graph_.name());
    std::set<std::string> reads;
    std::set<std::string> made;
    for (std::size_t place = starts_[index]; place < end_of(index); ++place) {
      const onnx::NodeProto& node = graph_.node(static_cast<int>(order_[place]));
      *graph.add_node() = node;
      reads.insert(links_.reads[order_[place]].begin(), links_.reads[order_[place]].end());
      made.insert(node.output().begin(), node.output().end());
    }
    made.erase("");
    if (index == 0) {
      // What is handed out as it came in.
      for (const auto& [name, output] : outputs_) {
        if (links_.maker.contains(name)) continue;
        reads.insert(name);
        *graph.add_output() = *output;
      }
    }
    for (const std::string& name : reads) {
      if (made.contains(name)) continue;
      if (const auto constant = initializers_.find(name); constant != initializers_.end()) {
        *graph.add_initializer() = *constant->second;
      } else if (const auto sparse = sparse_.find(name); sparse != sparse_.end()) {
        *graph.add_sparse_initializer() = *sparse->second;
      } else if (const auto input = inputs_.find(name); input != inputs_.end()) {
        *graph.add_input() = *input->second;
      } else if (links_.maker.contains(name)) {
        graph.add_input()->set_name(name);
      } else {
        continue;  // made inside a body
      }
      if (const auto weight = model_.weights.find(name); weight != model_.weights.end())
        part.model.weights.insert(*weight);
    }
    add_weights_of_bodies(graph, part.model);
    for (const std::string& name : made) {
      const auto output = outputs_.find(name);
      const auto reader = last_reader_.find(name);
      if (output != outputs_.end()) {
        *graph.add_output() = *output->second;
      } else if (reader != last_reader_.end() && reader->second > index) {
        graph.add_output()->set_name(name);
      }
    }
    for (const onnx::ValueInfoProto& input : graph.input()) {
      const auto reader = last_reader_.find(input.name());
      const bool later = reader != last_reader_.end() && reader->second > index;
      if (!later && !outputs_.contains(input.name())) part.last_reads.push_back(input.name());
    }
    return part;
  }

  void add_weights_of_bodies(const onnx::GraphProto& part, Model& model) const {
    for_each_graph(part, [&](const onnx::GraphProto& graph) {
      if (&graph == &part) return;
      for (const onnx::TensorProto& tensor : graph.initializer()) {
        const auto weight = model_.weights.find(tensor.name());
        if (weight != model_.weights.end()) model.weights.insert(*weight);
      }
    });
  }

  const onnx::GraphProto& graph_;
  const Model& model_;
  const Links links_;
  const std::vector<std::size_t> order_;
  const std::vector<std::size_t> starts_;
  onnx::ModelProto frame_;                          // all but the graph
  std::map<std::string, std::size_t> last_reader_;  // the part in which it is
  std::map<std::string, const onnx::ValueInfoProto*> outputs_;
  std::map<std::string, const onnx::ValueInfoProto*> inputs_;
  std::map<std::string, const onnx::TensorProto*> initializers_;
  std::map<std::string, const onnx::SparseTensorProto*> sparse_;
};

/// Types and shapes that the whole graph tells of the part's tensors, those that it begins with too.
void tell_of_tensors(onnx::GraphProto& part, const std::map<std::string, const onnx::ValueInfoProto*>& told) {
  std::set<std::string> outputs;
  for (const onnx::ValueInfoProto& output : part.output()) outputs.insert(output.name());
  for (onnx::ValueInfoProto& input : *part.mutable_input()) {
    const auto value = told.find(input.name());
    if (!input.has_type() && value != told.end()) input = *value->second;
  }
  for (const onnx::NodeProto& node : part.node()) {
    for (const std::string& name : node.output()) {
      const auto value = told.find(name);
      if (value != told.end() && !outputs.contains(name)) *part.add_value_info() = *value->second;
    }
  }
}

}  // namespace

std::vector<ModelPart> parts_of(const Model& model, std::size_t nodes, std::size_t bytes) {
  const bool small = static_cast<std::size_t>(model.proto.graph().node_size()) <= nodes && bytes_beside(model) <= bytes;
  if (small || makes_more_than_tensors(model.proto.graph())) return {{model, {}}};
  Links links(model.proto.graph());
  std::vector<std::size_t> order = run_order(links);
  std::vector<std::size_t> starts{0};
  std::set<std::string> read;  // weights of the part so far
  std::size_t read_bytes = 0;
  const auto read_also = [&](std::size_t node) {
    std::size_t more = 0;
    for (const std::string& name : links.reads[node]) {
      const auto weight = model.weights.find(name);
      if (weight != model.weights.end() && read.insert(name).second) more += weight->second.byte_size();
    }
    return more;
  };
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::size_t more = read_also(order[place]);
    read_bytes += more;
    const std::size_t behind = place - starts.back();
    if (behind == 0 || (behind < nodes && (more == 0 || read_bytes <= bytes))) continue;
    starts.push_back(place);
    read.clear();
    read_bytes = read_also(order[place]);
  }
  return Cutter(model, std::move(links), std::move(order), std::move(starts)).parts();
}

std::vector<ModelPart> parts_at(const Model& model, const std::vector<int>& starts) {
  const onnx::GraphProto& whole = model.proto.graph();
  if (starts.size() < 2 || makes_more_than_tensors(whole)) return {{model, {}}};
  std::vector<std::size_t> order(static_cast<std::size_t>(whole.node_size()));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<ModelPart> parts = Cutter(model, Links(whole), std::move(order), {starts.begin(), starts.end()}).parts();
  std::map<std::string, const onnx::ValueInfoProto*> told;
  for (const onnx::ValueInfoProto& value : whole.value_info()) told[value.name()] = &value;
  for (ModelPart& part : parts) tell_of_tensors(*part.model.proto.mutable_graph(), told);
  return parts;
}

}  // namespace vernier
