// Mistakes in Q/DQ pairs that are seen in the graph. Whole files are looked at in tests/diff/test_quantized_files.py.
#include "plan/qdq_defects.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiny_graph.h"

namespace vernier::testing {
namespace {

/// Kinds of what is found in a Conv whose data come dequantized through `between`, from `d` to `m`.
std::vector<std::string> kinds(const std::string& between) {
  const Model model = parse_model(R"(g (float[1,1,4,4] x) => (float[a,b,c,d] y)
    <float s = {0.1}, int8 z = {0}, int8[2,1,1,1] w_q = {1,2}, int64[1,1,2,4] i = {0,0,0,0,1,1,1,1}, int64[1] one = {1},
     int64[8] around = {0,0,1,1,0,0,1,1}, float half = {0.05}> {
      q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) w = DequantizeLinear(w_q, s, z) )" +
                                  between + " [conv] y = Conv(m, w) }");
  std::vector<std::string> found;
  for (const QdqDefect& defect : find_qdq_defects(model)) found.push_back(defect.kind);
  return found;
}

const std::vector<std::string> kNone;
const std::vector<std::string> kMissing{"missing-quantizer"};

TEST(QdqDefects, WhateverMovesOrSelectsValuesLeavesThemOnTheirGrid) {
  EXPECT_EQ(kinds("m = Transpose <perm = [0, 1, 3, 2]> (d)"), kNone);
  EXPECT_EQ(kinds("m = GatherElements <axis = 2> (d, i)"), kNone);
  EXPECT_EQ(kinds("m = GlobalMaxPool(d)"), kNone);
  EXPECT_EQ(kinds("m = ReduceMax <axes = [2]> (d)"), kNone);
  EXPECT_EQ(kinds("m, places = TopK <axis = 2> (d, one)"), kNone);
  EXPECT_EQ(kinds("m = Concat <axis = 2> (d, d)"), kNone);
}

TEST(QdqDefects, WhatFillsOrComputesNeedsAQuantizerBehindIt) {
  EXPECT_EQ(kinds("m = Pad(d, around, half)"), kMissing);
  EXPECT_EQ(kinds("m = Sigmoid(d)"), kMissing);
  EXPECT_EQ(kinds("r = Sigmoid(d) m = Concat <axis = 2> (d, r)"), kMissing);
}

/// Kinds of what is found in two products, the first on a quantized input with the weight `v`, the second in float with
/// the weight `w`.
std::vector<std::string> of_two(const std::string& v, const std::string& w) {
  Model model = parse_model(R"(g (float[2,4] x) => (float[2,4] y)
    <float s = {0.1}, int8 z = {0}, int8[4,4] c = {1,2,0,3,4,0,5,6,0,7,8,0,1,2,3,4}, float[4] each = {0.1,0.2,0.3,0.1},
     int4[4,4] n = {1,2,0,3,4,0,5,6}, float[2,4] blocks = {1,1,1,1,1,1,1,1}> {
      q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) )" +
                            v + " [one] h = MatMul(d, v) r = Sigmoid(h) " + w + " [two] y = MatMul(r, w) }");
  model.proto.mutable_opset_import(0)->set_version(21);
  std::vector<std::string> found;
  for (const QdqDefect& defect : find_qdq_defects(model)) found.push_back(defect.kind + " " + defect.node);
  return found;
}

TEST(QdqDefects, WeightsThatAreDecodedForAFloatProductNeedNoQuantizer) {
  const std::string plain = "v = DequantizeLinear(c, s) ", decoded = "f = Cast <to = 1> (c) v = Mul(f, each) ";
  const std::string four_bits = "w = DequantizeLinear <axis = 1> (n, each)";
  EXPECT_EQ(of_two(decoded, four_bits), kNone);
  EXPECT_EQ(of_two(plain, four_bits), kNone);
  EXPECT_EQ(of_two(plain, "w = DequantizeLinear <axis = 0, block_size = 2> (c, blocks)"), kNone);
  EXPECT_EQ(of_two(plain, "w = DequantizeLinear(c, s)"), std::vector<std::string>{"missing-quantizer two"});
  EXPECT_EQ(of_two("v = Mul(each, each) ", four_bits).size(), 1U);
}

