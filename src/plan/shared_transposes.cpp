#include "plan/shared_transposes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

struct Matrix {
  std::string name;
  Tensor value;
};

template <class Bits>
bool transposed(const Tensor& one, const Tensor& other) {
  const auto rows = static_cast<std::size_t>(one.shape()[0]), columns = static_cast<std::size_t>(one.shape()[1]);
  const std::byte* const a = one.bytes().data();
  const std::byte* const b = other.bytes().data();
  constexpr std::size_t kTile = 64;  // of both fits a cache
  for (std::size_t top = 0; top < rows; top += kTile) {
    for (std::size_t left = 0; left < columns; left += kTile) {
      for (std::size_t i = top; i < std::min(rows, top + kTile); ++i) {
        for (std::size_t j = left; j < std::min(columns, left + kTile); ++j) {
          if (std::memcmp(a + (i * columns + j) * sizeof(Bits), b + (j * rows + i) * sizeof(Bits), sizeof(Bits)) != 0)
            return false;
        }
      }
    }
  }
  return true;
}

bool is_transpose_of(const Tensor& one, const Tensor& other) {
  if (one.dtype() != other.dtype() || one.shape()[0] != other.shape()[1] || one.shape()[1] != other.shape()[0])
    return false;
  return one.dtype() == Dtype::Float32 ? transposed<std::uint32_t>(one, other) : transposed<std::uint16_t>(one, other);
}

/// The matrices, those that a Gather reads first.
std::vector<Matrix> float_matrices(const Model& model) {
  std::set<std::string> gathered, quantized;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (is_onnx(node, "Gather")) gathered.insert(node.input(0));
      if (is_onnx(node, "QuantizeLinear")) quantized.insert(node.input(0));
    }
  });
  std::vector<Matrix> first, others;
  for (const onnx::TensorProto& tensor : model.proto.graph().initializer()) {
    const auto dtype = static_cast<Dtype>(tensor.data_type());
    if (tensor.dims_size() != 2 || quantized.contains(tensor.name())) continue;
    if (dtype != Dtype::Float32 && dtype != Dtype::Float16 && dtype != Dtype::BFloat16) continue;
    const auto value = model.weights.find(tensor.name());
    if (value == model.weights.end()) continue;  // small
    (gathered.contains(tensor.name()) ? first : others).push_back({tensor.name(), value->second});
  }
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

}  // namespace

std::size_t share_transposes(Model& typed, NamePool& names) {
  const std::set<std::string> outputs = all_graph_outputs(typed);
  std::map<std::tuple<Dtype, std::int64_t, std::int64_t>, std::vector<Matrix>> stay;
  std::set<std::string> gone;
  for (Matrix& matrix : float_matrices(typed)) {
    const Shape& shape = matrix.value.shape();
    const Matrix* same = nullptr;
    for (const Matrix& other : stay[{matrix.value.dtype(), shape[1], shape[0]}]) {
      if (is_transpose_of(other.value, matrix.value)) same = &other;
    }
    if (same == nullptr || outputs.contains(matrix.name)) {
      stay[{matrix.value.dtype(), shape[0], shape[1]}].push_back(std::move(matrix));
      continue;
    }
    onnx::NodeProto node;
    node.set_op_type("Transpose");
    node.set_name(names.unique(matrix.name + "_transpose"));
    node.add_input(same->name);
    node.add_output(matrix.name);
    set_attribute(node, "perm", std::vector<std::int64_t>{1, 0});
    put_first(*typed.proto.mutable_graph(), std::move(node));
    gone.insert(matrix.name);
  }
  if (!gone.empty()) remove_initializers(typed, gone);
  return gone.size();
}

}  // namespace vernier
