// A constant that a layer reads behind nodes that move its values or change their float type.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/match_layers.h"
#include "model/model.h"
#include "vernier/tensor.h"

namespace vernier {

struct MovedConstant {
  std::string name;
  Shape shape;                      // as the layer reads it
  std::vector<std::size_t> places;  // in the constant, of each value that it reads; empty: in order
};

/// The constant of which `tensor` is made, if nothing happens to its values but that; empty: something else does.
/// `types`: of the model, inferred where they are asked for first.
std::optional<MovedConstant> moved_constant(const Model& model, const Makers& made_by, const std::string& tensor,
                                            std::optional<std::map<std::string, ValueType>>& types);

/// Values as a layer reads them, in the order in which the constant of that shape stores them.
Tensor in_places_of(const MovedConstant& moved, const Tensor& read, const Shape& stored);

}  // namespace vernier
