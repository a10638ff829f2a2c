#include "model/sparse_constants.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

onnx::SparseTensorProto sparse(const std::vector<std::int64_t>& shape, const std::vector<float>& values,
                               const std::vector<std::int64_t>& indices, const std::vector<std::int64_t>& form) {
  onnx::SparseTensorProto proto;
  for (const std::int64_t dim : shape) proto.add_dims(dim);
  proto.mutable_values()->set_name("w");
  proto.mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  proto.mutable_values()->add_dims(static_cast<std::int64_t>(values.size()));
  for (const float value : values) proto.mutable_values()->add_float_data(value);
  proto.mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  for (const std::int64_t dim : form) proto.mutable_indices()->add_dims(dim);
  for (const std::int64_t index : indices) proto.mutable_indices()->add_int64_data(index);
  return proto;
}

/// As an initializer and as a Constant: both must give the same.
std::vector<float> dense(const onnx::SparseTensorProto& proto) {
  onnx::ModelProto model;
  *model.mutable_graph()->add_sparse_initializer() = proto;
  onnx::NodeProto& node = *model.mutable_graph()->add_node();
  node.set_op_type("Constant");
  node.add_output("w");
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("sparse_value");
  attribute.set_type(onnx::AttributeProto::SPARSE_TENSOR);
  *attribute.mutable_sparse_tensor() = proto;
  make_constants_dense(model, [](const onnx::TensorProto& tensor) { return tensor_of(tensor); });
  EXPECT_EQ(model.graph().sparse_initializer_size(), 0);
  EXPECT_EQ(model.graph().node(0).attribute(0).name(), "value");
  const Tensor first = tensor_of(model.graph().initializer(0));
  const Tensor second = tensor_of(model.graph().node(0).attribute(0).t());
  EXPECT_EQ(first.shape(), Shape(proto.dims().begin(), proto.dims().end()));
  EXPECT_EQ(std::vector<float>(first.floats().begin(), first.floats().end()),
            std::vector<float>(second.floats().begin(), second.floats().end()));
  return {first.floats().begin(), first.floats().end()};
}

std::string refusal(const onnx::SparseTensorProto& proto) {
  try {
    dense(proto);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    return error.what();
  }
  return "";
}

TEST(SparseConstants, BothFormsOfIndicesAreRead) {
  const std::vector<float> expected{0, 0, 5, 0, 7, 0};
  EXPECT_EQ(dense(sparse({2, 3}, {5, 7}, {2, 4}, {2})), expected);
  EXPECT_EQ(dense(sparse({2, 3}, {5, 7}, {0, 2, 1, 1}, {2, 2})), expected);
  EXPECT_EQ(dense(sparse({2, 2}, {}, {}, {0})), (std::vector<float>(4, 0)));
}

TEST(SparseConstants, WhatDoesNotFitIsRefused) {
  EXPECT_EQ(refusal(sparse({2, 3}, {5}, {6}, {1})), "sparse tensor 'w': index 6 is not below 6");
  EXPECT_EQ(refusal(sparse({2, 3}, {5}, {-1}, {1})), "sparse tensor 'w': index -1 is not below 6");
  EXPECT_EQ(refusal(sparse({2, 3}, {5}, {0, 3}, {1, 2})), "sparse tensor 'w': index 3 is not below 3");
  EXPECT_NE(refusal(sparse({2, 3}, {5, 7}, {1}, {1})).find("indices of int64 and shape"), std::string::npos);
  EXPECT_NE(refusal(sparse({1 << 20, 1 << 20}, {5}, {1}, {1})).find("take more than 1073741824 bytes"),
            std::string::npos);
  EXPECT_NE(refusal(sparse({-1, 3}, {5}, {1}, {1})), "");
}

}  // namespace
}  // namespace vernier
