#include "model/sparsity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>

#include "base/text.h"
#include "model/operator_traits.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr std::int64_t kGroup = 4;

/// Absolute value of element `i`, up to a factor, for float32, float16, bfloat16 and int8.
double magnitude(std::span<const std::byte> bytes, Dtype dtype, std::size_t i) {
  if (dtype == Dtype::Float32) {
    float value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return std::abs(value);
  }
  if (dtype == Dtype::Int8) return std::abs(std::to_integer<int>(bytes[i]) - 256 * (bytes[i] >= std::byte{128}));
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes.data() + i * sizeof bits, sizeof bits);
  return bits & 0x7FFFU;  // both 16-bit formats order magnitudes as their bits do
}

/// Calls `visit` with the four places of each group along `axis`.
void for_each_group(const Tensor& weight, int axis,
                    const std::function<void(const std::array<std::size_t, 4>&)>& visit) {
  const Shape& shape = weight.shape();
  std::size_t outer = 1;
  std::size_t inner = 1;
  for (int i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(shape[static_cast<std::size_t>(i)]);
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < shape.size(); ++i) {
    inner *= static_cast<std::size_t>(shape[i]);
  }
  const auto length = static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]);
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t g = 0; g < length; g += kGroup) {
      for (std::size_t n = 0; n < inner; ++n) {
        std::array<std::size_t, 4> places{};
        for (std::size_t k = 0; k < places.size(); ++k) places[k] = (o * length + g + k) * inner + n;
        visit(places);
      }
    }
  }
}

}  // namespace

namespace {

/// int8 codes whose zeros stand for zero, by what their DequantizeLinear makes.
std::map<std::string, std::string> symmetric_codes(const Model& model) {
  std::map<std::string, std::string> codes;
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    if (!is_onnx(node, "DequantizeLinear") || node.input_size() < 2) continue;
    if (!is_initializer(model, node.input(0))) continue;
    if (initializer(model, node.input(0))->dtype() != Dtype::Int8) continue;
    if (node.input_size() > 2 && !node.input(2).empty()) {
      const std::optional<Tensor> zero_point = initializer(model, node.input(2));
      if (!zero_point || std::ranges::any_of(zero_point->bytes(), [](std::byte b) { return b != std::byte{0}; })) {
        continue;
      }
    }
    codes[node.output(0)] = node.input(0);
  }
  return codes;
}

}  // namespace

std::vector<SummedWeight> summed_weights(const Model& model) {
  std::vector<SummedWeight> weights;
  std::set<std::string> seen;
  const std::map<std::string, std::string> codes = symmetric_codes(model);
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    if (!of_onnx(node) || node.input_size() < 2) continue;
    const auto stored = codes.find(node.input(1));
    const std::string& name = stored == codes.end() ? node.input(1) : stored->second;
    if (seen.contains(name) || !is_initializer(model, name)) continue;
    const std::optional<Tensor> weight = initializer(model, name);
    const auto rank = static_cast<int>(weight->shape().size());
    int axis = -1;
    if (node.op_type() == "Conv" && rank >= 3) axis = 1;
    if (node.op_type() == "MatMul" && rank >= 2) axis = rank - 2;
    if (node.op_type() == "Gemm" && rank == 2) axis = attribute_int(node, "transB", 0) == 0 ? 0 : 1;
    if (axis < 0) continue;
    seen.insert(name);
    weights.push_back({name, node.name(), axis});
  }
  return weights;
}

std::optional<std::string> not_prunable(const Tensor& weight, int axis) {
  if (weight.dtype() != Dtype::Float32 && weight.dtype() != Dtype::Float16 && weight.dtype() != Dtype::BFloat16 &&
      weight.dtype() != Dtype::Int8) {
    return fmt::format("its type is {}", dtype_name(weight.dtype()));
  }
  const std::int64_t length = weight.shape().at(static_cast<std::size_t>(axis));
  if (length % kGroup != 0) {
    return fmt::format("{} {} summed over, not a multiple of 4", plural(static_cast<std::size_t>(length), "value"),
                       length == 1 ? "is" : "are");
  }
  return std::nullopt;
}

bool is_2_of_4_sparse(const Tensor& weight, int axis) {
  if (not_prunable(weight, axis))
    throw Error(ErrorKind::Internal, "2:4 sparsity of a weight that it does not apply to");
  bool sparse = true;
  for_each_group(weight, axis, [&](const std::array<std::size_t, 4>& places) {
    const auto zeros = std::count_if(places.begin(), places.end(), [&](std::size_t place) {
      return magnitude(weight.bytes(), weight.dtype(), place) == 0;
    });
    if (zeros < 2) sparse = false;
  });
  return sparse;
}

Tensor pruned_2_of_4(const Tensor& weight, int axis) {
  Tensor pruned(weight.dtype(), weight.shape());
  const std::span<std::byte> bytes = pruned.mutable_bytes();
  std::memcpy(bytes.data(), weight.bytes().data(), bytes.size());
  const auto size = static_cast<std::size_t>(dtype_bits(weight.dtype()) / 8);
  for_each_group(weight, axis, [&](std::array<std::size_t, 4> places) {
    std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
      return magnitude(weight.bytes(), weight.dtype(), a) < magnitude(weight.bytes(), weight.dtype(), b);
    });
    for (std::size_t k = 0; k < 2; ++k) std::memset(bytes.data() + places[k] * size, 0, size);
  });
  return pruned;
}

}  // namespace vernier