/// What is found in a MatMul whose weight is dequantized with `scale` (and `zero`), as "kind: text" and the verdict.
std::vector<QdqDefect> of_weight(const std::string& constants, const std::string& dequantize, int opset = 21) {
  Model model = parse_model("g (float[2,4] x) => (float[2,3] y) <" + constants + "> { w = " + dequantize +
                            " [mm] y = MatMul(x, w) }");
  model.proto.mutable_opset_import(0)->set_version(opset);
  return find_qdq_defects(model);
}

constexpr const char* kCodes = "int8[4,3] q = {1,2,0,3,4,0,5,6,0,7,8,0}, ";

TEST(QdqDefects, AScaleThatNoEngineTakesIsNamedWithItsChannel) {
  const auto zero = of_weight(kCodes + std::string("float[3] s = {0.1, 0.2, 0}"), "DequantizeLinear <axis = 1> (q, s)");
  ASSERT_EQ(zero.size(), 1U);
  EXPECT_EQ(zero[0].kind, "bad-scale");
  EXPECT_EQ(zero[0].text, "its scale 's' holds 0 for channel 2 of 3, with all weights 0");
  EXPECT_TRUE(zero[0].refused);
  for (const std::string bad : {"-1e-40", "1e-40", "0"}) {
    const auto found = of_weight(kCodes + ("float s = {" + bad + "}"), "DequantizeLinear(q, s)");
    ASSERT_EQ(found.size(), 1U) << bad;
    EXPECT_EQ(found[0].kind, "bad-scale");
  }
  EXPECT_TRUE(of_weight(kCodes + std::string("float s = {1e-30}"), "DequantizeLinear(q, s)").empty());
}

TEST(QdqDefects, AScaleOfABlockIsNamedAsOneWithWhatTheBlockHolds) {
  // Of four bits, two in a byte: the first column is 0.
  const auto dead = of_weight("int4[4,2] q = {16, 32, 48, 16}, float[2,2] s = {1, 1, 0, 1}",
                              "DequantizeLinear <axis = 0, block_size = 2> (q, s)");
  ASSERT_FALSE(dead.empty());
  EXPECT_EQ(dead[0].text, "its scale 's' holds 0 for block 2 of 4, with all weights 0");
  EXPECT_TRUE(dead[0].cure.starts_with("give it any positive scale")) << dead[0].cure;
  const auto lost = of_weight("int4[4,2] q = {16, 32, 49, 16}, float[2,2] s = {1, 1, 0, 1}",
                              "DequantizeLinear <axis = 0, block_size = 2> (q, s)");
  ASSERT_FALSE(lost.empty());
  EXPECT_EQ(lost[0].text, "its scale 's' holds 0 for block 2 of 4");
}

TEST(QdqDefects, ABlockOfAMatMulNBitsHasTheNumberThatOtherDefectsGiveIt) {
  Model model = parse_model(R"(g (float[1,32] x) => (float[1,2] y)
    <uint8[2,2,8] b = {1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8}, float[4] s = {1, 1, 0, 1}> {
      [mm] y = com.microsoft.MatMulNBits <K = 32, N = 2, bits = 4, block_size = 16> (x, b, s) })");
  const auto found = find_qdq_defects(model);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].text, "its scale 's' holds 0 for block 1 of 4, in column 1");
}

TEST(QdqDefects, ANegativeScaleOfStoredValuesIsRefusedByTensorRtAlone) {
  const auto found =
      of_weight(kCodes + std::string("float[3] s = {0.1, -0.2, 0.1}"), "DequantizeLinear <axis = 1> (q, s)");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, "negative-scale");
  EXPECT_TRUE(found[0].refused_on(Target::TensorRt));
  EXPECT_FALSE(found[0].refused_on(Target::OnnxRuntime));
}

TEST(QdqDefects, ParametersThatDoNotLieOnTheTensorAreRefused) {
  const auto kind = [](const std::string& constants, const std::string& dequantize, int opset = 21) {
    const auto found = of_weight(kCodes + constants, dequantize, opset);
    return found.empty() || !found[0].refused ? std::string() : found[0].kind;
  };
  const std::string three = "float[3] s = {1,1,1}";
  EXPECT_EQ(kind(three, "DequantizeLinear <axis = 1> (q, s)"), "");
  EXPECT_EQ(kind(three, "DequantizeLinear <axis = 0> (q, s)"), "wrong-axis");
  EXPECT_EQ(kind(three, "DequantizeLinear <axis = 2> (q, s)"), "wrong-axis");
  EXPECT_EQ(kind(three + ", int8[2] z = {0,0}", "DequantizeLinear <axis = 1> (q, s, z)"), "parameter-shape");
  EXPECT_EQ(kind("float s = {1}, uint8 z = {0}", "DequantizeLinear(q, s, z)"), "zero-point-type");
  EXPECT_EQ(kind("float[2,3] s = {1,1,1,1,1,1}", "DequantizeLinear <axis = 0, block_size = 2> (q, s)"), "");
  EXPECT_EQ(kind("float[4,3] s = {1,1,1,1,1,1,1,1,1,1,1,1}", "DequantizeLinear <axis = 0, block_size = 2> (q, s)"),
            "wrong-blocks");
}

