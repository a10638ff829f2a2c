// Which data TensorRT-RTX takes in blocks: shapes that its compiler was asked about.
#include "plan/block_activations.h"

#include <gtest/gtest.h>

#include "vernier/tensor.h"

namespace vernier {
namespace {

bool refused(const Shape& shape, Format format) {
  ValueType type;
  type.dtype = Dtype::Float32;
  type.rank_known = true;
  type.shape = shape;
  return !refused_block_activation(type, format).empty();
}

TEST(BlockActivations, HaveTwoOrThreeDimensions) {
  for (const Format format : {Format::NvFp4, Format::MxFp8}) {
    EXPECT_TRUE(refused({64}, format));
    EXPECT_FALSE(refused({4, 64}, format));
    EXPECT_FALSE(refused({2, 4, 64}, format));
    EXPECT_TRUE(refused({2, 2, 4, 64}, format));
  }
}

TEST(BlockActivations, AreMoreThanOneBlock) {
  EXPECT_TRUE(refused({1, 16}, Format::NvFp4));
  EXPECT_FALSE(refused({1, 32}, Format::NvFp4));
  EXPECT_FALSE(refused({2, 16}, Format::NvFp4));
  EXPECT_TRUE(refused({1, 1, 16}, Format::NvFp4));
  EXPECT_FALSE(refused({-1, 16}, Format::NvFp4)) << "an open dimension of 1 builds";
  EXPECT_TRUE(refused({1, 1, 32}, Format::MxFp8));
  EXPECT_FALSE(refused({1, 4, 32}, Format::MxFp8));
  EXPECT_TRUE(refused({1, -1, 32}, Format::MxFp8)) << "the compiler crashes where it is 1";
  EXPECT_FALSE(refused({-1, 4, 32}, Format::MxFp8));
}

TEST(BlockActivations, InMxFp8OfTwoDimensionsHaveTwoBlocksInARow) {
  EXPECT_TRUE(refused({4, 32}, Format::MxFp8));
  EXPECT_FALSE(refused({4, 64}, Format::MxFp8));
  EXPECT_FALSE(refused({-1, 64}, Format::MxFp8));
}

TEST(BlockActivations, OfAnUnknownShapeAreNotRefused) {
  EXPECT_TRUE(refused_block_activation(ValueType{}, Format::NvFp4).empty());
}

}  // namespace
}  // namespace vernier
