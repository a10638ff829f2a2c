#include "plan/widened_floats.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/model.h"
#include "numerics/grid.h"
#include "numerics/tensor_grid.h"
#include "plan/constant_codes.h"
#include "plan/typed_weights.h"

namespace vernier {

std::optional<Format> low_float(Dtype dtype) {
  if (dtype == Dtype::Float16) return Format::Float16;
  if (dtype == Dtype::BFloat16) return Format::BFloat16;
  return std::nullopt;
}

std::vector<std::string> low_initializers(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    if (low_float(static_cast<Dtype>(tensor.data_type()))) names.push_back(tensor.name());
  }
  return names;
}

QuantParams grid_of(Format format) {
  QuantParams params;
  params.format = format;
  return params;
}

Tensor widened(const Tensor& low) {
  const QuantParams params = grid_of(*low_float(low.dtype()));
  const auto values = std::make_shared<const std::vector<float>>(decode(params, 1, low.count(), low.bytes()));
  return {Dtype::Float32, low.shape(), {values, reinterpret_cast<const std::byte*>(values->data())}};
}

Tensor WidenedWeights::of(const Tensor& low) {
  Known& known = known_[low.bytes().data()];
  if (known.low.dtype() != low.dtype() || known.low.shape() != low.shape()) known = {low, widened(low)};
  return known.wide;
}

void widen_attributes(onnx::NodeProto& node) {
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.has_t() && low_float(static_cast<Dtype>(attribute.t().data_type()))) {
      *attribute.mutable_t() = proto_of(widened(tensor_of(attribute.t())), attribute.t().name());
    }
    if (attribute.name() == "dtype" && low_float(static_cast<Dtype>(attribute.i()))) {
      attribute.set_i(static_cast<std::int64_t>(Dtype::Float32));
    }
  }
}

}  // namespace vernier
