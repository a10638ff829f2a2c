#include "model/output_channels.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "model_text.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

onnx::NodeProto node_of(const std::string& text) {
  return model_of("<ir_version: 8, opset_import: [\"\" : 17]> g (float x, float w) => (float y) { [n] y = " + text +
                  " }")
      .proto.graph()
      .node(0);
}

/// The channel of each element.
std::vector<std::size_t> channels(const std::string& text, const Shape& weight) {
  const auto found = output_channels(node_of(text), weight);
  std::vector<std::size_t> all;
  for (std::size_t i = 0; found && i < static_cast<std::size_t>(element_count(weight)); ++i)
    all.push_back(found->of(i));
  return all;
}

using Indices = std::vector<std::size_t>;

TEST(OutputChannels, RunAlongTheAxisOfEachOperator) {
  EXPECT_EQ(channels("Conv(x, w)", {2, 1, 2, 1}), (Indices{0, 0, 1, 1}));
  EXPECT_EQ(channels("Conv<group = 2>(x, w)", {2, 1, 2, 1}), (Indices{0, 0, 1, 1}));
  EXPECT_EQ(channels("ConvTranspose(x, w)", {2, 2, 1, 2}), (Indices{0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(channels("Gemm(x, w)", {2, 3}), (Indices{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(channels("Gemm<transB = 1>(x, w)", {2, 3}), (Indices{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(channels("MatMul(x, w)", {2, 3}), (Indices{0, 1, 2, 0, 1, 2}));
}

TEST(OutputChannels, OfAConvTransposeBeginAnewForEachGroup) {
  EXPECT_EQ(channels("ConvTranspose<group = 2>(x, w)", {4, 2, 1, 1}), (Indices{0, 1, 0, 1, 2, 3, 2, 3}));
  EXPECT_EQ(channels("ConvTranspose<group = 3>(x, w)", {3, 1, 1, 2}), (Indices{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(output_channels(node_of("ConvTranspose<group = 2>(x, w)"), {4, 2, 1, 1})->count, 4U);
}

TEST(OutputChannels, AreAbsentWhereThereAreNone) {
  EXPECT_FALSE(output_channels(node_of("Add(x, w)"), {2, 3}));
  EXPECT_FALSE(output_channels(node_of("MatMul(x, w)"), {3}));
  EXPECT_FALSE(output_channels(node_of("Conv(x, w)"), {2, 3}));
  EXPECT_FALSE(output_channels(node_of("Conv(x, w)"), {2, 0, 3}));
  EXPECT_FALSE(output_channels(node_of("ConvTranspose<group = 3>(x, w)"), {4, 2, 1}));
}

TEST(WeightAxis, OfAConstantOnTheLeftIsItsRows) {
  EXPECT_EQ(weight_axis(node_of("MatMul(w, x)"), {16, 24}, 0), 0);
  EXPECT_EQ(weight_axis(node_of("MatMul(w, x)"), {3, 16, 24}, 0), 1);
  EXPECT_EQ(weight_axis(node_of("MatMul(w, x)"), {24}, 0), -1) << "one row";
  EXPECT_EQ(weight_axis(node_of("Gemm(w, x)"), {16, 24}, 0), 0);
  EXPECT_EQ(weight_axis(node_of("Gemm<transA = 1>(w, x)"), {24, 16}, 0), 1);
  EXPECT_EQ(weight_axis(node_of("Conv(w, x)"), {8, 3, 3, 3}, 0), -1);
}

TEST(WeightAxis, OfADepthwiseConvTransposeIsItsFirst) {
  EXPECT_EQ(weight_axis(node_of("ConvTranspose<group = 16>(x, w)"), {16, 1, 2, 2}), 0);
  EXPECT_EQ(weight_axis(node_of("ConvTranspose<group = 16>(x, w)"), {16, 2, 2, 2}), 1);
  EXPECT_EQ(weight_axis(node_of("ConvTranspose(x, w)"), {16, 1, 2, 2}), 1);
  EXPECT_EQ(weight_axis(node_of("ConvTranspose(x, w)"), {1, 1, 2, 2}), 1);
}

}  // namespace
}  // namespace vernier::testing
