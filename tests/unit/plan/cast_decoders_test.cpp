// Which nodes become a DequantizeLinear. What files with them measure is in tests/traits/test_decoded_weights.py.
#include "plan/cast_decoders.h"

#include <gtest/gtest.h>

#include <string>

#include "model/model.h"
#include "tiny_graph.h"

namespace vernier::testing {
namespace {

/// "axis block" of the DequantizeLinear that makes `w`, with its name; empty: none does.
std::string decoder(const std::string& nodes, int opset = 21) {
  Model model = parse_model(R"(g (float[2,4] x) => (float[a,b] y)
    <int8[4,6] c = {1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4,5,6}, float one = {0.5}, float[6] columns = {1,2,3,4,5,6},
     float[4,1] rows = {1,2,3,4}, float[1,6] across = {1,2,3,4,5,6}, float[3] odd = {1,2,3}, float zero = {3},
     float half = {0.5}, int8[4,2,3] g = {1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4,5,6},
     float[4,2,1] groups = {1,2,3,4,5,6,7,8}> { )" +
                            nodes + " y = MatMul(x, w) }");
  model.proto.mutable_opset_import(0)->set_version(opset);
  dequantize_casts(model);
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    if (node.op_type() != "DequantizeLinear") continue;
    EXPECT_TRUE(stands_for_casts(node));
    return node.name() + ' ' + std::to_string(attribute_int(node, "axis", -1)) + ' ' +
           std::to_string(attribute_int(node, "block_size", 0)) + ' ' + std::to_string(node.input_size());
  }
  return {};
}

TEST(CastDecoders, AScaleMayLieAlongAnyDimension) {
  const std::string cast = "f = Cast <to = 1> (c) [scaled] w = ";
  EXPECT_EQ(decoder(cast + "Mul(f, one)"), "scaled -1 0 2");
  EXPECT_EQ(decoder(cast + "Mul(columns, f)"), "scaled 1 0 2");
  EXPECT_EQ(decoder(cast + "Mul(f, across)"), "scaled 1 0 2");
  EXPECT_EQ(decoder(cast + "Div(f, rows)"), "scaled 0 0 2");
}

TEST(CastDecoders, AZeroPointIsAnInteger) {
  const std::string cast = "f = Cast <to = 1> (c) ";
  EXPECT_EQ(decoder(cast + "s = Sub(f, zero) [scaled] w = Mul(s, one)"), "scaled -1 0 3");
  EXPECT_EQ(decoder(cast + "s = Sub(f, half) [scaled] w = Mul(s, one)"), "");
  EXPECT_EQ(decoder(cast + "s = Sub(zero, f) [scaled] w = Mul(s, one)"), "");
}

TEST(CastDecoders, BlocksNeedTheirOpset) {
  const std::string blocks = "f = Cast <to = 1> (g) [scaled] v = Mul(f, groups) w = Flatten(v)";
  EXPECT_EQ(decoder(blocks), "scaled 2 3 2");
  EXPECT_EQ(decoder(blocks, 20), "");
}

TEST(CastDecoders, OnlyAFactorMakesAWeightOfIntegers) {
  EXPECT_EQ(decoder("w = Cast <to = 1> (c)"), "");
  EXPECT_EQ(decoder("f = Cast <to = 1> (c) w = Mul(f, f)"), "");
  EXPECT_EQ(decoder("f = Cast <to = 1> (c) [scaled] v = Mul(f, one) w = Add(v, f)"), "");
}

}  // namespace
}  // namespace vernier::testing
