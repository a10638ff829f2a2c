#include "analysis/moved_constant.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "analysis/axis_moves.h"
#include "model/operator_traits.h"
#include "plan/round_node.h"
#include "plan/simulate_typed.h"

namespace vernier {
namespace {

/// Puts the dimensions of `moved` in another order.
void transpose(MovedConstant& moved, const onnx::NodeProto& node) {
  const std::size_t rank = moved.shape.size();
  if (moved.places.empty()) {
    moved.places.resize(static_cast<std::size_t>(element_count(moved.shape)));
    std::iota(moved.places.begin(), moved.places.end(), std::size_t{0});
  }
  std::vector<std::int64_t> order = attribute_ints(node, "perm");
  for (std::size_t i = 0; order.size() < rank; ++i) order.push_back(static_cast<std::int64_t>(rank - 1 - i));
  std::vector<std::size_t> strides(rank, 1);
  for (std::size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * static_cast<std::size_t>(moved.shape[i]);
  Shape shape(rank);
  for (std::size_t i = 0; i < rank; ++i) shape[i] = moved.shape[static_cast<std::size_t>(order[i])];
  std::vector<std::size_t> places(moved.places.size()), at(rank, 0);
  for (std::size_t& place : places) {
    std::size_t from = 0;
    for (std::size_t i = 0; i < rank; ++i) from += at[i] * strides[static_cast<std::size_t>(order[i])];
    place = moved.places[from];
    for (std::size_t i = rank; i-- > 0 && ++at[i] == static_cast<std::size_t>(shape[i]);) at[i] = 0;
  }
  moved.shape = std::move(shape);
  moved.places = std::move(places);
}

}  // namespace

std::optional<MovedConstant> moved_constant(const Model& model, const Makers& made_by, const std::string& tensor,
                                            std::optional<std::map<std::string, ValueType>>& types) {
  std::vector<const onnx::NodeProto*> nodes;  // the last one first
  std::string source = tensor;
  while (!is_initializer(model, source)) {
    const auto made = made_by.find(source);
    if (made == made_by.end() || made->second->input_size() == 0 || nodes.size() > 16) return std::nullopt;
    nodes.push_back(made->second);
    source = made->second->input(0);
  }
  const auto constant = initializer(model, source);
  if (!constant || constant->dtype() != Dtype::Float32) return std::nullopt;
  MovedConstant moved{source, constant->shape(), {}};
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const onnx::NodeProto& step = **node;
    if (is_onnx(step, "Transpose")) {
      transpose(moved, step);
    } else if (reshapes(step)) {
      if (!types) types = infer_simulated_types(model);
      const auto type = types->find(step.output(0));
      if (type == types->end() || !type->second.rank_known) return std::nullopt;
      const bool known = std::ranges::all_of(type->second.shape, [](std::int64_t size) { return size >= 0; });
      if (!known || element_count(type->second.shape) != constant->count()) return std::nullopt;
      moved.shape = type->second.shape;
    } else if (step.op_type() != "Round" && !is_onnx(step, "Identity") && !is_onnx(step, "Cast")) {
      return std::nullopt;
    }
  }
  return moved;
}

Tensor in_places_of(const MovedConstant& moved, const Tensor& read, const Shape& stored) {
  if (moved.places.empty()) return Tensor::of(stored, read.floats());
  Tensor values(Dtype::Float32, stored);
  for (std::size_t i = 0; i < moved.places.size(); ++i) values.mutable_floats()[moved.places[i]] = read.floats()[i];
  return values;
}

}  // namespace vernier
