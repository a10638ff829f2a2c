// Folded layers against the same layer and normalization, computed here channel by channel.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "model_text.h"
#include "vernier/format.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

using Names = std::vector<std::string>;
using Floats = std::vector<float>;

Prepared folded(const std::string& text, std::set<Format> formats = {Format::Float16}) {
  PrepareOptions options;
  options.formats = std::move(formats);
  return prepare(model_of(text), options, [](const Model&, const Sample&) -> std::vector<Tensor> {
    throw std::logic_error("nothing to evaluate here");
  });
}

// scale 2 and 3, bias 1 and -1, mean 0.5 and 4, variance 4 and 9, epsilon 0: factors 1 and 1, offsets 0.5 and -5.
// With variance 1 instead, factors 2 and 3, offsets 0 and -13.
constexpr const char* kNorm = "float[2] s = {2, 3}, float[2] b = {1, -1}, float[2] m = {0.5, 4}, float[2] v = {1, 1}";

std::string graph(const std::string& input, const std::string& initializers, const std::string& nodes) {
  return R"(<ir_version: 8, opset_import: ["" : 13]> g ()" + input + ") => (float[a,b,c,d] y) <" + initializers + ", " +
         kNorm + "> { " + nodes + " }";
}

const std::string kNormalize = "[norm] y = BatchNormalization <epsilon = 0.0> (c, s, b, m, v)";

TEST(FoldBatchNorm, ConvScalesEachOutputChannelAndKeepsItsName) {
  const Prepared done =
      folded(graph("float[1,2,4,4] x", "float[2,2,1,1] w = {1, 2, 3, 4}", "[conv] c = Conv(x, w) " + kNormalize));
  EXPECT_EQ(node_names(done.model), Names{"conv"});
  EXPECT_EQ(node_named(done.model, "conv").output(0), "y");
  EXPECT_EQ(floats_of(done.model, "w"), (Floats{2, 4, 9, 12}));
  EXPECT_EQ(node_named(done.model, "conv").input(2), "conv.bias");
  EXPECT_EQ(floats_of(done.model, "conv.bias"), (Floats{0, -13}));
  EXPECT_FALSE(is_initializer(done.model, "v"));
  EXPECT_FALSE(done.unchanged);
}

TEST(FoldBatchNorm, BiasIsScaledToo) {
  const Prepared done = folded(graph("float[1,2,4,4] x", "float[2,2,1,1] w = {1, 2, 3, 4}, float[2] k = {10, 20}",
                                     "[conv] c = Conv(x, w, k) " + kNormalize));
  EXPECT_EQ(floats_of(done.model, "k"), (Floats{20, 47}));
}

TEST(FoldBatchNorm, ConvTransposeScalesAxisOneOfEachGroup) {
  // [in 4, out / groups 1, kernel 1x1], two groups: output channel 0 is made of inputs 0 and 1, channel 1 of 2 and 3.
  const Prepared done = folded(graph("float[1,4,4,4] x", "float[4,1,1,1] w = {1, 2, 3, 4}",
                                     "[up] c = ConvTranspose <group = 2> (x, w) " + kNormalize));
  EXPECT_EQ(floats_of(done.model, "w"), (Floats{2, 4, 9, 12}));
  const Prepared one = folded(
      graph("float[1,2,4,4] x", "float[2,2,1,1] w = {1, 2, 3, 4}", "[up] c = ConvTranspose(x, w) " + kNormalize));
  EXPECT_EQ(floats_of(one.model, "w"), (Floats{2, 6, 6, 12}));
}

TEST(FoldBatchNorm, StaysBehindWhereChannelsShareAScale) {
  // Two groups of one output channel each are depthwise and have a scale each; two channels a group do not.
  const std::string norm =
      "float[4] s = {1, 1, 0.01, 0.01}, float[4] b = {0, 0, 0, 0}, float[4] m = {0, 0, 0, 0}, float[4] v = {1, 1, 1, "
      "1}";
  const auto steps = [&](const std::string& layer, const std::string& weight, bool per_channel, Format format) {
    PrepareOptions options;
    options.formats = {format};
    options.weights_per_channel = per_channel;
    const std::string text =
        R"(<ir_version: 8, opset_import: ["" : 19]> g (float[1,4,4,4] x) => (float[a,b,c,d] y) <)" + weight + ", " +
        norm + "> { [layer] c = " + layer + "(x, w) " + kNormalize + " }";
    const Prepared done = prepare(model_of(text), options, [](const Model&, const Sample&) -> std::vector<Tensor> {
      throw std::logic_error("nothing to evaluate here");
    });
    return done.model.proto.graph().node_size();
  };
  const std::string grouped = "float[4,2,1,1] w = {5, 6, 7, 8, 1, 2, 3, 4}";
  const std::string depthwise = "float[4,1,1,1] w = {4, 3, 2, 1}";
  EXPECT_EQ(steps("ConvTranspose <group = 2>", grouped, true, Format::Int8), 2);
  EXPECT_EQ(steps("ConvTranspose <group = 2>", grouped, true, Format::Float16), 1);  // each value has its own exponent
  EXPECT_EQ(steps("ConvTranspose <group = 4>", depthwise, true, Format::Int8), 1);
  EXPECT_EQ(steps("ConvTranspose <group = 4>", depthwise, false, Format::Int8), 2);
  EXPECT_EQ(steps("Conv <group = 4>", depthwise, true, Format::Int8), 1);
  EXPECT_EQ(steps("Conv <group = 4>", depthwise, false, Format::Int8), 2);
}

