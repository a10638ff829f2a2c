// Clips whose limits TensorRT-RTX loses: which of them, and what is written in their place. The chains are those that
// bench/hardware/fused_layers.py ran on the engine, by the names that they have there.
#include "plan/engine_limits.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/simulate_typed.h"
#include "tiny_graph.h"
#include "vernier/arithmetic.h"

namespace vernier {
namespace {

using testing::parse_model;

/// x in float32, then `nodes` from h in the low type to y, in float32.
Model chain(const std::string& low, const std::string& nodes) {
  const std::string to = low == "bfloat16" ? "16" : "10";
  return normalized_file(parse_model("g (float[1,2,4,4] x) => (float[1,2,n,m] y) <" + low +
                                     "[2,2,1,1] w = {1, 2, 3, 4}, float[2,2,1,1] v = {1, 2, 3, 4}, " + low +
                                     " zero = {0}, " + low + " one = {1}, " + low +
                                     " six = {6}, int64[4] whole = {1, 2, 4, 4}> {"
                                     "[in] h = Cast<to = " +
                                     to + ">(x) " + nodes + "}"));
}

constexpr const char* kClip = "[conv] a = Conv(h, w) [clip] b = Clip(a, zero, six) ";
constexpr const char* kPool = "[pool] c = AveragePool<kernel_shape = [4, 4]>(b) [out] y = Cast<to = 1>(c)";

std::vector<std::string> lost(Model model) { return lose_limits(model); }

using Names = std::vector<std::string>;

TEST(LostLimits, OfAClipBetweenAConvolutionAndAPoolInBfloat16) {
  EXPECT_EQ(lost(chain("bfloat16", std::string(kClip) + kPool)), Names{"clip"});
  EXPECT_EQ(lost(chain("float16", std::string(kClip) + kPool)), Names{}) << "which runs in float16 there";
}

TEST(LostLimits, OfAClipBetweenAConvolutionAndOneInFloat32) {
  const std::string behind = "[f] c = Cast<to = 1>(b) [d] y = Conv(c, v)";
  for (const char* low : {"float16", "bfloat16"}) {
    EXPECT_EQ(lost(chain(low, kClip + behind)), Names{"clip"}) << low;
    EXPECT_EQ(lost(chain(low, "[conv] a0 = Conv(h, w) [r] a = Relu(a0) [clip] b = Clip(a, zero, six)" + behind)),
              Names{"clip"});
    EXPECT_EQ(lost(chain(low, "[conv] a = Conv(h, w) [max] m = Max(a, zero) [min] b = Min(m, six)" + behind)),
              Names{"min"});
    EXPECT_EQ(
        lost(chain(low, "[conv] a = Conv(h, w) [clip] b0 = Clip(a, zero, six) [s] b = Reshape(b0, whole)" + behind)),
        Names{"clip"});
  }
}

TEST(LostLimits, NotWhereTheEngineWasSeenToKeepThem) {
  const std::string behind = "[f] c = Cast<to = 1>(b) [d] y = Conv(c, v)";
  for (const std::string& nodes :
       {std::string(kClip) + "[out] y = Cast<to = 1>(b)",                                      // nobody reads it
        std::string(kClip) + "[f] c = Cast<to = 1>(b) [d] y = Sigmoid(c)",                     // no kernel of its own
        std::string(kClip) + "[d] c = Conv(b, w) [out] y = Cast<to = 1>(c)",                   // in the low type
        "[conv] a = Conv(h, w) [clip] b = Clip(a, one, six)" + behind,                         // not from zero
        "[conv] a = Conv(h, w) [s] a1 = Sigmoid(a) [clip] b = Clip(a1, zero, six)" + behind,   // another between
        "[conv] a = Conv(h, w) [min] m = Min(a, six) [max] b = Max(m, zero)" + behind,         // the other order
        "[clip] b = Clip(h, zero, six)" + behind,                                              // no convolution
        std::string(kClip) + "[f] c = Cast<to = 1>(b) [d] e = Conv(c, v) [s] k = Sigmoid(b) "  // two readers
                             "[l] z = Cast<to = 1>(k) [j] y = Add(e, z)"}) {
    EXPECT_EQ(lost(chain("bfloat16", nodes)), Names{}) << nodes;
  }
}

TEST(LostLimits, OfABfloat16ClipWithOneOfTwo) {
  for (const char* clip : {"Clip(h, zero)", "Clip(h, , six)"}) {
    const std::string nodes = "[clip] b = " + std::string(clip) + " [out] y = Cast<to = 1>(b)";
    EXPECT_EQ(lost(chain("bfloat16", nodes)), Names{"clip"}) << clip;
    EXPECT_EQ(lost(chain("float16", nodes)), Names{}) << clip;
  }
}

TEST(LostLimits, OfAFusedClipWithOneOfTwo) {
  const auto fused = [](const std::string& clip) {
    Model model = chain("bfloat16", "[conv] a = Conv(h, w) [clip] b = " + clip + kPool);
    return lose_limits(model);
  };
  EXPECT_EQ(fused("Clip(a, zero) "), Names{}) << "the upper 0 is lost, which nobody wanted";
  EXPECT_EQ(fused("Clip(a, , six) "), Names{"clip"});
}

/// Operators of the main graph, "Relu Min".
std::string operators(const Model& model) {
  std::string text;
  for (const onnx::NodeProto& node : model.proto.graph().node()) text += (text.empty() ? "" : " ") + node.op_type();
  return text;
}

std::string written(const std::string& low, const std::string& nodes) {
  Model model = chain(low, nodes);
  NamePool names(model);
  spell_out_limits(model, names);
  EXPECT_EQ(lost(model), Names{}) << nodes;
  return operators(model);
}

TEST(SpelledOutLimits, AreAReluAndAMin) {
  EXPECT_EQ(written("bfloat16", std::string(kClip) + kPool), "Cast Conv Relu Min AveragePool Cast");
  EXPECT_EQ(written("float16", std::string(kClip) + kPool), "Cast Conv Clip AveragePool Cast");
  EXPECT_EQ(written("float16", std::string(kClip) + "[f] c = Cast<to = 1>(b) [d] y = Conv(c, v)"),
            "Cast Conv Relu Min Cast Conv");
  EXPECT_EQ(
      written("bfloat16", "[conv] a = Conv(h, w) [max] m = Max(zero, a) [min] b = Min(m, six) " + std::string(kPool)),
      "Cast Conv Relu Min AveragePool Cast");
}

TEST(SpelledOutLimits, OfOneLimitInBfloat16) {
  EXPECT_EQ(written("bfloat16", "[clip] b = Clip(h, zero) [out] y = Cast<to = 1>(b)"), "Cast Relu Cast");
  EXPECT_EQ(written("bfloat16", "[clip] b = Clip(h, one) [out] y = Cast<to = 1>(b)"), "Cast Max Cast");
  EXPECT_EQ(written("bfloat16", "[clip] b = Clip(h, , six) [out] y = Cast<to = 1>(b)"), "Cast Min Cast");
}

TEST(SimulatedFiles, LoseALimitWhereTheySumAsTheEngine) {
  const Model file = chain("bfloat16", std::string(kClip) + kPool);
  const SimulatedFile plain = simulate_typed(file);
  const SimulatedFile as_engine = simulate_typed(file, {.accumulate = Accumulate::Float16});
  EXPECT_EQ(plain.lost_limits, Names{"clip"});
  EXPECT_EQ(as_engine.lost_limits, Names{"clip"});
  EXPECT_NE(operators(plain.model).find("Clip"), std::string::npos);
  EXPECT_EQ(operators(as_engine.model).find("Clip"), std::string::npos);
}

}  // namespace
}  // namespace vernier
