#include <gtest/gtest.h>

#include <numbers>
#include <string>
#include <vector>

#include "bench.h"
#include "model/graph_edit.h"
#include "repairs/repair.h"

namespace vernier::testing {
namespace {

Model scaled(Bench& bench, int round = 0) {
  const std::vector<Proposal> proposals = scale_squares(bench.network(), round);
  EXPECT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals.at(0).why_not, "");
  Model model = bench.model;
  proposals.at(0).rewrite(model);
  verify_structure(model, "scale-square");
  return model;
}

float number(const Model& model, const std::string& name) { return initializer(model, name).value().floats()[0]; }

std::vector<std::string> operators(const Model& model) {
  std::vector<std::string> found;
  for (const onnx::NodeProto& node : model.proto.graph().node()) found.push_back(node.op_type());
  return found;
}

TEST(ScaleSquare, DividesBeforeSquaring) {
  Bench bench(parsed("g (float[1,4] x) => (float[1,4] y) <float two = {2}, float e = {1e-5}> {"
                     " [sq] s = Pow(x, two) [mean] m = ReduceMean<axes = [1]>(s) [add] a = Add(m, e)"
                     " [root] r = Sqrt(a) [div] y = Div(x, r) }"),
              Format::Float16);
  bench.ranges["x"] = {-1000, 1000, 10, 0};
  bench.ranges["s"] = {0, 1e6, 10, 0};
  const Model model = scaled(bench);
  EXPECT_EQ(number(model, "x.factor"), 0.125F);
  EXPECT_EQ(number(model, "e.scaled"), 1e-5F / 64);
  EXPECT_EQ(operators(model), (std::vector<std::string>{"Mul", "Pow", "ReduceMean", "Add", "Sqrt", "Div"}))
      << "the quotient takes the factor out";
  bench.ranges["x"] = {-200, 200, 10, 0};
  bench.ranges["s"] = {0, 40000, 10, 0};
  EXPECT_TRUE(scale_squares(bench.network(), 0).empty());
}

TEST(ScaleSquare, DividesBeforeASumWhoseMeanFits) {
  Bench bench(parsed("g (float[1,512] x) => (float[1,1] y) <int64[1] axes = {1}, float share = {0.001953125}> {"
                     " [sum] s = ReduceSum(x, axes) [mean] m = Mul(s, share) [out] y = Neg(m) }"),
              Format::Float16);
  bench.ranges["x"] = {0, 300, 10, 0};
  bench.ranges["s"] = {0, 100000, 10, 0};
  bench.ranges["m"] = {0, 195, 10, 0};
  const Model model = scaled(bench);
  EXPECT_EQ(number(model, "x.factor"), 0.125F);
  EXPECT_EQ(number(model, "share.scaled"), 0.001953125F * 8) << "the constant takes the factor out";
  EXPECT_EQ(operators(model), (std::vector<std::string>{"Mul", "ReduceSum", "Mul", "Neg"}));
  bench.ranges["m"] = {0, 70000, 10, 0};
  bench.ranges["y"] = {-70000, 0, 10, 0};
  EXPECT_EQ(scale_squares(bench.network(), 0).at(0).why_not, "'y' exceeds the format by itself");
}

/// The power of a short Fourier transform, a filter bank, a floor, a logarithm.
Bench spectrum() {
  Bench bench(parsed("g (float[1,4] re, float[1,4] im) => (float[1,2] y) <float two = {2}, float tiny = {1e-8}> {"
                     " [sq1] a = Pow(re, two) [sq2] b = Mul(im, im) [add] p = Add(a, b) [bank] m = MatMul(p, w)"
                     " [floor] f = Max(m, tiny) [log] y = Log(f) }",
                     {{"w", filled({4, 2}, [](int) { return 0.25F; })}}),
              Format::Float16);
  for (const char* tensor : {"re", "im"}) bench.ranges[tensor] = {-0.125F, 0.125F, 10, 0};
  for (const char* tensor : {"a", "b", "p", "m", "f"}) bench.ranges[tensor] = {0, 0x1p-6F, 10, 0};
  bench.noise["log"] = 1e-3;
  return bench;
}

TEST(ScaleSquare, MakesAPowerSpectrumLargerUpToItsLogarithm) {
  Bench bench = spectrum();
  const Model model = scaled(bench);
  EXPECT_EQ(number(model, "re.factor"), 1024) << "2^-6 times its square is 2^14";
  EXPECT_EQ(number(model, "im.factor"), 1024);
  EXPECT_EQ(number(model, "tiny.scaled"), 1e-8F * 0x1p20F);
  EXPECT_FLOAT_EQ(number(model, "y.factor"), -20 * std::numbers::ln2_v<float>);
  EXPECT_EQ(operators(model),
            (std::vector<std::string>{"Mul", "Mul", "Pow", "Mul", "Add", "MatMul", "Max", "Log", "Add"}));
  EXPECT_EQ(model.proto.graph().node(8).output(0), "y");
}

TEST(ScaleSquare, AnotherRoundChangesWhatIsThere) {
  Bench bench = spectrum();
  Bench again(scaled(bench), Format::Float16);
  for (const char* tensor : {"re.scaled", "im.scaled"}) again.ranges[tensor] = {-128, 128, 10, 0};
  for (const char* tensor : {"a", "b", "p", "m", "f"}) again.ranges[tensor] = {0, 0x1p14F, 10, 0};
  again.noise["log"] = 1e-3;
  const Model model = scaled(again, 1);
  EXPECT_EQ(number(model, model.proto.graph().node(0).input(1)), 256) << "2^10 is the place of the second round";
  EXPECT_FLOAT_EQ(number(model, model.proto.graph().node(8).input(1)), -16 * std::numbers::ln2_v<float>);
  EXPECT_EQ(operators(model), operators(again.model));
}

TEST(ScaleSquare, LeavesALogarithmThatLosesNothing) {
  Bench bench = spectrum();
  bench.noise["log"] = 1e-8;
  bench.model = parsed("g (float[1,4] x) => (float[1,4] y) { [log] y = Log(x) }");
  EXPECT_TRUE(scale_squares(bench.network(), 0).empty());
}

TEST(ScaleSquare, LiftsTheFloorUnderALogarithm) {
  Bench bench(parsed("g (float[1,4] x) => (float[1,4] y) <float low = {1e-9}, float high = {1}> {"
                     " [share] s = Softmax(x) [floor] f = Clip(s, low, high) [log] y = Log(f) }"),
              Format::Float16);
  for (const char* tensor : {"s", "f"}) bench.ranges[tensor] = {0, 1, 10, 0};
  const Model model = scaled(bench);
  EXPECT_EQ(number(model, "s.factor"), 0x1p14F);
  EXPECT_EQ(number(model, "low.scaled"), 1e-9F * 0x1p14F);
  EXPECT_EQ(number(model, "high.scaled"), 0x1p14F);
  EXPECT_EQ(operators(model), (std::vector<std::string>{"Softmax", "Mul", "Clip", "Log", "Add"}));
}

TEST(ScaleSquare, AnotherRoundForAFloor) {
  Bench bench(parsed("g (float[1,4] x) => (float[1,4] y) <float low = {1e-9}, float high = {1}, float f = {1024},"
                     " float back = {-6.9314718}> {"
                     " [share] s = Softmax(x) [up] t = Mul(s, f) [floor] c = Clip(t, low, high) [log] l = Log(c)"
                     " [down] y = Add(l, back) }"),
              Format::Float16);
  for (const char* tensor : {"t", "c"}) bench.ranges[tensor] = {0, 1024, 10, 0};
  bench.ranges["s"] = {0, 1, 10, 0};
  const Model model = scaled(bench, 2);
  EXPECT_EQ(number(model, "f.scaled"), 0x1p15F);
  EXPECT_FLOAT_EQ(number(model, "back.scaled"), -15 * std::numbers::ln2_v<float>);
  EXPECT_EQ(operators(model), operators(bench.model));
}

TEST(ScaleSquare, ScalesWhatASumAddsToIt) {
  Bench bench(parsed("g (float[1,4] x, float[1,4] z) => (float[1,4] y) <float two = {2}> {"
                     " [sq] s = Pow(x, two) [add] a = Add(s, z) [root] y = Sqrt(a) }"),
              Format::Float16);
  for (const char* tensor : {"x", "z"}) bench.ranges[tensor] = {-1000, 1000, 10, 0};
  for (const char* tensor : {"s", "a"}) bench.ranges[tensor] = {0, 1e6, 10, 0};
  bench.ranges["y"] = {0, 1000, 10, 0};
  const Model model = scaled(bench);
  EXPECT_EQ(number(model, "x.factor"), 0.125F);
  EXPECT_EQ(number(model, "z.factor"), 1.0F / 64);
  EXPECT_EQ(number(model, "y.factor"), 8) << "a Mul takes it out";
}

TEST(ScaleSquare, AreasOfBoxesAreScaledWithTheirRatio) {
  Bench bench(parsed("g (float[1,4] w, float[1,4] h, float[1,4] v, float[1,4] k, float[1,4] iw, float[1,4] ih)"
                     " => (float[1,4] y) <float e = {1e-3}> {"
                     " [a] a = Mul(w, h) [b] b = Mul(v, k) [i] i = Mul(iw, ih) [both] s = Add(a, b)"
                     " [union] u = Sub(s, i) [eps] n = Add(u, e) [iou] y = Div(i, n) }"),
              Format::Float16);
  for (const char* side : {"w", "h", "v", "k", "iw", "ih"}) bench.ranges[side] = {1, 700, 10, 0};
  for (const char* area : {"a", "b", "i", "u", "n"}) bench.ranges[area] = {1, 490000, 10, 0};
  bench.ranges["s"] = {2, 980000, 10, 0};
  const Model model = scaled(bench);
  for (const char* side : {"w", "v", "iw"}) EXPECT_EQ(number(model, side + std::string(".factor")), 0x1p-6F);
  EXPECT_EQ(number(model, "e.scaled"), 1e-3F * 0x1p-6F);
  EXPECT_EQ(operators(model),
            (std::vector<std::string>{"Mul", "Mul", "Mul", "Mul", "Mul", "Mul", "Add", "Sub", "Add", "Div"}))
      << "the quotient takes the factor out";
}

TEST(ScaleSquare, AnAreaThatASumOverflowsWithIsScaledInFrontOfItsProduct) {
  Bench bench(parsed("g (float[1,4] w, float[1,4] h, float[1,4] v, float[1,4] k) => (float[1,4] y) {"
                     " [a] a = Mul(w, h) [b] b = Mul(v, k) [twice] t = Add(b, b) [sum] s = Add(a, t)"
                     " [share] y = Div(a, s) }"),
              Format::Float16);
  for (const char* side : {"w", "h", "v", "k"}) bench.ranges[side] = {1, 700, 10, 0};
  for (const char* area : {"a", "b", "t", "s"}) bench.ranges[area] = {1, 490000, 10, 0};
  const Model model = scaled(bench);
  EXPECT_EQ(number(model, "v.factor"), number(model, "w.factor"));
}

TEST(ScaleSquare, WeightsAroundAGatedLayerTakeTheFactor) {
  Bench bench(parsed("g (float[1,4] x) => (float[1,4] y) {"
                     " [gate] g = MatMul(x, wg) [relu] r = Relu(g) [up] u = Gemm(x, wu, bu) [hidden] h = Mul(r, u)"
                     " [down] d = Gemm(h, wd, bd) [out] y = Neg(d) }",
                     {{"wg", filled({4, 4}, [](int) { return 1.0F; })},
                      {"wu", filled({4, 4}, [](int) { return 2.0F; })},
                      {"bu", filled({4}, [](int) { return 3.0F; })},
                      {"wd", filled({4, 4}, [](int) { return 4.0F; })},
                      {"bd", filled({4}, [](int) { return 5.0F; })}}),
              Format::Float16);
  for (const char* tensor : {"x", "g", "r", "u", "d", "y"}) bench.ranges[tensor] = {-600, 600, 10, 0};
  bench.ranges["h"] = {-262144, 262144, 10, 0};
  const Model model = scaled(bench);
  EXPECT_EQ(operators(model), operators(bench.model)) << "no node is added";
  EXPECT_EQ(number(model, "wu.scaled"), 2 / 16.0F);
  EXPECT_EQ(number(model, "bu.scaled"), 3 / 16.0F);
  EXPECT_EQ(number(model, "wd.scaled"), 4 * 16);
  EXPECT_EQ(find_node(model.proto.graph(), "down")->input(2), "bd");
}

TEST(ScaleSquare, WeightsThatWouldLoseDigitsStayAsTheyWere) {
  Bench bench(
      parsed("g (float[1,4] x) => (float[1,4] y) {"
             " [gate] r = Relu(x) [up] u = MatMul(x, wu) [hidden] h = Mul(r, u) [down] y = MatMul(h, wd) }",
             {{"wu", filled({4, 4}, [](int) { return 0x1p-8F; })}, {"wd", filled({4, 4}, [](int) { return 4.0F; })}}),
      Format::Float16);
  for (const char* tensor : {"x", "r", "u", "y"}) bench.ranges[tensor] = {-600, 600, 10, 0};
  bench.ranges["h"] = {-262144, 262144, 10, 0};
  const Model model = scaled(bench);
  EXPECT_EQ(number(model, "u.factor"), 1 / 16.0F);
  EXPECT_EQ(find_node(model.proto.graph(), "up")->input(1), "wu");
}

TEST(ScaleSquare, WhatElseReadsATensorReadsItAsItWas) {
  Bench bench(parsed("g (float[1,4] x) => (float[1,4] y, float[1,4] b) <float two = {2}, float d = {0.0009765625}> {"
                     " [sq] s = Pow(x, two) [down] m = Mul(s, d) [out] y = Neg(m) [other] b = Sin(x) }"),
              Format::Float16);
  bench.ranges["x"] = {-1000, 1000, 10, 0};
  bench.ranges["s"] = {0, 1e6, 10, 0};
  bench.ranges["m"] = {0, 1000, 10, 0};
  const Model model = scaled(bench);
  EXPECT_EQ(number(model, "d.scaled"), 0.0009765625F * 64);
  EXPECT_EQ(find_node(model.proto.graph(), "other")->input(0), "x");
  EXPECT_EQ(find_node(model.proto.graph(), "sq")->input(0), "x.scaled");
}

TEST(ScaleSquare, APowerOfTwoWhoseResultIsAnOutputStays) {
  const auto with_outputs = [](const std::string& outputs) {
    Bench bench(parsed("g (float[1,4] x) => (" + outputs +
                       ") <float two = {2}, float d = {0.5}> {"
                       " [half] h = Mul(x, d) [sq] s = Pow(h, two) [mean] m = ReduceMean<axes = [1]>(s)"
                       " [root] r = Sqrt(m) [div] y = Div(h, r) }"),
                Format::Float16);
    for (const char* tensor : {"x", "h"}) bench.ranges[tensor] = {-1000, 1000, 10, 0};
    bench.ranges["s"] = {0, 1e6, 10, 0};
    return scaled(bench);
  };
  EXPECT_EQ(find_node(with_outputs("float[1,4] y").proto.graph(), "half")->input(1), "d.scaled");
  const Model shown = with_outputs("float[1,4] y, float[1,4] h");
  EXPECT_EQ(find_node(shown.proto.graph(), "half")->input(1), "d");
  EXPECT_EQ(find_node(shown.proto.graph(), "sq")->input(0), "h.scaled");
}

TEST(ScaleSquare, WhatABodyReadsStaysAsItWas) {
  Bench bench(parsed("g (float[1,4] x, bool c) => (float[1,4] y, float[1,4] z)"
                     " <float two = {2}, float d = {0.5}, float e = {1}> {"
                     " [half] h = Mul(x, d) [sq] s = Pow(h, two) [log] l = Log(s) [back] y = Add(l, e)"
                     " [if] z = If(c) <then_branch = then () => (float[1,4] t) { t = Neg(h) },"
                     " else_branch = otherwise () => (float[1,4] o) { o = Neg(l) }> }"),
              Format::Float16);
  for (const char* tensor : {"x", "h"}) bench.ranges[tensor] = {-1000, 1000, 10, 0};
  bench.ranges["s"] = {0, 1e6, 10, 0};
  bench.noise["log"] = 1e-3;
  const Model model = scaled(bench);
  EXPECT_EQ(find_node(model.proto.graph(), "half")->input(1), "d") << "the then branch reads its result";
  EXPECT_EQ(find_node(model.proto.graph(), "back")->input(1), "e") << "the else branch reads the logarithm";
}

}  // namespace
}  // namespace vernier::testing
