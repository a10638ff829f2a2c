// Constants in blocks, against one loop over their elements.
#include "numerics/tensor_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

struct Blocks {
  Shape shape;
  int axis;
  int block;
};

class TensorGrid : public ::testing::TestWithParam<Blocks> {};

/// The scale of one element, by its coordinates.
std::size_t scale_index(const Blocks& blocks, std::size_t element) {
  std::size_t outer = 1;
  std::size_t inner = 1;
  for (std::size_t i = 0; i < blocks.shape.size(); ++i) {
    const auto size = static_cast<std::size_t>(blocks.shape[i]);
    if (static_cast<int>(i) < blocks.axis) outer *= size;
    if (static_cast<int>(i) > blocks.axis) inner *= size;
  }
  const auto length = static_cast<std::size_t>(blocks.shape[static_cast<std::size_t>(blocks.axis)]);
  const auto block = static_cast<std::size_t>(blocks.block);
  const std::size_t in_a_row = (length + block - 1) / block;
  const std::size_t o = element / (length * inner);
  const std::size_t k = element / inner % length;
  return (o * in_a_row + k / block) * inner + element % inner;
}

/// Along every axis and for the whole tensor; what is not finite does not count.
TEST(TensorGridOfChannels, ScalesHaveTheLargestFiniteMagnitude) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
  const Shape shape{3, 5, 7};
  std::mt19937 random(9);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (float& value : values) value = normal(random);
  for (const std::size_t i : {0U, 20U, 41U, 90U}) values[i] = i % 2 == 0 ? kNan : -kInfinity;
  std::fill(values.begin() + 35, values.begin() + 42, kInfinity);  // a channel of the second axis of one row
  for (const int axis : {-1, 0, 1, 2}) {
    QuantParams grid;
    grid.format = Format::Int8;
    grid.axis = axis;
    std::vector<float> expected;
    for (const RangeStats& range : ranges_of_scales(grid, shape, values)) expected.push_back(range.absmax());
    EXPECT_EQ(absmax_of_scales(grid, shape, values), expected) << axis;
  }
}

TEST_P(TensorGrid, EachElementHasTheScaleOfItsBlock) {
  const Blocks& blocks = GetParam();
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(element_count(blocks.shape)));
  for (float& value : values) value = normal(random);
  QuantParams grid;
  grid.format = Format::Int4;
  grid.axis = blocks.axis;
  grid.block = blocks.block;
  const std::vector<float> absmax = absmax_of_scales(grid, blocks.shape, values);
  ASSERT_EQ(absmax.size(), static_cast<std::size_t>(element_count(scale_shape(grid, blocks.shape))));
  std::vector<float> expected_absmax(absmax.size(), 0.0F);
  for (std::size_t i = 0; i < values.size(); ++i) {
    float& seen = expected_absmax[scale_index(blocks, i)];
    seen = std::max(seen, std::abs(values[i]));
  }
  EXPECT_EQ(absmax, expected_absmax);

  QuantParams params = symmetric_params(Format::Int4, absmax, blocks.axis);
  params.block = blocks.block;
  ASSERT_TRUE(scales_fit(params, blocks.shape));
  std::vector<float> rounded(values.size());
  RoundEvents events;
  round_tensor(params, blocks.shape, values, rounded, &events);
  EXPECT_EQ(events.count, static_cast<std::int64_t>(values.size()));
  EXPECT_EQ(events.saturated, 0);
  const std::vector<std::byte> codes = encode_tensor(params, blocks.shape, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float scale = params.scale[scale_index(blocks, i)];
    const float code = std::clamp(std::nearbyint(values[i] / scale), -7.0F, 7.0F);
    EXPECT_EQ(rounded[i], code * scale) << i;
    EXPECT_EQ(std::to_integer<std::int8_t>(codes[i]), static_cast<int>(code)) << i;
  }
  EXPECT_EQ(decode_tensor(params, blocks.shape, codes), rounded);
}

