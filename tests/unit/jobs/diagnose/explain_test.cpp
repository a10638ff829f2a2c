// Causes from what is measured of networks: facts that only a run can give.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "job_files.h"
#include "vernier/diagnose.h"
#include "vernier/format.h"
#include "vernier/report/causes.h"
#include "vernier/report/diagnose.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

/// What is named at `layer`, asked for more than the format gives.
std::vector<std::string> named_at(const NetFiles& files, const std::string& layer, Format low,
                                  Target target = Target::TensorRt) {
  DiagnoseOptions options = files.diagnose_options({low});
  options.measure.requirement = at_least_db(70);
  options.precision.target = target;
  options.precision.even_if_slower = target == Target::OnnxRuntime;
  std::vector<std::string> ids;
  const DiagnoseReport report = diagnose(options);
  for (const Cause& cause : report.explanation.value().causes) {
    if (cause.layer == layer) ids.push_back(cause.id);
  }
  return ids;
}

bool names(const std::vector<std::string>& ids, const std::string& id) {
  return std::ranges::find(ids, id) != ids.end();
}

TEST(Explain, SamplesOfVeryDifferentSizeShareOneRange) {
  for (const float growth : {1.0F, 4.0F}) {
    const NetFiles files;
    write_npy(files.data_file(), bell_samples("x", kConvNetInput, 8, growth), "x");
    EXPECT_EQ(names(named_at(files, "conv1", Format::Int8), "range-per-sample"), growth > 1);
  }
}

/// A convolution that a BatchNormalization and something else read, so that they cannot become one.
NetFiles norm_behind(float spread) {
  const std::vector<float> variance{spread * spread, 1, 1, 1};
  NamedTensors weights{{"w", scaled_slice(bell({4, 3, 3, 3}, 1, 0.2F), 0, 0, spread)},
                       {"b", scaled(bell({4}, 2), 0)},
                       {"gain", Tensor::of({4}, std::vector<float>{1, 1, 1, 1})},
                       {"shift", scaled(bell({4}, 3), 0)},
                       {"mean", scaled(bell({4}, 3), 0)},
                       {"variance", Tensor::of({4}, variance)}};
  return NetFiles(
      network("net (float[1,3,8,8] x) => (float[1,4,8,8] y, float[1,4,8,8] z) {"
              " [conv] c = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (x, w, b)\n"
              " [norm] y = BatchNormalization(c, gain, shift, mean, variance)\n [other] z = Tanh(c) }",
              weights));
}

TEST(Explain, ABatchNormalizationBehindCodes) {
  EXPECT_TRUE(names(named_at(norm_behind(30), "conv", Format::Int8, Target::OnnxRuntime), "unfolded-batch-norm"));
  EXPECT_FALSE(names(named_at(norm_behind(2), "conv", Format::Int8, Target::OnnxRuntime), "unfolded-batch-norm"));
  EXPECT_FALSE(names(named_at(norm_behind(30), "conv", Format::Int8, Target::TensorRt), "unfolded-batch-norm"))
      << "TensorRT's convolution gives float";
}

/// What is named at [pick]: of eight rows the one whose first element is the largest is the output; these elements
/// differ by about `apart`.
std::vector<std::string> named_where_a_row_is_picked(const std::string& pick, float apart) {
  Tensor eye = bell({16, 16}, 1, 0.1F);
  Tensor first(Dtype::Float32, {16, 1});
  for (std::size_t i = 0; i < 16; ++i) {
    eye.mutable_floats()[16 * i] = 0;
    eye.mutable_floats()[17 * i] = 1;
    first.mutable_floats()[i] = i == 0 ? 1.0F : 0.0F;
  }
  const NetFiles files(network("net (float[8,16] x) => (float[1,16] y) <int64[1] one = {1}, int64[1] eight = {8}> {"
                               " [features] f = MatMul(x, w)\n [scores] s = MatMul(f, v)\n" +
                                   pick + "\n [look] r = Gather <axis = 0> (f, i)\n [fc] y = MatMul(r, w) }",
                               {{"w", eye}, {"v", first}}),
                       {8, 16});
  std::vector<Sample> samples;
  for (std::uint32_t n = 0; n < 16; ++n) {
    Tensor x = bell({8, 16}, 10 + n);
    for (std::size_t row = 0; row < 8; ++row) x.mutable_floats()[16 * row] = 2 + apart * x.floats()[16 * row];
    samples.push_back({{"x", x}});
  }
  write_npy(files.data_file(), Samples(std::move(samples)), "x");
  return named_at(files, "pick", Format::Int8);
}

