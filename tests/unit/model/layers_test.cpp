#include "model/layers.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "model_text.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

using Names = std::vector<std::string>;

Names layer_names(const Model& model) {
  Names names;
  for (const Layer& layer : find_layers(model)) names.push_back(layer.name);
  return names;
}

Layer layer_named(const Model& model, const std::string& name) {
  for (const Layer& layer : find_layers(model)) {
    if (layer.name == name) return layer;
  }
  throw std::runtime_error("no layer " + name);
}

TEST(FindLayers, TellsDataWeightsAndOutputsApart) {
  const Model model = model_of(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[1,2,4,4] x) => (float[a,b,c,d] y) <float[2,2,1,1] w = {1,2,3,4}, float[2] k = {0,0}> {
      [conv] c = Conv(x, w, k) [relu] y = Relu(c) })");
  EXPECT_EQ(layer_names(model), (Names{"conv", "relu"}));
  const Layer conv = layer_named(model, "conv");
  EXPECT_EQ(conv.inputs, Names{"x"});
  EXPECT_EQ(conv.weights, (Names{"w", "k"}));
  EXPECT_EQ(conv.outputs, Names{"c"});
  EXPECT_TRUE(conv.weighted);
  EXPECT_FALSE(conv.follows);
  EXPECT_FALSE(layer_named(model, "relu").weighted);
}

TEST(FindLayers, ChainsThatEndInShapesAreNone) {
  const Model model = model_of(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[1,c,h,w] x) => (float[a,b,d,e] y) <int64[1] two = {2}, float[1] f = {1.5}, float[0] roi = {}, int64[1] zero = {0}, int64[1] four = {4}> {
      [shape] s = Shape(x) [gather] n = Slice(s, two, four) [cast] p = Cast <to = 1> (n) [mul] q = Mul(p, f)
      [floor] r = Floor(q) [back] t = Cast <to = 7> (r) [front] o = Slice(s, zero, two) [all] z = Concat <axis = 0> (o, t)
      [resize] u = Resize(x, roi, roi, z) [relu] y = Relu(u) })");
  EXPECT_EQ(layer_names(model), (Names{"resize", "relu"}));
  EXPECT_EQ(layer_named(model, "resize").inputs, Names{"x"});
  EXPECT_TRUE(layer_named(model, "resize").weights.empty());
}

TEST(FindLayers, ChainsOfDataThatEndInIndicesAreNone) {
  const Model model = model_of(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[8] x, float[8] v) => (float[a] y) <float f = {1.5}> {
      [mul] a = Mul(v, f) [floor] b = Floor(a) [cast] i = Cast <to = 7> (b) [gather] g = Gather(x, i) [neg] y = Neg(g) })");
  EXPECT_EQ(layer_names(model), (Names{"gather", "neg"}));
}

TEST(FindLayers, WhatDependsOnConstantsAndShapesOnlyIsNone) {
  const Model model = model_of(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[n,8] x) => (float[a,b] y) <float[1] w = {2}, int64 zero = {0}> {
      [neg] c = Neg(w) [size] s = Shape(x) [rows] r = Gather(s, zero) [count] d = Cast <to = 1> (r) [root] e = Sqrt(d)
      [scale] f = Mul(c, e) [mul] y = Mul(x, f) })");
  EXPECT_EQ(layer_names(model), Names{"mul"});
}

TEST(FindLayers, ReachesDataBehindIntegersThatAreData) {
  const Model model = model_of(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[8] x) => (int64[a] best, float[8] y) <float s = {0.5}, int8 z = {0}, float half = {0.5}> {
      [relu] a = Relu(x) [best] best = ArgMax <axis = 0> (a)
      [neg] b = Neg(x) [q] i = QuantizeLinear(b, s, z) [dq] d = DequantizeLinear(i, s, z)
      [exp] e = Exp(x) [over] o = Greater(e, half) [mask] m = Cast <to = 1> (o) [mul] y = Mul(d, m) })");
  EXPECT_EQ(layer_names(model), (Names{"relu", "neg", "exp", "mul"}));
}

TEST(FindLayers, EmbeddingIsADataMoverWithATable) {
  const Model model = model_of(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (int64[n] ids) => (float[a,b] y) <float[2,2] table = {1,2,3,4}> { [embed] e = Gather(table, ids) [tanh] y = Tanh(e) })");
  EXPECT_EQ(layer_names(model), (Names{"embed", "tanh"}));
  const Layer embed = layer_named(model, "embed");
  EXPECT_TRUE(embed.follows);
  EXPECT_EQ(embed.weights, Names{"table"});
  EXPECT_TRUE(embed.inputs.empty());
}