TEST(QdqDefects, WhatTheOpsetOfTheFileDoesNotHaveIsRefused) {
  const std::string blocks = kCodes + std::string("float[2,3] s = {1,1,1,1,1,1}");
  const auto found = of_weight(blocks, "DequantizeLinear <axis = 0, block_size = 2> (q, s)", 19);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, "newer-opset");
  EXPECT_EQ(found[0].text, "DequantizeLinear takes blocks from opset 21 on, and the file has opset 19");
  EXPECT_EQ(found[0].cure, "write the file in opset 21");
}

TEST(QdqDefects, ABiasAtTheEndOfItsRangeDidNotFit) {
  const Model model = parse_model(R"(g (float[1,1,4,4] x) => (float[a,b,c,d] y)
    <float s = {0.1}, int8 z = {0}, int8[2,1,1,1] w_q = {1,2}, int32[2] b_q = {7, 2147483647}, float bs = {0.01}> {
      q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) w = DequantizeLinear(w_q, s, z)
      [bias] b = DequantizeLinear(b_q, bs) [conv] y = Conv(d, w, b) })");
  const auto found = find_qdq_defects(model);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].kind, "clipped-bias");
  EXPECT_EQ(found[0].node, "bias");
  EXPECT_FALSE(found[0].refused);
}

/// Texts of what is found in a Gemm on data of scale 0.5 and weights of scale 0.25.
std::vector<std::string> of_gemm(const std::string& attributes, const std::string& bias_scale) {
  const Model model = parse_model(
      "g (float[2,2] x) => (float[2,2] y) <float s = {0.5}, float t = {0.25}, "
      "int8 z = {0}, int8[2,2] w_q = {1,2,3,4}, int32[2] b_q = {7,8}, float bs = {" +
      bias_scale + "}> { q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) " +
      "w = DequantizeLinear(w_q, t, z) [bias] b = DequantizeLinear(b_q, bs) [gemm] y = " + "Gemm " + attributes +
      "(d, w, b) }");
  std::vector<std::string> texts;
  for (const QdqDefect& defect : find_qdq_defects(model)) {
    EXPECT_EQ(defect.kind, "bias-scale");
    EXPECT_EQ(defect.node, "bias");
    texts.push_back(defect.text);
  }
  return texts;
}

TEST(QdqDefects, TheScaleOfABiasHasAlphaAndBetaOfItsGemm) {
  const std::vector<std::string> none;
  EXPECT_EQ(of_gemm("", "0.125"), none);
  EXPECT_EQ(of_gemm("<alpha = 2.0>", "0.25"), none);
  EXPECT_EQ(of_gemm("<beta = 2.0>", "0.0625"), none);
  EXPECT_EQ(of_gemm("<alpha = 4.0, beta = 0.5>", "1"), none);
  EXPECT_EQ(of_gemm("<beta = 0.0>", "0.125"), none) << "the bias is not added";
  EXPECT_EQ(of_gemm("", "0.25"),
            std::vector<std::string>{"scale 0.25 of channel 0 is not input scale times weight scale, 0.125"});
  EXPECT_EQ(of_gemm("<alpha = 2.0>", "0.125"),
            std::vector<std::string>{
                "scale 0.125 of channel 0 is not input scale times weight scale times alpha / beta, 0.25"});
  EXPECT_EQ(of_gemm("<beta = 2.0>", "0.125"), none) << "no kernel adds these codes as they are";
  EXPECT_EQ(of_gemm("<beta = 2.0>", "0.25"),
            std::vector<std::string>{
                "scale 0.25 of channel 0 is not input scale times weight scale times alpha / beta, 0.0625"});
}

}  // namespace
}  // namespace vernier::testing