TEST(Explain, WhatIsPickedWhereValuesAreClose) {
  const std::string arg_max = "[pick] i = ArgMax <axis = 0, keepdims = 0> (s)";
  EXPECT_TRUE(names(named_where_a_row_is_picked(arg_max, 0.01F), "close-decision"));
  EXPECT_FALSE(names(named_where_a_row_is_picked(arg_max, 1), "close-decision")) << "far apart";
  const std::string top_k = "[flat] t = Reshape(s, eight)\n [pick] best, i = TopK(t, one)";
  EXPECT_TRUE(names(named_where_a_row_is_picked(top_k, 0.01F), "close-decision"));
}

TEST(Explain, PairsOfLargeWeightsBeyond16Bits) {
  Tensor alike(Dtype::Float32, {16, 16});
  for (std::size_t i = 0; i < 256; ++i) alike.mutable_floats()[i] = i / 16 / 2 % 2 == 0 ? 1.0F : -1.0F;
  const std::string text = "net (float[4,16] x) => (float[4,16] y) { [abs] a = Abs(x)\n [mm] y = MatMul(a, w) }";
  const NetFiles large(network(text, {{"w", alike}}), {4, 16});
  EXPECT_TRUE(names(named_at(large, "mm", Format::Int8, Target::OnnxRuntime), "pair-saturation"));
  EXPECT_FALSE(names(named_at(large, "mm", Format::Int8, Target::OpenVino), "pair-saturation")) << "another engine";
  const NetFiles ordinary(network("net (float[4,64] x) => (float[4,16] y) { [abs] a = Abs(x)\n [mm] y = MatMul(a, w) }",
                                  {{"w", bell({64, 16}, 1)}}),
                          {4, 64});
  EXPECT_FALSE(names(named_at(ordinary, "mm", Format::Int8, Target::OnnxRuntime), "pair-saturation"));
}

/// Ones, and one other number.
Tensor all_but(const Shape& shape, std::size_t place, float number) {
  Tensor tensor(Dtype::Float32, shape);
  std::ranges::fill(tensor.mutable_floats(), 1.0F);
  tensor.mutable_floats()[place] = number;
  return tensor;
}

/// Two blocks on a stream of 16 channels, in front of which values are made `size` times as large.
NetFiles stream_of(float size) {
  return NetFiles(network("net (float[1,4,16] x) => (float[1,4,8] y) {\n"
                          " [norm0] n0 = LayerNormalization(x, g, h)\n [up0] u0 = MatMul(n0, a0)\n"
                          " [down0] d0 = MatMul(u0, b0)\n [x1] x1 = Add(n0, d0)\n"
                          " [norm1] n1 = LayerNormalization(x1, g, h)\n [up1] u1 = MatMul(n1, a1)\n"
                          " [down1] d1 = MatMul(u1, b1)\n [x2] x2 = Add(x1, d1)\n"
                          " [norm2] n2 = LayerNormalization(x2, g, h)\n [head] y = MatMul(n2, c) }",
                          {{"g", bell({16}, 1)},
                           {"h", bell({16}, 2)},
                           {"a0", bell({16, 32}, 3, 0.25F)},
                           {"b0", bell({32, 16}, 4, 0.18F * size)},
                           {"a1", bell({16, 32}, 5, 0.25F)},
                           {"b1", bell({32, 16}, 6, 0.18F)},
                           {"c", bell({16, 8}, 7, 0.25F)}}),
                  {1, 4, 16});
}