TEST(FindLayers, MoversFollowAndWhereAndArithmeticDoNot) {
  const Model model = model_of(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[1,1,4,4] x, bool[4] m) => (float[a,b,c,d] y) {
      [t] a = Transpose <perm = [0,1,3,2]> (x) [p] b = MaxPool <kernel_shape = [1,1]> (a) [c] c = Concat <axis = 1> (a, b)
      [d] d = Dropout(c) [w] e = Where(m, d, c) [v] y = AveragePool <kernel_shape = [1,1]> (e) })");
  std::map<std::string, bool> follows;
  for (const Layer& layer : find_layers(model)) follows[layer.name] = layer.follows;
  EXPECT_EQ(follows, (std::map<std::string, bool>{
                         {"t", true}, {"p", true}, {"c", true}, {"d", true}, {"w", false}, {"v", false}}));
}

TEST(FindLayers, WhatPicksOrMasksValuesFollows) {
  const Model model = model_of(R"(<ir_version: 8, opset_import: ["" : 14]>
    g (float[4,4] x, int64[1] k) => (float[a,b] y, float[c,d] z) {
      [mask] a = Trilu(x) [top] b, i = TopK(a, k) [most] y = ReduceMax <axes = [1]> (b) [sum] z = ReduceSum(b) })");
  for (const char* name : {"mask", "top", "most"}) EXPECT_TRUE(layer_named(model, name).follows) << name;
  EXPECT_FALSE(layer_named(model, "sum").follows);
}

TEST(FindLayers, NodesInBodiesAreLayersOfThatBody) {
  const Model model = model_of(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x, bool c) => (float[2] y) {
      [pre] a = Relu(x)
      [if] b = If (c) <then_branch = t () => (float[2] r) { [n] r = Neg(a) },
                       else_branch = e () => (float[2] r) { [o] r = Exp(a) }>
      [post] y = Abs(b) })");
  EXPECT_EQ(layer_names(model), (Names{"pre", "n", "o", "post"}));
  EXPECT_EQ(layer_named(model, "n").graph, "if");
  EXPECT_EQ(layer_named(model, "pre").graph, "");
}

TEST(FindLayers, LoopStateIsFollowedIntoItsBodyAndBack) {
  const Model model = model_of(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x, int64 n, bool c) => (float[2] y) {
      [pre] a = Relu(x) [side] s = Abs(x)
      [loop] y = Loop (n, c, a) <body = b (int64 i, bool k, float[2] state) => (bool k2, float[2] next) {
        [keep] k2 = Identity(k) [step] t = Neg(state) [add] next = Add(t, s) }> })");
  EXPECT_EQ(layer_names(model), (Names{"pre", "side", "step", "add"}));
}

TEST(CarriesData, FollowsTheSchema) {
  onnx::NodeProto node;
  const auto data = [&](const char* op, int index) {
    node.set_op_type(op);
    return carries_data(node, index, 13);
  };
  EXPECT_TRUE(data("Conv", 0) && data("Conv", 2) && data("Where", 1) && data("Concat", 7) && data("LSTM", 5));
  EXPECT_FALSE(data("Reshape", 1) || data("Where", 0) || data("TopK", 1) || data("Slice", 1) || data("Resize", 1));
  EXPECT_FALSE(data("Resize", 2) || data("Range", 0) || data("Shape", 0) || data("NonMaxSuppression", 0));
  EXPECT_FALSE(data("Relu", 1)) << "there is no such input";
  EXPECT_TRUE(data("SomethingOfAnEngine", 0));
}

TEST(SchemaAdmits, KnowsTypesByOpset) {
  onnx::NodeProto conv;
  conv.set_op_type("Conv");
  EXPECT_TRUE(schema_admits_input(conv, 0, 13, Dtype::Float16));
  EXPECT_FALSE(schema_admits_input(conv, 0, 13, Dtype::BFloat16));
  EXPECT_TRUE(schema_admits_input(conv, 0, 22, Dtype::BFloat16));
  EXPECT_TRUE(schema_admits_output(conv, 0, 13, Dtype::Float64));
  EXPECT_FALSE(schema_admits_output(conv, 0, 13, Dtype::Int8));
  conv.set_op_type("SomethingOfAnEngine");
  EXPECT_FALSE(schema_admits_input(conv, 0, 13, Dtype::Float32));
}

std::int64_t work(const std::string& inputs, const std::string& node, const std::map<std::string, Shape>& shapes) {
  const Model model = model_of(R"(<ir_version: 8, opset_import: ["" : 13]> g ()" + inputs +
                               ") => (float[a] y) { [n] y = " + node + " }");
  return multiply_accumulates(model, layer_named(model, "n"), model.proto.graph().node(0), shapes);
}

