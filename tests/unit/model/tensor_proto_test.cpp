// TensorProto as onnx.proto defines it: raw bytes, or a field of values that is wider than the element.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/elements.h"
#include "model/take_tensor.h"
#include "model_text.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> room;
  const auto values = read_block<double>(tensor, 0, static_cast<std::size_t>(tensor.count()), room);
  return {values.begin(), values.end()};
}

onnx::TensorProto proto_with(Dtype dtype, const Shape& shape) {
  onnx::TensorProto proto;
  proto.set_name("t");
  proto.set_data_type(static_cast<int>(dtype));
  for (const std::int64_t dim : shape) proto.add_dims(dim);
  return proto;
}

TEST(TakeTensor, TakesRawDataWithoutACopy) {
  onnx::TensorProto proto = proto_with(Dtype::Float32, {64, 2});
  proto.set_raw_data(std::string(512, '\x3f'));
  const Tensor copy = tensor_of(proto);
  const void* const bytes = proto.raw_data().data();
  const Tensor taken = take_tensor(proto);
  EXPECT_EQ(static_cast<const void*>(taken.bytes().data()), bytes);
  EXPECT_EQ(taken.shape(), copy.shape());
  EXPECT_EQ(values_of(taken), values_of(copy));
  EXPECT_FALSE(proto.has_raw_data());
}

TEST(TakeTensor, LeavesWhatDoesNotFitTogether) {
  onnx::TensorProto proto = proto_with(Dtype::Float32, {64, 3});
  proto.set_raw_data(std::string(512, '\x3f'));
  EXPECT_THROW(take_tensor(proto), Error);
  EXPECT_EQ(proto.raw_data().size(), 512U);
  onnx::TensorProto numbers = proto_with(Dtype::Float32, {2});
  numbers.add_float_data(1);
  numbers.add_float_data(2);
  EXPECT_EQ(values_of(take_tensor(numbers)), (std::vector<double>{1, 2}));
}

TEST(TensorOf, NarrowIntegersComeFromAFieldOfWideOnes) {
  for (const Dtype dtype : {Dtype::Int8, Dtype::Int16, Dtype::Int32}) {
    onnx::TensorProto proto = proto_with(dtype, {2});
    proto.add_int32_data(-3);
    proto.add_int32_data(100);
    EXPECT_EQ(values_of(tensor_of(proto)), (std::vector<double>{-3, 100})) << dtype_name(dtype);
  }
  for (const Dtype dtype : {Dtype::UInt32, Dtype::UInt64}) {
    onnx::TensorProto proto = proto_with(dtype, {1});
    proto.add_uint64_data(4000000000U);
    EXPECT_EQ(values_of(tensor_of(proto)), (std::vector<double>{4e9})) << dtype_name(dtype);
  }
}

TEST(TensorOf, NarrowFloatsComeAsTheirBits) {
  onnx::TensorProto half = proto_with(Dtype::Float16, {2});
  half.add_int32_data(0x3C00);
  half.add_int32_data(0xC000);
  EXPECT_EQ(values_of(tensor_of(half)), (std::vector<double>{1, -2}));
  onnx::TensorProto eight = proto_with(Dtype::Float8E4M3FN, {1});
  eight.add_int32_data(0x38);
  EXPECT_EQ(values_of(tensor_of(eight)), (std::vector<double>{1}));
}

TEST(TensorOf, FourBitsArePackedInBothForms) {
  onnx::TensorProto typed = proto_with(Dtype::Int4, {3});
  typed.add_int32_data(0x7F);  // -1, then 7
  typed.add_int32_data(0x08);
  EXPECT_EQ(values_of(tensor_of(typed)), (std::vector<double>{-1, 7, -8}));
  onnx::TensorProto raw = proto_with(Dtype::UInt4, {3});
  raw.set_raw_data(std::string("\x7F\x08"));
  EXPECT_EQ(values_of(tensor_of(raw)), (std::vector<double>{15, 7, 8}));
}

TEST(TensorOf, ValuesInTheFieldOfAnotherTypeAreNone) {
  onnx::TensorProto proto = proto_with(Dtype::Float32, {2});
  proto.add_int32_data(1);
  proto.add_int32_data(2);
  EXPECT_EQ(error_of([&] { tensor_of(proto); }), "tensor 't': shape 2 of float32 needs 2 values, the file holds 0");
}

TEST(TensorOf, RefusesSizesThatDoNotFitBeforeItTakesMemory) {
  onnx::TensorProto raw = proto_with(Dtype::Float32, {1 << 30, 1 << 30});
  raw.set_raw_data(std::string(8, '\0'));
  EXPECT_THROW(tensor_of(raw), Error);
  EXPECT_THROW(tensor_of(proto_with(Dtype::Float32, {-1})), Error);
  EXPECT_THROW(tensor_of(proto_with(Dtype::Undefined, {})), Error);
}

TEST(ProtoOf, GivesBackWhatTensorOfReads) {
  Tensor tensor(Dtype::Float32, {2, 1});
  tensor.mutable_floats()[0] = 1.5F;
  tensor.mutable_floats()[1] = -0.0F;
  const onnx::TensorProto proto = proto_of(tensor, "name");
  EXPECT_EQ(proto.name(), "name");
  const Tensor back = tensor_of(proto);
  EXPECT_EQ(back.shape(), tensor.shape());
  EXPECT_TRUE(std::ranges::equal(back.bytes(), tensor.bytes()));
}

}  // namespace
}  // namespace vernier::testing