TEST(Explain, WhatMakesAStreamTooLargeLeadsWhatReadsIt) {
  const NetFiles files = stream_of(60000);
  DiagnoseOptions options = files.diagnose_options({Format::Float16});
  options.measure.requirement = at_least_db(40);
  const DiagnoseReport report = diagnose(options);
  const std::vector<Cause>& causes = report.explanation.value().causes;
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes.front().id, "residual-overflow");
  const auto reads = std::ranges::find(causes, "overflow-read", &Cause::id);
  ASSERT_NE(reads, causes.end()) << "named as well";
  EXPECT_FALSE(names(named_at(files, "x2", Format::Float16), "overflow-read")) << "a part of the stream";
}

/// The repairs that are offered for a large mean in front of a LayerNorm. `end`: another reader of the stream.
std::set<std::string> offered_for_a_mean(const std::string& end) {
  const NetFiles files(
      network("net (float[1,4,16] x) => (float[1,4,16] y, float[1,4,16] z) {\n [embed] e = MatMul(x, t)\n"
              " [shift] s = Add(e, c)\n [norm] y = LayerNormalization(s, g, h)\n [end] " +
                  end + " }",
              {{"t", bell({16, 16}, 1, 0.25F)},
               {"c", Tensor::of(Shape{16}, std::vector<float>(16, 400.0F))},
               {"g", bell({16}, 2)},
               {"h", bell({16}, 3)}}),
      {1, 4, 16});
  DiagnoseOptions options = files.diagnose_options({Format::Float16});
  options.measure.requirement = at_least_db(70);
  std::set<std::string> repairs;
  bool named = false;
  const DiagnoseReport report = diagnose(options);
  for (const Cause& cause : report.explanation.value().causes) {
    if (cause.id != "large-mean") continue;
    named = true;
    repairs.insert(cause.repairs.begin(), cause.repairs.end());
  }
  EXPECT_TRUE(named) << end;
  return repairs;
}

TEST(Explain, AMeanIsTakenOffWhereNormsAloneReadIt) {
  EXPECT_EQ(offered_for_a_mean("z = Sigmoid(y)"), (std::set<std::string>{"centre-stream", "keep-high"}));
  EXPECT_EQ(offered_for_a_mean("z = Sigmoid(s)"), std::set<std::string>{"keep-high"}) << "a Sigmoid needs the mean";
}

/// The root of an epsilon that FP16 does not have: two readers lose digits of what it makes.
TEST(Explain, ALostEpsilonLeadsWhatReadsIt) {
  const NetFiles files(network("net (float[4,8] x) => (float[4,4] y) {\n [none] n = Mul(x, zero)\n"
                               " [epsilon] e = Add(n, tiny)\n [root] r = Sqrt(e)\n [up] u = Mul(r, large)\n"
                               " [one] o = Mul(u, large)\n [divide] d = Div(x, o)\n [fc] y = MatMul(d, w) }",
                               {{"zero", Tensor::of({1}, std::vector<float>{0})},
                                {"tiny", Tensor::of({1}, std::vector<float>{1e-12F})},
                                {"large", Tensor::of({1}, std::vector<float>{1000})},
                                {"w", bell({8, 4}, 1, 0.3F)}}),
                       {4, 8});
  DiagnoseOptions options = files.diagnose_options({Format::Float16});
  options.measure.requirement = at_least_db(40);
  const DiagnoseReport report = diagnose(options);
  const std::vector<Cause>& causes = report.explanation.value().causes;
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes.front().id, "lost-epsilon");
  EXPECT_TRUE(names(named_at(files, "root", Format::Float16), "subnormal-loss")) << "named as well";
}

