// Tensors from and to NumPy, without copies. An array travels as its bytes, its shape and the name of its type: NumPy
// knows neither bfloat16 nor the float8 types by itself, and the Python side views the bytes as what they are.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier::python {

using Bytes = nanobind::ndarray<const std::uint8_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
/// Bytes, shape, name of the element type.
using Array = std::tuple<Bytes, Shape, std::string>;
using Arrays = std::map<std::string, Array>;

/// Shares the bytes, and holds their owner. Errors: Input: a type that no tensor has, bytes that do not fit the shape.
Tensor tensor_of(const Array& array);
std::map<std::string, Tensor> tensors_of(const Arrays& arrays);

/// (bytes, shape, name of the type); the bytes are shared, and read-only.
nanobind::object array_of(const Tensor& tensor);
/// {name: array}
nanobind::dict arrays_of(const std::map<std::string, Tensor>& tensors);

}  // namespace vernier::python
