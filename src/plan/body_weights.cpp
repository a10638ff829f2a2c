#include "plan/body_weights.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "vernier/tensor.h"

namespace vernier {
namespace {

bool is_4_bit(const onnx::TensorProto& tensor) {
  const auto dtype = static_cast<Dtype>(tensor.data_type());
  return dtype == Dtype::Int4 || dtype == Dtype::UInt4;
}

/// Who holds and who reads initializers.
struct HeldWeights {
  struct Held {
    const onnx::GraphProto* graph = nullptr;
    bool is_4_bit = false;
    std::set<const onnx::GraphProto*> readers;
  };
  std::map<std::string, Held> by_name;
  std::vector<std::pair<onnx::GraphProto*, onnx::NodeProto*>> dequantizers;  // of bodies

  explicit HeldWeights(onnx::GraphProto& main) {
    for_each_graph(main, [&](onnx::GraphProto& graph) {
      for (const onnx::TensorProto& tensor : graph.initializer()) {
        by_name[tensor.name()] = {&graph, is_4_bit(tensor), {}};
      }
    });
    for_each_graph(main, [&](onnx::GraphProto& graph) {
      for (onnx::NodeProto& node : *graph.mutable_node()) {
        if (&graph != &main && node.op_type() == "DequantizeLinear") dequantizers.emplace_back(&graph, &node);
        for (const std::string& read : node.input()) add_reader(read, graph);
      }
      for (const onnx::ValueInfoProto& output : graph.output()) add_reader(output.name(), graph);
    });
  }

 private:
  void add_reader(const std::string& read, const onnx::GraphProto& graph) {
    if (const auto held = by_name.find(read); held != by_name.end()) held->second.readers.insert(&graph);
  }
};

bool has_bodies_in_4_bits(const onnx::GraphProto& main) {
  bool bodies = false, codes = false;
  for_each_graph(main, [&](const onnx::GraphProto& graph) {
    bodies = bodies || &graph != &main;
    for (const onnx::TensorProto& tensor : graph.initializer()) codes = codes || is_4_bit(tensor);
  });
  return bodies && codes;
}

}  // namespace

void hold_weights_in_bodies(Model& typed, NamePool& names) {
  onnx::GraphProto& main = *typed.proto.mutable_graph();
  if (!has_bodies_in_4_bits(main)) return;
  const HeldWeights held(main);
  struct InBody {
    std::string name;
    Tensor value;
  };
  std::map<std::pair<onnx::GraphProto*, std::string>, InBody> in_body;  // by the name that was read
  std::set<std::string> replaced;
  for (const auto& [graph, node] : held.dequantizers) {
    const auto codes = held.by_name.find(node->input(0));
    if (codes == held.by_name.end() || !codes->second.is_4_bit) continue;
    for (std::string& read : *node->mutable_input()) {
      const auto weight = held.by_name.find(read);
      if (weight == held.by_name.end() || weight->second.graph == graph) continue;
      const auto [place, fresh] = in_body.try_emplace({graph, read});
      if (fresh) {
        place->second = {weight->second.readers.size() > 1 ? names.unique(read) : read,
                         initializer(typed, read).value()};
        replaced.insert(read);
      }
      read = place->second.name;
    }
  }
  const HeldWeights left(main);
  std::erase_if(replaced, [&](const std::string& name) {
    return held.by_name.at(name).readers.size() > 1 && !left.by_name.at(name).readers.empty();
  });
  remove_initializers(typed, replaced);
  for (const auto& [place, held_there] : in_body)
    add_initializer(typed, *place.first, held_there.name, held_there.value);
  index_initializers(typed);
}

}  // namespace vernier