TEST(FoldBatchNorm, StaysBehindWhereFoldedWeightsLeaveTheFormat) {
  const auto nodes = [](const std::string& factors) {
    const std::string norm =
        "float[2] s = " + factors + ", float[2] b = {0, 0}, float[2] m = {0, 0}, float[2] v = {1, 1}";
    const std::string text =
        R"(<ir_version: 8, opset_import: ["" : 13]> g (float[1,2,4,4] x) => (float[a,b,c,d] y) <float[2,2,1,1] w = {1, 2, 3, 4}, )" +
        norm + "> { [conv] c = Conv(x, w) " + kNormalize + " }";
    return node_names(folded(text).model).size();
  };
  EXPECT_EQ(nodes("{1, 1}"), 1U);
  EXPECT_EQ(nodes("{0.000001, 0.000001}"), 2U);  // subnormal in float16
  EXPECT_EQ(nodes("{1, 100000}"), 2U);           // beyond its largest value
}

TEST(FoldBatchNorm, SaysWhatItLeft) {
  const std::string norm = "float[2] s = {0.000001, 1}, float[2] b = {0, 0}, float[2] m = {0, 0}, float[2] v = {1, 1}";
  const Prepared left = folded(
      R"(<ir_version: 8, opset_import: ["" : 13]> g (float[1,2,4,4] x) => (float[a,b,c,d] y) <)" +
      std::string("float[2,2,1,1] w = {1, 2, 0, 0}, ") + norm + "> { [conv] c = Conv(x, w) " + kNormalize + " }");
  ASSERT_EQ(left.notes.size(), 1U);
  EXPECT_EQ(left.notes[0].note, (Note{"batch-norms-not-folded", {{"nodes", std::vector<std::string>{"'conv'"}}}}));
  EXPECT_TRUE(left.unchanged);
}

TEST(FoldBatchNorm, GemmScalesColumnsOrRowsAndItsBeta) {
  const std::string k = ", float[2] k = {10, 20}";
  const Prepared rows = folded(graph("float[3,2] x", "float[2,2] w = {1, 2, 3, 4}" + k,
                                     "[fc] c = Gemm <transB = 1, beta = 0.5> (x, w, k) " + kNormalize));
  EXPECT_EQ(floats_of(rows.model, "w"), (Floats{2, 4, 9, 12}));
  EXPECT_EQ(floats_of(rows.model, "k"), (Floats{10, 17}));
  EXPECT_EQ(find_attribute(node_named(rows.model, "fc"), "beta")->f(), 1.0F);
  const Prepared columns =
      folded(graph("float[3,2] x", "float[2,2] w = {1, 2, 3, 4}" + k, "[fc] c = Gemm(x, w, k) " + kNormalize));
  EXPECT_EQ(floats_of(columns.model, "w"), (Floats{2, 6, 6, 12}));
}

TEST(FoldBatchNorm, WeightOfTwoLayersIsCopied) {
  const Prepared done = folded(graph("float[1,2,4,4] x", "float[2,2,1,1] w = {1, 2, 3, 4}",
                                     "[one] d = Conv(x, w) [two] c = Conv(d, w) " + kNormalize));
  EXPECT_EQ(floats_of(done.model, "w"), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(node_named(done.model, "one").input(1), "w");
  EXPECT_EQ(node_named(done.model, "two").input(1), "w#2");
  EXPECT_EQ(floats_of(done.model, "w#2"), (Floats{2, 4, 9, 12}));
}

TEST(FoldBatchNorm, LeavesAloneWhatItMust) {
  const std::string w = "float[2,2,1,1] w = {1, 2, 3, 4}";
  const std::string conv = "[conv] c = Conv(x, w) ";
  const auto kept = [&](const std::string& input, const std::string& initializers, const std::string& nodes) {
    const Names types = op_types(folded(graph(input, initializers, nodes)).model);
    return std::find(types.begin(), types.end(), "BatchNormalization") != types.end();
  };
  EXPECT_FALSE(kept("float[1,2,4,4] x", w, conv + kNormalize)) << "the case that folds";
  EXPECT_TRUE(kept("float[1,2,4,4] x", w, conv + kNormalize + " z = Relu(c)")) << "another reader";
  EXPECT_TRUE(kept("float[1,2,4,4] x, float[2,2,1,1] w", "float[1] unused = {0}", conv + kNormalize))
      << "weight is fed";
  EXPECT_TRUE(kept("float[1,2,4,4] x", w, "[n] c = Relu(x) " + kNormalize)) << "no layer before";
  EXPECT_TRUE(kept("float[1,2,4,4] x", w,
                   R"([conv] c = Conv(x, w) y, p, q = BatchNormalization <training_mode = 1> (c, s, b, m, v))"))
      << "training";
}

TEST(FoldBatchNorm, IsNotDoneForFloat32OrWhenSwitchedOff) {
  const std::string text =
      graph("float[1,2,4,4] x", "float[2,2,1,1] w = {1, 2, 3, 4}", "[conv] c = Conv(x, w) " + kNormalize);
  EXPECT_EQ(node_names(folded(text, {Format::Float32}).model), (Names{"conv", "norm"}));
  PrepareOptions options;
  options.formats = {Format::Float16};
  options.fold_batch_norm = false;
  EXPECT_EQ(node_names(prepare(model_of(text), options, {}).model), (Names{"conv", "norm"}));
}

}  // namespace
}  // namespace vernier::testing
