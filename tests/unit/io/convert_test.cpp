#include "io/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

template <class T>
Tensor tensor_of(Dtype dtype, std::initializer_list<T> values) {
  Tensor tensor(dtype, {static_cast<std::int64_t>(values.size())});
  std::memcpy(tensor.mutable_bytes().data(), values.begin(), values.size() * sizeof(T));
  return tensor;
}

TEST(Convert, WidensAndNarrowsTheListedTypes) {
  EXPECT_EQ(convert(tensor_of<double>(Dtype::Float64, {0.1}), Dtype::Float32, "f").floats()[0], 0.1F);
  EXPECT_EQ(convert(tensor_of<std::uint16_t>(Dtype::Float16, {0x3E00}), Dtype::Float32, "f").floats()[0], 1.5F);
  EXPECT_EQ(convert(tensor_of<std::uint8_t>(Dtype::UInt8, {255}), Dtype::Float32, "f").floats()[0], 255.0F);
  EXPECT_EQ(convert(tensor_of<std::int32_t>(Dtype::Int32, {-7}), Dtype::Int64, "f").int64s()[0], -7);
  const Tensor narrow = convert(tensor_of<std::int64_t>(Dtype::Int64, {-7}), Dtype::Int32, "f");
  std::int32_t value = 0;
  std::memcpy(&value, narrow.bytes().data(), sizeof(value));
  EXPECT_EQ(value, -7);
}

TEST(Convert, RefusesAnInt64ThatDoesNotFit) {
  EXPECT_THROW(convert(tensor_of<std::int64_t>(Dtype::Int64, {std::int64_t{1} << 31}), Dtype::Int32, "f"), Error);
}

TEST(Convert, ALargeFloat64BecomesInfinityForTheFiniteCheckToFind) {
  EXPECT_TRUE(std::isinf(convert(tensor_of<double>(Dtype::Float64, {-1e300}), Dtype::Float32, "f").floats()[0]));
}

TEST(Convert, LosslessPairsOnly) {
  EXPECT_FALSE(convertible(Dtype::Float32, Dtype::Float16));
  EXPECT_FALSE(convertible(Dtype::Int64, Dtype::Float32));
  EXPECT_FALSE(convertible(Dtype::Int8, Dtype::UInt8));
}

}  // namespace
}  // namespace vernier
