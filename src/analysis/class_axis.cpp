#include "analysis/class_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "analysis/axis_moves.h"
#include "base/text.h"
#include "model/graph_walk.h"
#include "model/operator_traits.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr const char* kOption = "‹top1-axis›";
// Softmax computed over all axes from its own on before this version.
constexpr int kSoftmaxAlongOneAxis = 13;
// Operators between an output and what says its axis: a head has a few.
constexpr int kMostSteps = 64;

class Axes {
 public:
  explicit Axes(const Model& model) : walk_(model), types_(infer_types(model)), opset_(default_opset(model.proto)) {}

  std::optional<ClassAxis> of(const std::string& tensor, int steps = kMostSteps) {
    if (steps == 0) return std::nullopt;
    const auto known = known_.find(tensor);
    if (known != known_.end()) return known->second;
    return known_[tensor] = looked_up(tensor, steps - 1);
  }

  std::optional<std::size_t> rank(const std::string& tensor) const {
    const Shape* shape = shape_of(tensor);
    return shape == nullptr ? std::nullopt : std::optional(shape->size());
  }

 private:
  std::optional<ClassAxis> looked_up(const std::string& tensor, int steps) {
    for (const onnx::NodeProto* reader : walk_.readers(tensor)) {
      if (reader->input(0) != tensor) continue;
      if (auto axis = picked(*reader)) return axis;
    }
    const onnx::NodeProto* maker = walk_.maker(tensor);
    if (maker == nullptr || maker->input_size() == 0) return std::nullopt;
    if (auto axis = picked(*maker)) return axis;
    if (has(*maker, Trait::Convolves)) return ClassAxis{1, maker->op_type()};
    if (is_onnx(*maker, "Gemm")) return ClassAxis{1, maker->op_type()};
    if (is_onnx(*maker, "MatMul")) return counted_from_start({-1, maker->op_type()}, tensor);
    return through(*maker, tensor, steps);
  }

  const Shape* shape_of(const std::string& tensor) const {
    const auto type = types_.find(tensor);
    return type == types_.end() || !type->second.rank_known ? nullptr : &type->second.shape;
  }

  ClassAxis counted_from_start(ClassAxis axis, const std::string& tensor) const {
    if (const auto known = rank(tensor); known && axis.axis < 0) axis.axis += static_cast<int>(*known);
    return axis;
  }

  /// The axis along which a node compares what it reads.
  std::optional<ClassAxis> picked(const onnx::NodeProto& node) const {
    const std::string& tensor = node.input(0);
    if (is_onnx(node, "ArgMax")) {
      const auto axis = static_cast<int>(attribute_int(node, "axis", 0));
      return counted_from_start({axis, node.op_type(), /*picked=*/true, /*given=*/false, /*compared=*/true}, tensor);
    }
    if (!is_onnx(node, {"Softmax", "LogSoftmax", "Hardmax"})) return std::nullopt;
    if (opset_ >= kSoftmaxAlongOneAxis) {
      const auto axis = static_cast<int>(attribute_int(node, "axis", -1));
      return counted_from_start({axis, node.op_type(), /*picked=*/false, /*given=*/false, /*compared=*/true}, tensor);
    }
    const ClassAxis axis = counted_from_start(
        {static_cast<int>(attribute_int(node, "axis", 1)), node.op_type(), false, false, true}, tensor);
    const Shape* shape = shape_of(tensor);
    if (shape == nullptr || axis.axis < 0) return std::nullopt;
    const auto behind = static_cast<std::size_t>(axis.axis) + 1;
    const bool alone = behind <= shape->size() && std::all_of(shape->begin() + static_cast<std::ptrdiff_t>(behind),
                                                              shape->end(), [](std::int64_t dim) { return dim == 1; });
    return alone ? std::optional(axis) : std::nullopt;
  }

  /// The axis of what `node` reads, as that of `output`, which it makes of it.
  std::optional<ClassAxis> through(const onnx::NodeProto& node, const std::string& output, int steps) {
    if (is_onnx(node, "Transpose")) return transposed(node, of(node.input(0), steps));
    if (reshapes(node)) {
      return reshaped(node.input(0), output, of(node.input(0), steps));
    }
    const bool in_place = has(node, Traits(Trait::Elementwise) | Trait::ByChannel | Trait::Joins | Trait::Moves |
                                        Trait::Fills | Trait::Clips | Trait::StaysOnGrid | Trait::ChangesType) ||
                          is_onnx(node, {"Resize", "Upsample"});
    if (!in_place) return std::nullopt;
    for (const std::string& input : node.input()) {
      if (walk_.maker(input) == nullptr || rank(input) != rank(output)) continue;
      if (auto axis = of(input, steps)) return axis;
      if (!has(node, Traits(Trait::Elementwise) | Trait::Joins)) break;
    }
    return std::nullopt;
  }

  static std::optional<ClassAxis> transposed(const onnx::NodeProto& node, std::optional<ClassAxis> axis) {
    const auto moved = axis ? transposed_axis(node, axis->axis) : std::nullopt;
    if (!moved) return std::nullopt;
    axis->axis = *moved;
    return axis;
  }

  std::optional<ClassAxis> reshaped(const std::string& input, const std::string& output,
                                    std::optional<ClassAxis> axis) const {
    const Shape* from = shape_of(input);
    const Shape* to = shape_of(output);
    const auto moved = axis && from != nullptr && to != nullptr ? reshaped_axis(*from, *to, axis->axis) : std::nullopt;
    if (!moved) return std::nullopt;
    axis->axis = *moved;
    return axis;
  }

  std::map<std::string, std::optional<ClassAxis>> known_;
  const GraphWalk walk_;
  const std::map<std::string, ValueType> types_;
  const int opset_;
};

}  // namespace

std::map<std::string, ClassAxis> class_axes(const Model& model, const std::vector<std::string>& outputs,
                                            const std::vector<std::pair<std::string, int>>& given) {
  Axes axes(model);
  std::map<std::string, ClassAxis> found;
  for (const std::string& output : outputs) {
    if (auto axis = axes.of(output)) found[output] = *axis;
  }
  for (const auto& [name, axis] : given) {
    if (!name.empty() && std::ranges::find(outputs, name) == outputs.end()) {
      throw Error(ErrorCode::UnknownName, fmt::format("{}: '{}' is not a measured output", kOption, printable(name)),
                  "measured outputs: " + list_some(outputs));
    }
    for (const std::string& output : outputs) {
      if (!name.empty() && output != name) continue;
      const auto rank = axes.rank(output);
      const int count = rank ? static_cast<int>(*rank) : 0;
      if (rank && (axis < -count || axis >= count)) {
        throw Error(ErrorCode::BadValue, fmt::format("{}: output '{}' has no axis {}: its rank is {}", kOption,
                                                     printable(output), axis, *rank));
      }
      found[output] = {axis < 0 ? axis + count : axis, kOption, /*picked=*/false, /*given=*/true, /*compared=*/true};
    }
  }
  return found;
}

}  // namespace vernier
