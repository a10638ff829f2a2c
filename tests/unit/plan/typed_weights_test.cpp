#include "plan/typed_weights.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "simulated_graph.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using testing::parse_model;

Model two_readers(const std::string& weight = "float[4] w = {1, -2, 3, 0.5}") {
  return parse_model("g (float[4] x) => (float[4] y, float[4] z) <" + weight +
                     "> { [a] y = Add(x, w)\n [b] z = Mul(x, w) }");
}

template <class Code>
std::vector<Code> codes_of(const Tensor& tensor) {
  std::vector<Code> codes(tensor.bytes().size() / sizeof(Code));
  std::memcpy(codes.data(), tensor.bytes().data(), tensor.bytes().size());
  return codes;
}

/// Lets every reader of `from` read `to`.
void rewire(Model& model, const std::string& from, const std::string& to) {
  for (onnx::NodeProto& node : *model.proto.mutable_graph()->mutable_node()) {
    for (std::string& input : *node.mutable_input()) {
      if (input == from) input = to;
    }
  }
}

TEST(TypedWeights, ReadersOfOneFormatShareACopy) {
  Model model = two_readers();
  NamePool names(model);
  TypedWeights weights(model, names, Target::TensorRt);
  const std::string copy = weights.in_format("w", Format::Float16, "a");
  EXPECT_EQ(copy, "w.float16");
  EXPECT_EQ(weights.in_format("w", Format::Float16, "b"), copy);
  EXPECT_NE(weights.in_format("w", Format::BFloat16, "b"), copy);
  EXPECT_EQ(codes_of<std::uint16_t>(initializer(model, copy).value()),
            (std::vector<std::uint16_t>{0x3C00, 0xC000, 0x4200, 0x3800}));
  EXPECT_TRUE(weights.take_notes().empty());
}

TEST(TypedWeights, CountsAllValuesThatOverflowAndNamesTheLargest) {
  Model model = two_readers("float[4] w = {70000, 1, -900000, 80000}");
  NamePool names(model);
  TypedWeights weights(model, names, Target::TensorRt);
  weights.in_format("w", Format::Float16, "a");
  weights.in_format("w", Format::Float16, "b");
  const auto overflow = [](const char* layer) {
    return Note{
        "weight-overflows",
        {{"count", 3}, {"of", 4}, {"initializer", "w"}, {"format", "float16"}, {"worst", -900000.0}, {"layer", layer}}};
  };
  EXPECT_EQ(weights.take_notes(), (std::vector{overflow("a"), overflow("b")}));
}

TEST(TypedWeights, CodesHaveScaleAndZeroPointBesideThem) {
  Model model = two_readers();
  NamePool names(model);
  TypedWeights weights(model, names, Target::TensorRt);
  const QuantParams grid{Format::UInt8, {0.5F, 0.5F, 1, 0.25F}, {10, 20, 30, 40}, 0, 0, 0};
  const StoredCodes stored = weights.in_codes("w", grid);
  EXPECT_EQ(codes_of<std::uint8_t>(initializer(model, stored.codes).value()),
            (std::vector<std::uint8_t>{12, 16, 33, 42}));
  const Tensor zero_point = initializer(model, stored.zero_point).value();
  EXPECT_EQ(zero_point.shape(), Shape{4});
  EXPECT_EQ(codes_of<std::uint8_t>(zero_point), (std::vector<std::uint8_t>{10, 20, 30, 40}));
  const Tensor scale = initializer(model, stored.scale).value();
  EXPECT_EQ(scale.shape(), Shape{4});
  EXPECT_EQ(codes_of<float>(scale), grid.scale);
}

TEST(TypedWeights, OneScaleIsAScalar) {
  Model model = two_readers();
  NamePool names(model);
  TypedWeights weights(model, names, Target::TensorRt);
  const StoredCodes stored = weights.in_codes("w", {Format::Int8, {0.5F}, {}, -1, 0, 0});
  EXPECT_EQ(codes_of<std::int8_t>(initializer(model, stored.codes).value()), (std::vector<std::int8_t>{2, -4, 6, 1}));
  EXPECT_EQ(initializer(model, stored.scale).value().shape(), Shape{});
  EXPECT_EQ(codes_of<std::int8_t>(initializer(model, stored.zero_point).value()), std::vector<std::int8_t>{0});
}

TEST(TypedWeights, AnotherTypeOfScaleSharesTheCodes) {
  Model model = two_readers();
  NamePool names(model);
  TypedWeights weights(model, names, Target::TensorRt);
  const QuantParams grid{Format::Int8, {0.5F}, {}, -1, 0, 0};
  const StoredCodes wide = weights.in_codes("w", grid);
  const StoredCodes half = weights.in_codes("w", grid, Format::Float16);
  EXPECT_EQ(wide.codes, half.codes);
  EXPECT_NE(wide.scale, half.scale);
  EXPECT_EQ(initializer(model, half.scale).value().dtype(), Dtype::Float16);
  EXPECT_EQ(weights.in_codes("w", grid).scale, wide.scale);
}

TEST(TypedWeights, FourBitCodesLieTwoToAByteWithAScaleForEachBlock) {
  Model model = parse_model("g (float[4,1] x) => (float[4,1] y) <float[4,1] w = {1, -2, 6, 4}> { [a] y = Add(x, w) }");
  NamePool names(model);
  TypedWeights weights(model, names, Target::TensorRt);
  const StoredCodes stored = weights.in_codes("w", {Format::Int4, {1, 2}, {}, 0, 2, 0});
  // 1, -2 | 3, 2: the first of a pair in the low half.
  EXPECT_EQ(codes_of<std::uint8_t>(initializer(model, stored.codes).value()), (std::vector<std::uint8_t>{0xE1, 0x23}));
  EXPECT_EQ(initializer(model, stored.scale).value().shape(), (Shape{2, 1}));
}

TEST(TypedWeights, ABiasHasInt32CodesAndNoZeroPoint) {
  Model model = two_readers();
  NamePool names(model);
  TypedWeights weights(model, names, Target::TensorRt);
  const StoredCodes stored = weights.bias_in_codes("w", {0.001F, 0.001F, 0.5F, 0.5F});
  EXPECT_EQ(codes_of<std::int32_t>(initializer(model, stored.codes).value()),
            (std::vector<std::int32_t>{1000, -2000, 6, 1}));
  EXPECT_TRUE(stored.zero_point.empty());
}

TEST(TypedWeights, OnlyReplacedOnesThatNothingReadsGo) {
  Model model = two_readers("float[4] w = {1, 2, 3, 4}, float[4] left = {1, 2, 3, 4}");
  NamePool names(model);
  TypedWeights weights(model, names, Target::TensorRt);
  const std::string copy = weights.in_format("w", Format::Float16, "a");
  weights.remove_unused();
  EXPECT_TRUE(initializer(model, "w"));  // still read
  rewire(model, "w", copy);
  weights.remove_unused();
  EXPECT_FALSE(initializer(model, "w"));
  EXPECT_TRUE(initializer(model, "left"));  // never replaced
  EXPECT_TRUE(initializer(model, copy));
}

}  // namespace
}  // namespace vernier