TEST(MultiplyAccumulates, CountsEachOperatorAsDefined) {
  EXPECT_EQ(work("float[a] x, float[b] w", "Conv <group = 4> (x, w)",
                 {{"x", {2, 8, 5, 5}}, {"w", {16, 2, 3, 3}}, {"y", {2, 16, 3, 3}}}),
            2 * 16 * 3 * 3 * 2 * 3 * 3);
  EXPECT_EQ(work("float[a] x, float[b] w", "ConvTranspose <group = 2> (x, w)",
                 {{"x", {1, 4, 5, 5}}, {"w", {4, 3, 2, 2}}, {"y", {1, 6, 6, 6}}}),
            4 * 5 * 5 * 3 * 2 * 2);
  EXPECT_EQ(work("float[a] x, float[b] w", "Gemm <transA = 1> (x, w)", {{"x", {7, 3}}, {"w", {7, 5}}, {"y", {3, 5}}}),
            3 * 5 * 7);
  EXPECT_EQ(
      work("float[a] x, float[b] w", "MatMul(x, w)", {{"x", {2, 1, 3, 4}}, {"w", {6, 4, 5}}, {"y", {2, 6, 3, 5}}}),
      2 * 6 * 3 * 5 * 4);
  EXPECT_EQ(work("float[a] x, float[b] w", "Add(x, w)", {}), 0);
}

TEST(MultiplyAccumulates, OfRecurrentLayersMeetBothWeightsAtEachStep) {
  const std::string tensors = "float[a] x, float[b] w, float[c] r";
  const std::map<std::string, Shape> shapes{{"x", {7, 2, 5}}, {"w", {2, 12, 5}}, {"r", {2, 12, 3}}};
  const std::int64_t expected = 7 * 2 * (2 * 12 * 5 + 2 * 12 * 3);
  EXPECT_EQ(work(tensors, "LSTM <hidden_size = 3> (x, w, r)", shapes), expected);
  EXPECT_EQ(work(tensors, "GRU <hidden_size = 4> (x, w, r)", shapes), expected);
  EXPECT_EQ(work(tensors, "RNN <hidden_size = 12> (x, w, r)", shapes), expected);
  EXPECT_EQ(work(tensors, "LSTM <hidden_size = 3> (x, w, r)", {{"w", {2, 12, 5}}}), 0) << "a shape is not known";
}

TEST(MultiplyAccumulates, OfEinsumAreCombinationsOfItsLabels) {
  const std::string tensors = "float[a] x, float[b] w, float[c] v";
  EXPECT_EQ(
      work(tensors, R"(Einsum <equation = "bhqd,bhkd->bhqk"> (x, w))", {{"x", {2, 3, 5, 7}}, {"w", {2, 3, 11, 7}}}),
      2 * 3 * 5 * 11 * 7);
  EXPECT_EQ(
      work(tensors, R"(Einsum <equation = "ij, jk, kl"> (x, w, v))", {{"x", {2, 3}}, {"w", {3, 4}}, {"v", {4, 5}}}),
      2 * (2 * 3 * 4 * 5));
  EXPECT_EQ(work(tensors, R"(Einsum <equation = "ij->ji"> (x))", {{"x", {2, 3}}}), 0) << "moves values";
  EXPECT_EQ(work(tensors, R"(Einsum <equation = "...i,...i"> (x, w))", {{"x", {2, 3}}, {"w", {2, 3}}}), 0);
}

TEST(MultiplyAccumulates, OfAttentionAreScoresAndTheirSums) {
  const Model model = model_of(R"(<ir_version: 10, opset_import: ["" : 23]>
      g (float[2,5,12] q, float[2,7,12] k, float[2,7,8] v) => (float[2,5,8] y)
      { [n] y = Attention <q_num_heads = 4, kv_num_heads = 4> (q, k, v) })");
  const std::map<std::string, Shape> shapes{{"q", {2, 5, 12}}, {"k", {2, 7, 12}}, {"v", {2, 7, 8}}, {"y", {2, 5, 8}}};
  EXPECT_EQ(multiply_accumulates(model, layer_named(model, "n"), model.proto.graph().node(0), shapes),
            2 * 5 * 7 * (12 + 8));
}

TEST(MultiplyAccumulates, OfMicrosoftsConvolutionsAreThoseOfConv) {
  const std::string graph = "g (float[a] x, float[b] w, float[c] bias, float[d] residual) => (float[e] y) { [n] y = ";
  const std::map<std::string, Shape> shapes{{"x", {2, 8, 5, 5}}, {"w", {16, 2, 3, 3}}, {"y", {2, 16, 3, 3}}};
  for (const char* node : {"com.microsoft.FusedConv <group = 4> (x, w, bias, residual)",
                           "com.microsoft.FusedConv <group = 4> (x, w)", "DeformConv <group = 4> (x, w, bias)"}) {
    const Model model =
        model_of(R"(<ir_version: 10, opset_import: ["" : 19, "com.microsoft" : 1]> )" + graph + node + " }");
    EXPECT_EQ(multiply_accumulates(model, layer_named(model, "n"), model.proto.graph().node(0), shapes),
              2 * 16 * 3 * 3 * 2 * 3 * 3)
        << node;
  }
}

}  // namespace
}  // namespace vernier::testing
