// Each placement rule on the small graph that shows it, and on the graph beside it that is right.
#include <gtest/gtest.h>

#include "plan/rules/rules.h"
#include "plan/simulate_typed.h"
#include "tiny_graph.h"

namespace vernier {
namespace {

using testing::parse_model;

using Found = std::vector<std::pair<std::string, std::string>>;  // rule and node

/// `nodes` between x [1,2,4,4] and y; scales s and t, zero points of int8 z and of uint8 u.
Found found(const std::string& nodes, std::string_view target, const std::string& more = "") {
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
  EXPECT_EQ(found(std::string(kData) + kWeight + "[c] y = Conv(xd, wd)", "tensorrt"), Found{});
}

TEST(TensorrtRules, AWeightAloneIsAChoice) {
  EXPECT_EQ(found(std::string(kWeight) + "[c] y = Conv(x, wd)", "tensorrt"), Found{});
}

TEST(TensorrtRules, ZeroPointsAndTypesOfCodes) {
  const std::string nodes = "[q] xq = QuantizeLinear(x, s, u) [d] xd = DequantizeLinear(xq, s, u)" +
                            std::string(kWeight) + "[c] y = Conv(xd, wd)";
  EXPECT_EQ(found(nodes, "tensorrt"),
            (Found{{"zero-point", "q"}, {"code-type", "q"}, {"zero-point", "d"}, {"code-type", "d"}}));
}

TEST(TensorrtRules, AFloatWeightBesideQuantizedData) {
  EXPECT_EQ(found(std::string(kData) + "[c] y = Conv(xd, wf)", "tensorrt"), (Found{{"one-input-in-float", "c"}}));
}

TEST(TensorrtRules, ScalesOfAWeightAlongItsInputs) {
  const std::string nodes = std::string(kData) + "[dw] wd = DequantizeLinear<axis = 1>(w, tt, zz) [c] y = Conv(xd, wd)";
  EXPECT_EQ(found(nodes, "tensorrt", ", float[2] tt = {1, 2}, int8[2] zz = {0, 0}"), (Found{{"weight-axis", "c"}}));
}

TEST(TensorrtRules, SeveralScalesOfAnActivation) {
  const std::string nodes =
      "[q] xq = QuantizeLinear<axis = 1>(x, tt, zz) [d] xd = DequantizeLinear<axis = 1>(xq, tt, zz)" +
      std::string(kWeight) + "[c] y = Conv(xd, wd)";
  EXPECT_EQ(found(nodes, "tensorrt", ", float[2] tt = {1, 2}, int8[2] zz = {0, 0}"),
            (Found{{"activation-along-axis", "q"}}));
}

TEST(TensorrtRules, APairBetweenAConvolutionAndItsActivation) {
  const std::string conv = std::string(kData) + kWeight + "[c] a = Conv(xd, wd)";
  EXPECT_EQ(found(conv + pair("a", "b") + "[r] y = Relu(b)", "tensorrt"), (Found{{"pair-in-an-epilogue", "r"}}));
  EXPECT_EQ(found(conv + "[r] b = Relu(a)" + pair("b", "y"), "tensorrt"), Found{});
}

TEST(TensorrtRules, AResidualAddWantsItsSkipBranchQuantized) {
  const std::string conv = std::string(kData) + kWeight + "[c] a = Conv(xd, wd)";
  EXPECT_EQ(found(conv + "[add] b = Add(a, x)" + pair("b", "y"), "tensorrt"), (Found{{"skip-branch-in-float", "add"}}));
  EXPECT_EQ(found(conv + "[add] b = Add(a, xd)" + pair("b", "y"), "tensorrt"), Found{});
}

TEST(TensorrtRules, ConcatOfUnequalScales) {
  const std::string second = "[q2] x2q = QuantizeLinear(x, t, z) [d2] x2 = DequantizeLinear(x2q, t, z)";
  const std::string same = "[q2] x2q = QuantizeLinear(x, s, z) [d2] x2 = DequantizeLinear(x2q, s, z)";
  const std::string concat = "[cat] y = Concat<axis = 1>(xd, x2)";
  EXPECT_EQ(found(kData + second + concat, "tensorrt"), (Found{{"unequal-concat", "cat"}}));
  EXPECT_EQ(found(kData + same + concat, "tensorrt"), Found{});
  EXPECT_EQ(found(kData + second + concat, "openvino"), (Found{{"unequal-intervals", "cat"}}));
}

TEST(OnnxRuntimeRules, AConvolutionNeedsAQuantizerBehind) {
  const std::string conv = std::string(kData) + kWeight + "[c] a = Conv(xd, wd)";
  EXPECT_EQ(found(conv + "[r] y = Relu(a)", "onnxruntime"), (Found{{"no-quantizer-behind", "c"}}));
  EXPECT_EQ(found(conv + "[r] b = Relu(a)" + pair("b", "y"), "onnxruntime"), Found{});
  EXPECT_EQ(found(conv + pair("a", "b") + "[add] y = Add(a, b)", "onnxruntime"), (Found{{"no-quantizer-behind", "c"}}));
}

TEST(OnnxRuntimeRules, AddWithOneInputInFloat) {
  EXPECT_EQ(found(kData + std::string("[add] b = Add(xd, x)") + pair("b", "y"), "onnxruntime"),
            (Found{{"one-input-in-float", "add"}}));
}

TEST(OnnxRuntimeRules, MovingCodesToAnotherGrid) {
  const std::string pool = "[p] b = MaxPool<kernel_shape = [1, 1]>(xd)";
  EXPECT_EQ(found(kData + pool + pair("b", "y", "t"), "onnxruntime"), (Found{{"moved-to-another-grid", "p"}}));
  EXPECT_EQ(found(kData + pool + pair("b", "y"), "onnxruntime"), Found{});
}

TEST(OnnxRuntimeRules, AnOperatorWithoutAKernelOnCodes) {
  EXPECT_EQ(found(kData + std::string("[t] b = Tanh(xd)") + pair("b", "y"), "onnxruntime"),
            (Found{{"no-kernel-on-codes", "t"}}));
}

}  // namespace
}  // namespace vernier
