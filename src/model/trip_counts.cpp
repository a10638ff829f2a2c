#include "model/trip_counts.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "model/graph_edit.h"
#include "model/operator_traits.h"

namespace vernier {

TripCounts::TripCounts(const Model& model, ShapeOf shape_of) : model_(model), shape_of_(std::move(shape_of)) {
  const std::function<void(const onnx::GraphProto&, const std::string&)> walk = [&](const onnx::GraphProto& graph,
                                                                                    const std::string& holder) {
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& output : node.output()) makers_.emplace(output, &node);
      if (!has_body(node)) continue;
      nodes_.emplace(node.name(), std::pair(&node, holder));
      for_each_body(node, [&](const onnx::GraphProto& body) { walk(body, node.name()); });
    }
  };
  walk(model.proto.graph(), "");
}

std::optional<std::int64_t> TripCounts::of(const std::string& holder) const {
  std::int64_t count = 1;
  for (std::string name = holder; !name.empty();) {
    const auto found = nodes_.find(name);
    if (found == nodes_.end()) return std::nullopt;
    const auto trips = trips_of(*found->second.first);
    if (!trips) return std::nullopt;
    count *= *trips;
    name = found->second.second;
  }
  return count;
}

std::optional<Tensor> TripCounts::constant(const std::string& tensor) const {
  const auto made = makers_.find(tensor);
  if (made == makers_.end()) return initializer(model_, tensor);
  if (is_onnx(*made->second, "Identity")) return constant(made->second->input(0));
  const onnx::AttributeProto* const value =
      is_onnx(*made->second, "Constant") ? find_attribute(*made->second, "value") : nullptr;
  return value == nullptr ? std::nullopt : std::optional(tensor_of(value->t()));
}

bool TripCounts::is_true(const std::string& tensor) const {
  const auto value = constant(tensor);
  return value && value->dtype() == Dtype::Bool && value->count() == 1 && value->bytes().front() != std::byte{0};
}

std::optional<std::int64_t> TripCounts::trips_of(const onnx::NodeProto& node) const {
  const onnx::AttributeProto* const body = find_attribute(node, "body");
  if (is_onnx(node, "If")) return 1;
  if (is_onnx(node, "Loop") && body != nullptr && node.input_size() > 0 && body->g().output_size() > 0) {
    const std::string condition = node.input_size() > 1 ? node.input(1) : std::string();
    const std::string& again = body->g().output(0).name();
    const auto made = makers_.find(again);
    const std::string kept =
        made != makers_.end() && is_onnx(*made->second, "Identity") ? made->second->input(0) : again;
    const bool handed_on = body->g().input_size() > 1 && kept == body->g().input(1).name();
    if ((!condition.empty() && !is_true(condition)) || (!handed_on && !is_true(again))) return std::nullopt;
    const auto count = node.input(0).empty() ? std::nullopt : constant(node.input(0));
    if (!count || count->dtype() != Dtype::Int64 || count->count() != 1) return std::nullopt;
    return std::max<std::int64_t>(count->int64s().front(), 0);
  }
  if (is_onnx(node, "Scan") && shape_of_ != nullptr) {
    const std::int64_t scanned = attribute_int(node, "num_scan_inputs", 0);
    const std::int64_t first = node.input_size() - scanned;
    if (scanned < 1 || first < 0) return std::nullopt;
    const auto shape = shape_of_(node.input(static_cast<int>(first)));
    const std::vector<std::int64_t> axes = attribute_ints(node, "scan_input_axes");
    std::int64_t axis = axes.empty() ? 0 : axes.front();
    if (shape && axis < 0) axis += std::ssize(*shape);
    if (!shape || axis < 0 || axis >= std::ssize(*shape)) return std::nullopt;
    const std::int64_t length = (*shape)[static_cast<std::size_t>(axis)];
    return length < 0 ? std::nullopt : std::optional(length);
  }
  return std::nullopt;
}

}  // namespace vernier
