#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "io/tensor_proto.h"
#include "temp_files.h"
#include "vernier/error.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

std::string float_proto(const std::string& name, const Shape& shape, const std::vector<float>& values, bool raw) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t dim : shape) proto.add_dims(dim);
  if (raw) {
    proto.set_raw_data(values.data(), values.size() * sizeof(float));
  } else {
    for (const float value : values) proto.add_float_data(value);
  }
  return proto.SerializeAsString();
}

NamedTensor read(const onnx::TensorProto& proto) {
  const std::string bytes = proto.SerializeAsString();
  return read_tensor_proto(std::as_bytes(std::span(bytes)), "input_0.pb");
}

TEST(OnnxTestData, ReadsSetsInTheOrderOfTheirNumbers) {
  const TempFolder folder;
  write_file(folder / "test_data_set_10/input_0.pb", float_proto("x", {1, 2}, {10, 0}, true));
  write_file(folder / "test_data_set_2/input_0.pb", float_proto("x", {1, 2}, {2, 0}, false));
  write_file(folder / "test_data_set_2/output_0.pb", "not read");
  write_file(folder / "model.onnx", "not read");
  const auto source = open_samples(from(folder.path()), {float_input("x", {1, 2})});
  ASSERT_EQ(source->size(), 2U);
  EXPECT_EQ(source->at(0).at("x").floats()[0], 2.0F);
  EXPECT_EQ(source->at(1).at("x").floats()[0], 10.0F);
  EXPECT_EQ(open_samples(from(folder / "test_data_set_10"), {float_input("x", {1, 2})})->size(), 1U);
}

TEST(OnnxTestData, UnknownNamesGoByTheNumber) {
  const TempFolder folder;
  write_file(folder / "input_0.pb", float_proto("", {1}, {5}, true));
  write_file(folder / "input_1.pb", float_proto("other", {1}, {6}, true));
  const Sample sample = open_samples(from(folder.path()), {float_input("a", {1}), float_input("b", {1})})->at(0);
  EXPECT_EQ(sample.at("a").floats()[0], 5.0F);
  EXPECT_EQ(sample.at("b").floats()[0], 6.0F);
}

TEST(OnnxTestData, TwoFilesForOneInputAreRefused) {
  const TempFolder folder;
  write_file(folder / "input_0.pb", float_proto("b", {1}, {5}, true));
  write_file(folder / "input_1.pb", float_proto("b", {1}, {6}, true));
  EXPECT_THROW(open_samples(from(folder.path()), {float_input("a", {1}), float_input("b", {1})}), Error);
}

TEST(TensorProto, ReadsNarrowTypesFromTheirWideField) {
  onnx::TensorProto proto;
  proto.set_data_type(onnx::TensorProto::UINT8);
  proto.add_dims(2);
  proto.add_int32_data(7);
  proto.add_int32_data(255);
  const Tensor tensor = read(proto).tensor;
  EXPECT_EQ(tensor.dtype(), Dtype::UInt8);
  EXPECT_EQ(tensor.bytes()[1], std::byte{255});
}

TEST(TensorProto, RefusesDimensionsThatTheDataDoesNotFill) {
  for (const Shape& dims :
       {Shape{3}, Shape{1 << 30, 1 << 30}, Shape{std::numeric_limits<std::int64_t>::max(), 4}, Shape{-2}}) {
    onnx::TensorProto proto;
    proto.set_data_type(onnx::TensorProto::FLOAT);
    for (const std::int64_t dim : dims) proto.add_dims(dim);
    proto.set_raw_data(std::string(8, '\0'));
    EXPECT_EQ(error_of([&] { read(proto); }).kind(), ErrorKind::Input) << shape_text(dims);
  }
}

TEST(TensorProto, RefusesStringsOtherFilesAndNonsense) {
  onnx::TensorProto strings;
  strings.set_data_type(onnx::TensorProto::STRING);
  EXPECT_THROW(read(strings), Error);
  onnx::TensorProto external;
  external.set_data_type(onnx::TensorProto::FLOAT);
  external.set_data_location(onnx::TensorProto::EXTERNAL);
  EXPECT_NE(std::string(error_of([&] { read(external); }).what()).find("another file"), std::string::npos);
  const std::string nonsense = "\xFF\xFF\xFF\xFF";
  EXPECT_THROW(read_tensor_proto(std::as_bytes(std::span(nonsense)), "f"), Error);
}

}  // namespace
}  // namespace vernier
