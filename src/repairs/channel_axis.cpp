#include "repairs/channel_axis.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "model/operator_traits.h"
#include "vernier/tensor.h"

namespace vernier {

bool ChannelAxis::moves(const onnx::NodeProto& node) {
  static const std::set<std::string> kMoves = {"Identity",  "Dropout",   "Neg",    "Reshape",   "Flatten",
                                               "Transpose", "Gather",    "Slice",  "Split",     "Concat",
                                               "Squeeze",   "Unsqueeze", "Expand", "ReduceMean"};
  return of_onnx(node) && kMoves.contains(node.op_type()) && node.input_size() > 0;
}

std::optional<int> ChannelAxis::go(const onnx::NodeProto& node, int from_end, bool forward) const {
  const std::string& op = node.op_type();
  if (op == "Identity" || op == "Neg" || op == "Dropout") return from_end;
  if (op == "Expand") {  // but for constants, what it expands are other axes
    const bool has_channels =
        is_initializer(graph_.model, node.input(0)) || graph_.size_at(node.input(0), from_end) == width_;
    return has_channels ? std::optional(from_end) : std::nullopt;
  }
  if (op == "Reshape" || op == "Flatten") return reshaped(node, from_end, forward);
  if (op == "Transpose") return transposed(node, from_end, forward);
  if (op == "Concat" || op == "Split") {
    const std::optional<int> axis = axis_from_end(node.input(0), attribute_int(node, "axis", 0));
    return axis && *axis != from_end ? std::optional(from_end) : std::nullopt;
  }
  if (op == "Slice") return sliced(node, from_end);
  if (op == "Gather") return gathered(node, from_end, forward);
  const bool reduces = op == "ReduceMean";
  const auto axes = graph_.ints(node, "axes", 1);
  if (!axes) return std::nullopt;
  if (reduces && attribute_int(node, "keepdims", 1) != 0) {
    for (const std::int64_t axis : *axes) {
      const std::optional<int> other = axis_from_end(node.input(0), axis);
      if (!other || *other == from_end) return std::nullopt;
    }
    return from_end;
  }
  // Axes that are there on one side only: of what a Squeeze or ReduceMean reads, or of what an Unsqueeze makes.
  const bool taken_out = op != "Unsqueeze";
  const std::string& longer = taken_out ? node.input(0) : node.output(0);
  std::set<int> extra;
  for (const std::int64_t axis : *axes) {
    const std::optional<int> other = axis_from_end(longer, axis);
    if (!other) return std::nullopt;
    extra.insert(*other);
  }
  const bool to_shorter = taken_out == forward;
  if (to_shorter) {
    if (extra.contains(from_end)) return std::nullopt;
    return from_end - static_cast<int>(std::ranges::count_if(extra, [&](int e) { return e < from_end; }));
  }
  int place = 0;
  for (int left = from_end;; ++place) {
    if (extra.contains(place)) continue;
    if (left-- == 0) return place;
  }
}

std::optional<int> ChannelAxis::axis_from_end(const std::string& tensor, std::int64_t axis) const {
  if (axis < 0) return static_cast<int>(-1 - axis);
  const std::optional<Shape> shape = graph_.shape_of(tensor);
  if (!shape || axis >= static_cast<std::int64_t>(shape->size())) return std::nullopt;
  return static_cast<int>(shape->size()) - 1 - static_cast<int>(axis);
}

std::optional<int> ChannelAxis::transposed(const onnx::NodeProto& node, int from_end, bool forward) const {
  const std::vector<std::int64_t> order = attribute_ints(node, "perm");
  if (order.empty()) return std::nullopt;
  const int rank = static_cast<int>(order.size());
  const int axis = rank - 1 - from_end;
  if (axis < 0) return std::nullopt;
  if (!forward) return rank - 1 - static_cast<int>(order[static_cast<std::size_t>(axis)]);
  const auto found = std::ranges::find(order, axis);
  if (found == order.end()) return std::nullopt;
  return rank - 1 - static_cast<int>(found - order.begin());
}

std::optional<int> ChannelAxis::sliced(const onnx::NodeProto& node, int from_end) const {
  const auto axes = graph_.ints(node, "axes", 3);
  if (!axes) return std::nullopt;
  for (const std::int64_t axis : *axes) {
    const std::optional<int> other = axis_from_end(node.input(0), axis);
    if (!other || *other == from_end) return std::nullopt;
  }
  return from_end;
}

std::optional<int> ChannelAxis::gathered(const onnx::NodeProto& node, int from_end, bool forward) const {
  const std::optional<int> axis = axis_from_end(node.input(0), attribute_int(node, "axis", 0));
  if (!axis || *axis == from_end) return std::nullopt;
  if (from_end < *axis) return from_end;
  const std::optional<Shape> places = graph_.shape_of(node.input(1));
  if (!places) return std::nullopt;
  const int more = static_cast<int>(places->size()) - 1;  // axes of the result
  if (forward) return from_end + more;
  if (from_end <= *axis + more) return std::nullopt;  // one of the axes of the places
  return from_end - more;
}

std::optional<int> ChannelAxis::reshaped(const onnx::NodeProto& node, int from_end, bool forward) const {
  const std::string& from = forward ? node.input(0) : node.output(0);
  const std::string& to = forward ? node.output(0) : node.input(0);
  const std::optional<Shape> before = graph_.shape_of(from);
  const std::optional<Shape> after = graph_.shape_of(to);
  if (from_end == 0) {
    if (after && !after->empty() && after->back() == width_) return 0;
    return !after || after->empty() || after->back() < 0 ? confirmed(to) : std::nullopt;
  }
  if (!before || !after || static_cast<int>(before->size()) <= from_end) return std::nullopt;
  const auto behind = [](const Shape& shape, int distance) {
    std::int64_t product = 1;
    for (int i = 0; i < distance; ++i) {
      const std::int64_t size = shape[shape.size() - 1 - static_cast<std::size_t>(i)];
      if (size < 0) return std::int64_t{-1};
      product *= size;
    }
    return product;
  };
  const std::int64_t wanted = behind(*before, from_end);
  for (int distance = 0; distance < static_cast<int>(after->size()); ++distance) {
    if ((*after)[after->size() - 1 - static_cast<std::size_t>(distance)] != width_) continue;
    if (wanted >= 0 && behind(*after, distance) == wanted) return distance;
    // Sizes that are not known: the channels are the second axis of pictures, and stay so.
    if (wanted < 0 && before->size() - static_cast<std::size_t>(from_end) == 2 &&
        after->size() - static_cast<std::size_t>(distance) == 2) {
      return distance;
    }
  }
  return std::nullopt;
}

std::optional<int> ChannelAxis::confirmed(const std::string& tensor) const {
  const auto is_width = [&](const onnx::NodeProto& node, std::size_t axis) {
    const std::optional<WeightSeen> weight = graph_.weight_of(node);
    if (!weight || node.op_type() == "Conv") return false;
    const bool turned = node.op_type() == "Gemm" && attribute_int(node, "transB", 0) != 0;
    return weight->shape[turned ? 1 - axis : axis] == width_;
  };
  const onnx::NodeProto* maker = graph_.walk.maker(tensor);
  if (maker != nullptr && is_width(*maker, 1)) return 0;
  for (const onnx::NodeProto* reader : graph_.walk.readers(tensor)) {
    if (reader->input(0) == tensor && is_width(*reader, 0)) return 0;
  }
  return graph_.norms.contains(tensor) ? std::optional(0) : std::nullopt;
}

}  // namespace vernier