/// A product of `queries` and keys in front of a Softmax.
NetFiles attention_of(float queries) {
  return NetFiles(network("net (float[32,16] x) => (float[32,4] y) {\n [q] q = MatMul(x, wq)\n [k] k = MatMul(x, wk)\n"
                          " [turn] t = Transpose<perm = [1,0]>(k)\n [qk] s = MatMul(q, t)\n [scale] z = Mul(s, c)\n"
                          " [softmax] p = Softmax<axis = -1>(z)\n [v] v = MatMul(x, wv)\n [av] y = MatMul(p, v) }",
                          {{"wq", bell({16, 16}, 1, 0.25F * queries)},
                           {"wk", bell({16, 16}, 2, 0.25F)},
                           {"wv", bell({16, 4}, 3, 0.25F)},
                           {"c", all_but({1}, 0, 0.25F)}}),
                  {32, 16});
}

TEST(Explain, LargeScoresOfAnAttention) {
  EXPECT_TRUE(names(named_at(attention_of(60), "qk", Format::Int8), "large-logits"));
  EXPECT_FALSE(names(named_at(attention_of(1), "qk", Format::Int8), "large-logits"));
  const auto named_in_bfloat16 = [](float queries) {
    return std::ranges::any_of(std::array{"qk", "scale", "softmax"}, [&](const char* layer) {
      return names(named_at(attention_of(queries), layer, Format::BFloat16), "large-logits");
    });
  };
  EXPECT_TRUE(named_in_bfloat16(200));
  EXPECT_FALSE(named_in_bfloat16(1));
}

TEST(Explain, AMassiveTokenInShortSequences) {
  for (const std::int64_t tokens : {12, 16, 32}) {  // the first is 200 times as large, in all channels
    const NetFiles files(
        network("net (float[1," + std::to_string(tokens) + ",16] x) => (float[1," + std::to_string(tokens) +
                    ",16] y) {\n [big] b = Mul(x, m)\n [mm] p = MatMul(b, w)\n [small] y = Mul(p, n) }",
                {{"m", all_but({1, tokens, 1}, 0, 200)},
                 {"n", all_but({1, tokens, 1}, 0, 0.005F)},
                 {"w", bell({16, 16}, 1, 0.25F)}}),
        {1, tokens, 16});
    EXPECT_TRUE(names(named_at(files, "mm", Format::Int8), "place-outliers")) << tokens;
  }
}

TEST(Explain, ALargeWeightInEveryChannel) {
  for (const float large : {1.0F, 100.0F}) {  // what it multiplies is all but silent
    const NetFiles files(
        network("net (float[4,64] x) => (float[4,16] y) { [quiet] q = Mul(x, s)\n [mm] y = MatMul(q, w) }",
                {{"s", all_but({64}, 5, 0.3F / (large * large))},
                 {"w", scaled_slice(bell({64, 16}, 1, 0.125F), 0, 5, large)}}),
        {4, 64});
    EXPECT_EQ(names(named_at(files, "mm", Format::Int8), "weight-outliers"), large > 1);
  }
}

NetFiles softmax_of(const Shape& scores) {
  const std::string shape = "[" + std::to_string(scores[0]) + "," + std::to_string(scores[1]) + "]";
  return NetFiles(
      network("net (float" + shape + " x) => (float" + shape + " y) { [softmax] y = Softmax<axis = 1>(x) }", {}),
      scores);
}

TEST(Explain, ASoftmaxOfManyScoresIsALongSum) {
  EXPECT_TRUE(names(named_at(softmax_of({1, 8192}), "softmax", Format::Float16), "long-accumulation"));
  EXPECT_FALSE(names(named_at(softmax_of({1, 2048}), "softmax", Format::Float16), "long-accumulation"));
  EXPECT_FALSE(names(named_at(softmax_of({1024, 8}), "softmax", Format::Float16), "long-accumulation"))
      << "as many scores in short rows";
}

}  // namespace
}  // namespace vernier::testing