INSTANTIATE_TEST_SUITE_P(Shapes, TensorGrid,
                         ::testing::Values(Blocks{{8, 3}, 0, 4}, Blocks{{3, 8}, 1, 4}, Blocks{{7, 5}, 0, 3},
                                           Blocks{{2, 7, 3}, 1, 4}, Blocks{{2, 3, 9}, 2, 2}, Blocks{{4}, 0, 4},
                                           Blocks{{5, 1}, 0, 64}));

TEST(BlockScales, ArePowersOfTwoForMicroscaling) {
  const std::vector<float> absmax = {6, 5.9F, 4, 3.99F, 448, 0x1p-140F, 3e38F, 0};
  EXPECT_EQ(block_scales(Format::MxFp4, absmax, 1), (std::vector<float>{1, 1, 1, 0.5F, 64, 0x1p-127F, 0x1p125F, 1}));
  EXPECT_EQ(block_scales(Format::MxFp8, std::vector<float>{448, 255, 3e38F}, 1),
            (std::vector<float>{1, 0.5F, 0x1p119F}));
  EXPECT_EQ(block_scales(Format::MxFp8E5M2, std::vector<float>{57344, 1}, 1), (std::vector<float>{1, 0x1p-15F}));
}

TEST(BlockScales, AreE4M3TimesTheScaleOfTheTensorForNvFp4) {
  const float tensor = tensor_scale_of(Format::NvFp4, 2688);
  EXPECT_EQ(tensor, 1);
  EXPECT_EQ(block_scales(Format::NvFp4, std::vector<float>{2688, 6, 6.3F, 0, 1e-6F}, tensor),
            (std::vector<float>{448, 1, 1, 1, 0x1p-9F}));
  EXPECT_EQ(block_scales(Format::NvFp4, std::vector<float>{60}, 0.5F), std::vector<float>{20 * 0.5F});
  EXPECT_EQ(tensor_scale_of(Format::NvFp4, 0), 1);
}

TEST(DynamicGrid, RoundsEachBlockOfTheLastDimensionByItsOwnLargestValue) {
  QuantParams params;
  params.format = Format::MxFp4;
  params.block = 2;
  params.scale = {1};
  params.dynamic = true;
  const std::vector<float> values = {6, 0.2F, 0.75F, 0.2F, 0, 0, -48, 21};
  std::vector<float> rounded(values.size());
  round_tensor(params, {2, 4}, values, rounded);
  EXPECT_EQ(rounded, (std::vector<float>{6, 0, 0.75F, 0.1875F, 0, 0, -48, 24}));
  // The last block of a row may be shorter.
  params.block = 3;
  round_tensor(params, {2, 4}, values, rounded);
  EXPECT_EQ(rounded, (std::vector<float>{6, 0, 1, 0.1875F, 0, 0, -48, 24}));
}

TEST(DynamicGrid, IsThatOfDynamicQuantizeLinear) {
  QuantParams params;
  params.format = Format::DynamicInt8;
  params.scale = {1};
  params.dynamic = true;
  // The second example of ONNX's own tests of DynamicQuantizeLinear.
  const std::vector<float> values = {-1.0F, -2.1F, -1.3F, -2.5F, -3.34F, -4.0F};
  const QuantParams fixed = fixed_params(params, {6}, values);
  EXPECT_FLOAT_EQ(fixed.scale.at(0), 0.0156862754F);
  EXPECT_EQ(fixed.zero_point, std::vector<std::int32_t>{255});
  const std::vector<std::byte> codes = encode_tensor(params, {6}, values);
  const std::vector<std::byte> expected = {std::byte{191}, std::byte{121}, std::byte{172},
                                           std::byte{96},  std::byte{42},  std::byte{0}};
  EXPECT_EQ(codes, expected);
  EXPECT_EQ(fixed_params(params, {2}, std::vector<float>{0, 0}).scale, std::vector<float>{1});
}

TEST(TensorGrid, ScalesThatDoNotFitTheShapeAreRefused) {
  QuantParams params;
  params.format = Format::Int4;
  params.axis = 0;
  params.block = 2;
  params.scale = {1, 1, 1};
  EXPECT_FALSE(scales_fit(params, {4, 2}));
  const std::vector<float> values(8);
  EXPECT_THROW((void)encode_tensor(params, {4, 2}, values), Error);
}

}  // namespace
}  // namespace vernier
