// Each placement rule on the small graph that shows it, and on the graph beside it that is right.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "plan/rules/rules.h"
#include "plan/simulate_typed.h"
#include "tiny_graph.h"
#include "vernier/report/check_placement.h"

namespace vernier {
namespace {

using testing::parse_model;

using Found = std::vector<std::pair<std::string, std::string>>;  // rule and node

/// `nodes` between x [1,2,4,4] and y; scales s and t, zero points of int8 z and of uint8 u.
Found found(const std::string& nodes, Target target, const std::string& more = "") {
  const Model model = normalized_file(parse_model(
      "g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float s = {0.5}, float t = {0.25}, int8 z = {0}, uint8 u = {128}, "
      "int8[2,2,1,1] w = {1, 2, 3, 4}, float[2,2,1,1] wf = {1, 2, 3, 4}" +
      more + "> {" + nodes + "}"));
  Found names;
  for (const PlacementFinding& finding : apply_rules(QdqGraph(model), target)) {
    EXPECT_FALSE(finding.why.empty());
    EXPECT_FALSE(finding.change.empty());
    names.emplace_back(finding.rule, finding.node);
  }
  return names;
}

constexpr const char* kData = "[q] xq = QuantizeLinear(x, s, z) [d] xd = DequantizeLinear(xq, s, z)";
constexpr const char* kWeight = "[dw] wd = DequantizeLinear(w, t, z)";

std::string pair(const std::string& from, const std::string& to, const std::string& scale = "s") {
  return "[q_" + to + "] " + to + "q = QuantizeLinear(" + from + ", " + scale + ", z) [d_" + to + "] " + to +
         " = DequantizeLinear(" + to + "q, " + scale + ", z)";
}

TEST(TensorrtRules, AQuantizedConvolutionHasNothingToFind) {
  EXPECT_EQ(found(std::string(kData) + kWeight + "[c] y = Conv(xd, wd)", Target::TensorRt), Found{});
}

TEST(TensorrtRules, AWeightAloneIsAChoice) {
  EXPECT_EQ(found(std::string(kWeight) + "[c] y = Conv(x, wd)", Target::TensorRt), Found{});
}

TEST(TensorrtRules, ZeroPointsAndTypesOfCodes) {
  const std::string nodes = "[q] xq = QuantizeLinear(x, s, u) [d] xd = DequantizeLinear(xq, s, u)" +
                            std::string(kWeight) + "[c] y = Conv(xd, wd)";
  EXPECT_EQ(found(nodes, Target::TensorRt),
            (Found{{"zero-point", "q"}, {"code-type", "q"}, {"zero-point", "d"}, {"code-type", "d"}}));
}

TEST(TensorrtRules, AFloatWeightBesideQuantizedData) {
  EXPECT_EQ(found(std::string(kData) + "[c] y = Conv(xd, wf)", Target::TensorRt), (Found{{"one-input-in-float", "c"}}));
}

TEST(TensorrtRules, ScalesOfAWeightAlongItsInputs) {
  const std::string nodes = std::string(kData) + "[dw] wd = DequantizeLinear<axis = 1>(w, tt, zz) [c] y = Conv(xd, wd)";
  EXPECT_EQ(found(nodes, Target::TensorRt, ", float[2] tt = {1, 2}, int8[2] zz = {0, 0}"),
            (Found{{"weight-axis", "c"}}));
}

TEST(TensorrtRules, SeveralScalesOfAnActivation) {
  const std::string nodes =
      "[q] xq = QuantizeLinear<axis = 1>(x, tt, zz) [d] xd = DequantizeLinear<axis = 1>(xq, tt, zz)" +
      std::string(kWeight) + "[c] y = Conv(xd, wd)";
  EXPECT_EQ(found(nodes, Target::TensorRt, ", float[2] tt = {1, 2}, int8[2] zz = {0, 0}"),
            (Found{{"activation-along-axis", "q"}}));
}

TEST(TensorrtRules, APairBetweenAConvolutionAndItsActivation) {
  const std::string conv = std::string(kData) + kWeight + "[c] a = Conv(xd, wd)";
  EXPECT_EQ(found(conv + pair("a", "b") + "[r] y = Relu(b)", Target::TensorRt), (Found{{"pair-in-an-epilogue", "r"}}));
  EXPECT_EQ(found(conv + "[r] b = Relu(a)" + pair("b", "y"), Target::TensorRt), Found{});
}

TEST(TensorrtRules, AResidualAddWantsItsSkipBranchQuantized) {
  const std::string conv = std::string(kData) + kWeight + "[c] a = Conv(xd, wd)";
  EXPECT_EQ(found(conv + "[add] b = Add(a, x)" + pair("b", "y"), Target::TensorRt),
            (Found{{"skip-branch-in-float", "add"}}));
  EXPECT_EQ(found(conv + "[add] b = Add(a, xd)" + pair("b", "y"), Target::TensorRt), Found{});
}

TEST(TensorrtRules, AShortcutConvolutionIsASkipBranch) {
  const std::string both = std::string(kData) + kWeight + "[c] a = Conv(xd, wd) [s] k = Conv(xd, wd)";
  EXPECT_EQ(found(both + "[add] b = Add(a, k)" + pair("b", "y"), Target::TensorRt),
            (Found{{"skip-branch-in-float", "add"}}));
  EXPECT_EQ(found(both + pair("k", "kd") + "[add] b = Add(a, kd)" + pair("b", "y"), Target::TensorRt), Found{});
  EXPECT_EQ(found(both + pair("k", "kd") + "[add] b = Add(x, kd)" + pair("b", "y"), Target::TensorRt),
            (Found{{"pair-in-an-epilogue", "add"}}));
}

TEST(TensorrtRules, ConcatOfUnequalScales) {
  const std::string second = "[q2] x2q = QuantizeLinear(x, t, z) [d2] x2 = DequantizeLinear(x2q, t, z)";
  const std::string same = "[q2] x2q = QuantizeLinear(x, s, z) [d2] x2 = DequantizeLinear(x2q, s, z)";
  const std::string concat = "[cat] y = Concat<axis = 1>(xd, x2)";
  EXPECT_EQ(found(kData + second + concat, Target::TensorRt), (Found{{"unequal-concat", "cat"}}));
  EXPECT_EQ(found(kData + same + concat, Target::TensorRt), Found{});
  EXPECT_EQ(found(kData + second + concat, Target::OpenVino), (Found{{"unequal-intervals", "cat"}}));
}

TEST(OpenvinoRules, SignedCodesBehindAConcat) {
  const std::string concat = "[cat] a = Concat<axis = 1>(x, x)";
  EXPECT_EQ(found(concat + pair("a", "y"), Target::OpenVino), (Found{{"signed-behind-concat", "cat"}}));
  EXPECT_EQ(found(concat + "[q] aq = QuantizeLinear(a, s, u) [d] y = DequantizeLinear(aq, s, u)", Target::OpenVino),
            Found{});
  EXPECT_EQ(found(concat + pair("a", "y"), Target::TensorRt), Found{});
}

TEST(OpenvinoRules, ProductsWhoseDataIsRoundedAtRunTime) {
  const auto of = [](const std::string& type) {
    return found("[d] wd = DequantizeLinear(v, s, o) [m] y = MatMul(x, wd)", Target::OpenVino,
                 ", " + type + "[4,4] v = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, " + type + " o = {0}");
  };
  const Found told{{"rounded-at-run-time", "m"}};
  EXPECT_EQ(of("int8"), told);
  EXPECT_EQ(of("uint8"), told);
  EXPECT_EQ(found("[m] y = MatMul(x, x)", Target::OpenVino), Found{});
}

/// A class token for every image of a batch of `batch` images, beside what the first convolution makes of them.
Found found_beside_a_token(const std::string& batch, const std::string& behind) {
  const Model model = normalized_file(parse_model(
      "g (float[" + batch +
      ",2,4,4] x) => (float[M,3,4,4] y) <float s = {0.5}, float t = {0.25}, int8 z = {0}, uint8 u = {128}, "
      "int8[2,2,1,1] w = {1, 2, 3, 4}, float[2] bias = {1, 2}, int64[1] first = {0}, int64[3] rest = {1, 4, 4}, "
      "float[4] token = {1, 2, 3, 4}> {[q] xq = QuantizeLinear(x, s, u) [d] xd = DequantizeLinear(xq, s, u)" +
      std::string(kWeight) +
      "sh = Shape(x) n = Gather(sh, first) size = Concat<axis = 0>(n, rest) zeros = ConstantOfShape(size) "
      "own = Add(zeros, token) [c] a = Conv(xd, wd, bias)" +
      behind + "[cat] y = Concat<axis = 1>(own, b)}"));
  Found names;
  for (const PlacementFinding& finding : apply_rules(QdqGraph(model), Target::OpenVino)) {
    names.emplace_back(finding.rule, finding.node);
  }
  return names;
}

TEST(OpenvinoRules, ABiasBesideATensorOfTheBatchsSize) {
  const std::string quantized = "[qa] aq = QuantizeLinear(a, s, u) [da] b = DequantizeLinear(aq, s, u)";
  EXPECT_EQ(found_beside_a_token("N", quantized), (Found{{"one-bias-for-all", "c"}}));
  EXPECT_EQ(found_beside_a_token("1", quantized), Found{});
  EXPECT_EQ(found_beside_a_token("N", "b = Relu(a)"), Found{});
}

/// A quantized product of `rows` by [2,2], `behind` that makes b of its result a, and another such product.
Found found_between_products(const std::string& product, const std::string& behind, const std::string& rows = "3") {
  const Model model = normalized_file(
      parse_model("g (float[" + rows +
                  ",2] x) => (float[M,2] y) <float s = {0.5}, float t = {0.25}, int8 z = {0}, uint8 u = {128}, "
                  "int8[2,2] w = {1, 2, 3, 4}, float[2] bias = {1, 2}, float[2] even = {1, 1}, float two = {2}> {"
                  "[q] xq = QuantizeLinear(x, s, u) [d] xd = DequantizeLinear(xq, s, u)" +
                  std::string(kWeight) + product + behind +
                  "[qb] bq = QuantizeLinear(b, s, u) [db] bd = DequantizeLinear(bq, s, u) [m] y = MatMul(bd, wd)}"));
  Found names;
  for (const PlacementFinding& finding : apply_rules(QdqGraph(model), Target::OpenVino)) {
    names.emplace_back(finding.rule, finding.node);
  }
  return names;
}

TEST(OpenvinoRules, AFactorOrNoBiasBetweenTwoProducts) {
  const Found wrong{{"scale-behind-product", "p"}};
  const std::string relu = "[r] b = Relu(a)";
  EXPECT_EQ(found_between_products("[p] a = Gemm <alpha = 0.5> (xd, wd, bias)", relu), wrong);
  EXPECT_EQ(found_between_products("[p] a = MatMul(xd, wd)", "c = Mul(a, two) e = Add(c, bias) b = Relu(e)"), wrong);
  EXPECT_EQ(found_between_products("[p] a = MatMul(xd, wd)", "c = Add(a, bias) e = Div(c, two) b = Relu(e)"), wrong);
  EXPECT_EQ(found_between_products("[p] a = MatMul(xd, wd)", relu), wrong);
  const std::string biased = "[p] a = Gemm(xd, wd, bias)";
  EXPECT_EQ(found_between_products(biased, "b = Neg(a)"), wrong);
  EXPECT_EQ(found_between_products(biased, "c = Neg(a) b = Relu(c)"), wrong);
  EXPECT_EQ(found_between_products(biased, "c = Relu(a) b = Add(bias, c)"), wrong);
  EXPECT_EQ(found_between_products(biased, "c = Relu(a) b = Sub(c, bias)"), wrong);
  EXPECT_EQ(found_between_products(biased, "c = Max(a, two) e = Squeeze(c) b = Mul(e, bias)"), wrong);
  EXPECT_EQ(found_between_products("[p] a = Gemm(xd, wd, even)", relu), wrong) << "one bias for all channels";

  EXPECT_EQ(found_between_products("[p] a = Gemm(xd, wd, bias)", relu), Found{});
  EXPECT_EQ(found_between_products("[p] a = MatMul(xd, wd)", "c = Add(bias, a) b = Relu(c)"), Found{});
  EXPECT_EQ(found_between_products("[p] a = MatMul(xd, wd)", "b = Sigmoid(a)"), Found{});
  EXPECT_EQ(found_between_products("[p] a = MatMul(xd, wd)", "c = Sub(a, bias) b = Relu(c)"), Found{});
  EXPECT_EQ(found_between_products(biased, "c = Relu(a) b = Add(c, two)"), Found{});
  EXPECT_EQ(found_between_products(biased, "c = Neg(a) b = Sigmoid(c)"), Found{});
  EXPECT_EQ(found_between_products("[p] a = MatMul(xd, wd)", relu, "9"), Found{});
  EXPECT_EQ(found_between_products("[p] a = MatMul(xd, wd)", relu, "N"), Found{});
}

/// Attention with `heads` of 4 rows, whose first product is quantized, with `between` that makes p of its result s.
Found found_in_attention(const std::string& type, const std::string& heads, const std::string& first,
                         const std::string& between) {
  const Model model = normalized_file(
      parse_model("g (" + type + "[N," + heads + ",4,4] x) => (" + type +
                  "[N,a,b,c] y) <float s = {0.5}, uint8 u = {128}, int64[1] axes = {0}> {" + first + between + "}"));
  Found names;
  for (const PlacementFinding& finding : apply_rules(QdqGraph(model), Target::OpenVino)) {
    if (finding.computes_otherwise) names.emplace_back(finding.rule, finding.node);
  }
  return names;
}

TEST(OpenvinoRules, AsManyHeadsAsRows) {
  const Found wrong{{"heads-taken-for-rows", "pv"}};
  const std::string codes = "q = QuantizeLinear(x, s, u) d = DequantizeLinear(q, s, u) [qk] s1 = MatMul(d, x) ";
  const std::string plain = "[qk] s1 = MatMul(x, x) ";
  const std::string direct = "p = Softmax(s1) [pv] a = MatMul(p, x) y = Transpose <perm = [0, 2, 1, 3]> (a)";
  EXPECT_EQ(found_in_attention("float", "4", codes, direct), wrong);
  EXPECT_EQ(found_in_attention("bfloat16", "4", plain, direct), wrong);
  EXPECT_EQ(found_in_attention("float", "3", codes, direct), Found{});
  EXPECT_EQ(found_in_attention("float", "4", plain, direct), Found{}) << "nothing is quantized";
  EXPECT_EQ(found_in_attention("bfloat16", "4", plain,
                               "p = Softmax(s1) u5 = Unsqueeze(p, axes) [pv] a5 = MatMul(u5, x) "
                               "a = Squeeze(a5, axes) y = Transpose <perm = [0, 2, 1, 3]> (a)"),
            Found{});
}

TEST(OpenvinoRules, AFloatWeightBesideQuantizedDataAndSixteenBits) {
  EXPECT_EQ(found(std::string(kData) + "[c] y = Conv(xd, wf)", Target::OpenVino), (Found{{"one-input-in-float", "c"}}));
  EXPECT_EQ(
      found("[q] xq = QuantizeLinear(x, s, k) [d] y = DequantizeLinear(xq, s, k)", Target::OpenVino, ", int16 k = {0}"),
      (Found{{"sixteen-bits", "q"}}));
}

// Placements that leave nothing to find, and the rule beside each that would.

TEST(TensorrtRules, SplitAndShapeOperatorsMoveCodes) {
  const std::string split = "[sp] a, b = Split<axis = 1>(xd) [r] ar = Reshape(a, to) [t] at = Transpose(ar)";
  EXPECT_EQ(found(kData + split + "[add] y = Add(at, b)", Target::TensorRt, ", int64[4] to = {1, 1, 4, 4}"), Found{});
}

TEST(TensorrtRules, AWeightSharedByTwoConvolutionsNeedsOnePair) {
  const std::string both =
      std::string(kData) + kWeight + "[c] a = Conv(xd, wd)" + pair("a", "b") + "[e] y = Conv(b, wd)";
  EXPECT_EQ(found(both, Target::TensorRt), Found{});
}

TEST(TensorrtRules, AWeightUsedAlongTwoAxesIsRightForOneOnly) {
  // ConvTranspose has its output channels along axis 1, Conv along axis 0.
  const std::string nodes = std::string(kData) +
                            "[dw] wd = DequantizeLinear<axis = 0>(w, tt, zz) [c] a = Conv(xd, wd)" + pair("a", "b") +
                            "[ct] y = ConvTranspose(b, wd)";
  EXPECT_EQ(found(nodes, Target::TensorRt, ", float[2] tt = {1, 2}, int8[2] zz = {0, 0}"),
            (Found{{"weight-axis", "ct"}}));
}

TEST(TensorrtRules, ABiasThatIsComputedIsNoObstacle) {
  EXPECT_EQ(found(std::string(kData) + kWeight + "[n] nb = Neg(bf) [c] y = Conv(xd, wd, nb)", Target::TensorRt,
                  ", float[2] bf = {1, 2}"),
            Found{});
}

TEST(OnnxRuntimeRules, AFloatBiasOfAGemmThatGivesFloat) {
  const std::string data = "[fl] f = Flatten(x)" + pair("f", "a") + "[dm] wd = DequantizeLinear(m, t, z)";
  const std::string more = ", int8[32,2] m = {" + std::string("1") + [] {
    std::string rest;
    for (int i = 1; i < 64; ++i) rest += ", 1";
    return rest;
  }() + "}, float[2] bf = {1, 2}, int32[2] bq = {1, 2}, float one = {0.125}, int64[4] to = {1, 2, 1, 1}";
  const std::string reshaped = "[r] y = Reshape(g, to)";
  EXPECT_EQ(found(data + "[gemm] g = Gemm(a, wd, bf)" + reshaped, Target::OnnxRuntime, more),
            (Found{{"float-bias", "gemm"}}));
  EXPECT_EQ(found(data + "[gemm] g = Gemm(a, wd)" + reshaped, Target::OnnxRuntime, more), Found{});
  EXPECT_EQ(found(data + "[db] bd = DequantizeLinear(bq, one) [gemm] g = Gemm(a, wd, bd)" + reshaped,
                  Target::OnnxRuntime, more),
            Found{});
  EXPECT_EQ(found(data + "[gemm] h = Gemm(a, wd, bf)" + pair("h", "g") + reshaped, Target::OnnxRuntime, more), Found{});
  const std::string scaled = data + "[db] bd = DequantizeLinear(bq, one) [gemm] g = Gemm ";
  EXPECT_EQ(found(scaled + "<alpha = 2.0> (a, wd, bd)" + reshaped, Target::OnnxRuntime, more),
            (Found{{"bias-scale", "gemm"}}));
  EXPECT_EQ(found(scaled + "<alpha = 2.0, beta = 2.0> (a, wd, bd)" + reshaped, Target::OnnxRuntime, more), Found{});
}

TEST(OnnxRuntimeRules, ConcatOfUnequalScalesIsRequantized) {
  const std::string second = "[q2] x2q = QuantizeLinear(x, t, z) [d2] x2 = DequantizeLinear(x2q, t, z)";
  EXPECT_EQ(found(kData + second + "[cat] b = Concat<axis = 1>(xd, x2)" + pair("b", "y"), Target::OnnxRuntime),
            Found{});
}

TEST(OnnxRuntimeRules, SplitAndReshapeWantOneGrid) {
  const std::string reshape = "[r] b = Reshape(xd, to)";
  const std::string more = ", int64[4] to = {1, 2, 4, 4}";
  EXPECT_EQ(found(kData + reshape + pair("b", "y"), Target::OnnxRuntime, more), Found{});
  EXPECT_EQ(found(kData + reshape + pair("b", "y", "t"), Target::OnnxRuntime, more),
            (Found{{"moved-to-another-grid", "r"}}));
}

TEST(OnnxRuntimeRules, AveragePoolHasAKernelOnCodes) {
  EXPECT_EQ(found(kData + std::string("[p] b = AveragePool<kernel_shape = [1, 1]>(xd)") + pair("b", "y", "t"),
                  Target::OnnxRuntime),
            Found{});
}

TEST(OnnxRuntimeRules, AConvolutionNeedsAQuantizerBehind) {
  const std::string conv = std::string(kData) + kWeight + "[c] a = Conv(xd, wd)";
  EXPECT_EQ(found(conv + "[r] y = Relu(a)", Target::OnnxRuntime), (Found{{"no-quantizer-behind", "c"}}));
  EXPECT_EQ(found(conv + "[r] b = Relu(a)" + pair("b", "y"), Target::OnnxRuntime), Found{});
  EXPECT_EQ(found(conv + pair("a", "b") + "[add] y = Add(a, b)", Target::OnnxRuntime),
            (Found{{"no-quantizer-behind", "c"}}));
}

TEST(OnnxRuntimeRules, AddWithOneInputInFloat) {
  EXPECT_EQ(found(kData + std::string("[add] b = Add(xd, x)") + pair("b", "y"), Target::OnnxRuntime),
            (Found{{"one-input-in-float", "add"}}));
}

TEST(OnnxRuntimeRules, MovingCodesToAnotherGrid) {
  const std::string pool = "[p] b = MaxPool<kernel_shape = [1, 1]>(xd)";
  EXPECT_EQ(found(kData + pool + pair("b", "y", "t"), Target::OnnxRuntime), (Found{{"moved-to-another-grid", "p"}}));
  EXPECT_EQ(found(kData + pool + pair("b", "y"), Target::OnnxRuntime), Found{});
}

TEST(OnnxRuntimeRules, AnOperatorWithoutAKernelOnCodes) {
  EXPECT_EQ(found(kData + std::string("[t] b = Tanh(xd)") + pair("b", "y"), Target::OnnxRuntime),
            (Found{{"no-kernel-on-codes", "t"}}));
}

TEST(OnnxRuntimeRules, PairsThatNeighboursNeedCostNothing) {
  const auto costs = [](const std::string& nodes) {
    const Model model = normalized_file(
        parse_model("g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float s = {0.5}, float t = {0.25}, int8 z = {0}, "
                    "int8[2,2,1,1] w = {1, 2, 3, 4}, float[2,2,1,1] wf = {1, 2, 3, 4}> {" +
                    nodes + "}"));
    const std::vector<PlacementFinding> findings = apply_rules(QdqGraph(model), Target::OnnxRuntime);
    EXPECT_EQ(findings.size(), 1U);
    return findings.empty() || !findings.front().costs_nothing;
  };
  const std::string before = std::string(kData) + kWeight + "[c] a = Conv(xd, wd)" + pair("a", "b");
  const std::string behind = pair("e", "f") + "[c2] g = Conv(f, wd)" + pair("g", "y");
  EXPECT_FALSE(costs(before + "[t] e = Tanh(b)" + behind));
  EXPECT_TRUE(costs(before + "[t] e = Tanh(b)" + pair("e", "f") + "[n] y = Neg(f)")) << "no kernel behind it";
  EXPECT_FALSE(costs(before + "[kept] e = Conv(b, wf)" + behind));
  EXPECT_FALSE(costs(before + "[n] m = Neg(x) [add] e = Add(m, b)" + behind)) << "made in float";
  EXPECT_TRUE(costs(before + "[add] e = Add(x, b)" + behind)) << "an input of the network";
}

}  // namespace
}  // namespace vernier
