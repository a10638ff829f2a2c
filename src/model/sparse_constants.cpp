#include "model/sparse_constants.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

// A file of a few bytes may declare terabytes.
constexpr std::size_t kMostBytes = std::size_t{1} << 30U;

class Dense {
 public:
  /// `left`: bytes that the model's sparse tensors may still take.
  Dense(const onnx::SparseTensorProto& proto, const std::string& name, const ReadTensor& read, std::size_t& left)
      : name_(printable(name)), shape_(proto.dims().begin(), proto.dims().end()), values_(read(proto.values())) {
    const std::int64_t bits = dtype_bits(values_.dtype());
    if (bits < 8) refuse(fmt::format("elements of {} are not read", dtype_name(values_.dtype())));
    width_ = static_cast<std::size_t>(bits / 8);
    std::int64_t count = 0;
    try {
      count = element_count(shape_);
    } catch (const Error& error) {
      refuse(error.what());
    }
    if (static_cast<std::size_t>(count) > left / width_) {
      refuse(fmt::format("with shape {} the sparse tensors of the model take more than {} bytes when they are dense",
                         shape_text(shape_), kMostBytes));
    }
    left -= static_cast<std::size_t>(count) * width_;
    if (values_.shape().size() != 1) refuse(fmt::format("its values have shape {}", shape_text(values_.shape())));
    indices_ = read(proto.indices());
    const Shape& form = indices_.shape();
    const auto rank = static_cast<std::int64_t>(shape_.size());
    per_value_ = form.size() == 2 ? rank : 1;
    const bool fits = indices_.dtype() == Dtype::Int64 && !form.empty() && form.size() <= 2 &&
                      form[0] == values_.count() && (form.size() == 1 || form[1] == rank);
    if (!fits) {
      refuse(fmt::format("indices of {} and shape {} for {} values of a tensor of shape {}",
                         dtype_name(indices_.dtype()), shape_text(form), values_.count(), shape_text(shape_)));
    }
  }

  Tensor tensor() const {
    Tensor dense(values_.dtype(), shape_);
    const std::span<std::byte> bytes = dense.mutable_bytes();
    std::memset(bytes.data(), 0, bytes.size());
    for (std::int64_t i = 0; i < values_.count(); ++i) {
      std::memcpy(bytes.data() + place_of(i) * width_, values_.bytes().data() + static_cast<std::size_t>(i) * width_,
                  width_);
    }
    return dense;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorCode::InvalidModel, fmt::format("sparse tensor '{}': {}", name_, why));
  }

  /// In elements. Indices are one number for each value, or one for each dimension.
  std::size_t place_of(std::int64_t value) const {
    const std::span<const std::int64_t> indices = indices_.int64s();
    const std::int64_t count = element_count(shape_);
    std::int64_t place = 0;
    for (std::int64_t axis = 0; axis < per_value_; ++axis) {
      const std::int64_t index = indices[static_cast<std::size_t>(value * per_value_ + axis)];
      const std::int64_t end = indices_.shape().size() == 2 ? shape_[static_cast<std::size_t>(axis)] : count;
      if (index < 0 || index >= end) refuse(fmt::format("index {} is not below {}", index, end));
      place = place * end + index;
    }
    return static_cast<std::size_t>(place);
  }

  std::string name_;
  Shape shape_;
  Tensor values_;
  Tensor indices_;
  std::size_t width_ = 0;
  std::int64_t per_value_ = 1;
};

void densify(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const ReadTensor& read, std::size_t& left) {
  for (onnx::NodeProto& node : nodes) {
    if (node.op_type() != "Constant") continue;
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (!attribute.has_sparse_tensor()) continue;
      const std::string name = node.output_size() > 0 ? node.output(0) : node.name();
      const Tensor dense = Dense(attribute.sparse_tensor(), name, read, left).tensor();
      attribute.clear_sparse_tensor();
      attribute.set_name("value");
      attribute.set_type(onnx::AttributeProto::TENSOR);
      *attribute.mutable_t() = proto_of(dense, name);
    }
  }
}

}  // namespace

void make_constants_dense(onnx::ModelProto& proto, const ReadTensor& read) {
  std::size_t left = kMostBytes;
  for_each_graph(*proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (const onnx::SparseTensorProto& sparse : graph.sparse_initializer()) {
      const std::string& name = sparse.values().name();
      *graph.add_initializer() = proto_of(Dense(sparse, name, read, left).tensor(), name);
    }
    graph.clear_sparse_initializer();
    densify(*graph.mutable_node(), read, left);
  });
  for (onnx::FunctionProto& function : *proto.mutable_functions()) densify(*function.mutable_node(), read, left);
}

}  // namespace vernier
