#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/graph_edit.h"
#include "model/openvino_reader.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"
#include "model/pieces.h"
#include "vernier/tensor.h"

namespace vernier::passes {
namespace {

/// AveragePool(x) -> AveragePool(Pad(x)): what it counts is then part of its data. `pads_left` stay with the pool.
std::vector<onnx::NodeProto> padded_in_front(Model& model, onnx::GraphProto& graph, const onnx::NodeProto& pool,
                                             const std::vector<std::int64_t>& pads_left, NamePool& names) {
  constexpr int kPadsAreAnInput = 11;
  const std::vector<std::int64_t> of_pool = attribute_ints(pool, "pads");
  const std::size_t dims = pads_left.size() / 2;
  std::vector<std::int64_t> pads(2 * (dims + 2));
  for (std::size_t i = 0; i < dims; ++i) {
    pads[2 + i] = of_pool[i];
    pads[dims + 4 + i] = of_pool[dims + i];
  }
  Pieces pieces(model, graph, pool, names);
  std::vector<std::string> inputs{pool.input(0)};
  const bool as_input = default_opset(model.proto) >= kPadsAreAnInput;
  if (as_input) {
    inputs.push_back(pieces.constant("/pads", Tensor::of_int64({static_cast<std::int64_t>(pads.size())}, pads)));
  }
  const std::string padded = pieces.add("Pad", inputs);
  if (!as_input) set_attribute(pieces.last(), "pads", pads);
  pieces.add("AveragePool", {padded});
  std::vector<onnx::NodeProto> made = pieces.finish();
  made.back() = pool;
  made.back().set_input(0, padded);
  set_attribute(made.back(), "pads", pads_left);
  set_attribute(made.back(), "ceil_mode", std::int64_t{0});
  set_attribute(made.back(), "count_include_pad", std::int64_t{0});
  return made;
}

/// A pool whose `pads` hold the windows that ONNX has.
void without_ceil_mode(onnx::NodeProto& pool, const std::vector<std::int64_t>& pads) {
  // Without padding of its own, nothing that is added counts.
  const bool own = std::ranges::any_of(attribute_ints(pool, "pads"), [](std::int64_t pad) { return pad > 0; });
  if (is_onnx(pool, "AveragePool") && !own) set_attribute(pool, "count_include_pad", std::int64_t{0});
  set_attribute(pool, "pads", pads);
  set_attribute(pool, "ceil_mode", std::int64_t{0});
}

}  // namespace

Outcome spell_out_for_openvino(Model& model, const Context& /*context*/) {
  std::int64_t ratios = 0;
  std::int64_t pools = 0;
  std::map<std::string, ValueType> types;
  bool looked = false;
  NamePool names(model);
  const auto shape_of_data = [&](const onnx::NodeProto& node) {
    if (node.input_size() == 0 || attribute_int(node, "ceil_mode", 0) == 0) return Shape{};
    if (!std::exchange(looked, true)) types = infer_types(model);
    const auto type = types.find(node.input(0));
    return type == types.end() || !type->second.rank_known ? Shape{} : type->second.shape;
  };
  for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (int i = 0; i < graph.node_size(); ++i) {
      onnx::NodeProto& node = *graph.mutable_node(i);
      if (lacks_attribute_for_openvino(node)) {
        set_attribute(node, "sampling_ratio", std::int64_t{0});
        ++ratios;
      } else if (const auto padded = pads_behind_pad(node, shape_of_data(node))) {
        replace_node(graph, i, padded_in_front(model, graph, onnx::NodeProto(node), *padded, names));
        ++i;
        ++pools;
      } else if (const auto pads = pads_of_dropped_window(node, shape_of_data(node))) {
        without_ceil_mode(node, *pads);
        ++pools;
      }
    }
  });
  Outcome outcome;
  if (ratios > 0) outcome.notes.push_back({"sampling-ratio-written", {{"nodes", ratios}}});
  if (pools > 0) outcome.notes.push_back({"pools-spelled-out", {{"nodes", pools}}});
  return outcome;
}

}  // namespace vernier::passes
