#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "bench.h"
#include "model/graph_edit.h"
#include "repairs/repair.h"

namespace vernier::testing {
namespace {

/// A layer in front of a norm, and one behind it; `end` may read the tensor between, too.
Bench large_mean(const std::string& end = "z = Sigmoid(y)", const std::string& norm = "LayerNormalization(t, g, h)") {
  std::map<std::string, Tensor> weights;
  const std::map<std::string, Shape> shapes = {{"w", {3, 4}}, {"b", {4}}, {"g", {4}}, {"h", {4}}, {"head", {4, 5}}};
  for (const auto& [name, shape] : shapes) {
    weights[name] = filled(shape, [](int i) { return 2 + std::sin(1.0F + static_cast<float>(i * i)); });
  }
  Bench bench(parsed("g (float[2,3] x) => (float[2,5] y, z) { [p] p = MatMul(x, w)\n [t] t = Add(p, b)\n [n] n = " +
                         norm + "\n [head] y = MatMul(n, head)\n [end] " + end + " }",
                     weights),
              Format::Float16);
  bench.ranges["t"] = {90, 110, 8, 0};
  return bench;
}

TEST(CentreStreams, TheMeanLeavesWeightAndBias) {
  Bench bench = large_mean();
  const auto proposals = centre_streams(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  ASSERT_EQ(proposals[0].why_not, "");
  EXPECT_EQ(proposals[0].what, "the mean of 4 channels is subtracted from 2 constants");
  Model after = bench.model;
  proposals[0].rewrite(after);
  for (const char* name : {"w", "b"}) {
    const std::vector<float> before = values_of(bench.model, name);
    const std::vector<float> now = values_of(after, name);
    for (std::size_t row = 0; row < now.size(); row += 4) {
      float sum = 0;
      for (std::size_t c = 0; c < 4; ++c) sum += now[row + c];
      EXPECT_NEAR(sum, 0, 1e-5F) << name;
      EXPECT_NEAR(now[row] - now[row + 1], before[row] - before[row + 1], 1e-6F) << name;
    }
  }
  for (const char* name : {"g", "h", "head"}) EXPECT_EQ(values_of(after, name), values_of(bench.model, name));
}

TEST(CentreStreams, WhatNeedsTheMeanIsAReason) {
  Bench others = large_mean("z = Sigmoid(t)");
  ASSERT_EQ(centre_streams(others.network(), 0).size(), 1U);
  EXPECT_EQ(centre_streams(others.network(), 0)[0].why_not, "another layer also reads 't'");
  Bench products = large_mean("z = MatMul(t, head)");
  ASSERT_EQ(centre_streams(products.network(), 0).size(), 1U);
  EXPECT_EQ(centre_streams(products.network(), 0)[0].why_not, "a layer other than a mean-subtracting norm reads it");
}

TEST(CentreStreams, ValuesAroundZeroNeedNothing) {
  Bench bench = large_mean();
  bench.ranges["t"] = {-110, 110, 8, 0};
  EXPECT_TRUE(centre_streams(bench.network(), 0).empty());
}

/// Two groups of two channels.
Bench convolution_and_norm(const std::string& norm) {
  Bench bench(parsed("g (float[1,2,2,2] x) => (float[1,4,2,2] y) <int64[3] groups = {0, 2, -1}> {"
                     " [conv] c = Conv(x, w, b) " +
                         norm + " }",
                     {{"w", filled({4, 2, 1, 1}, [](int i) { return static_cast<float>(i % 3); })},
                      {"b", filled({4}, [](int i) { return 1000.0F * static_cast<float>(1 + i); })},
                      {"one", filled({4}, [](int) { return 1.0F; })},
                      {"two", filled({2}, [](int) { return 1.0F; })}}),
              Format::Float16);
  bench.ranges["c"] = {990, 4010, 10, 0};
  return bench;
}

std::vector<float> centred_bias(Bench& bench, int round) {
  const std::vector<Proposal> proposals = centre_streams(bench.network(), round);
  EXPECT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals.at(0).layers, std::vector<std::string>{"conv"});
  Model model = bench.model;
  proposals.at(0).rewrite(model);
  verify_structure(model, "centre-stream");
  return values_of(model, model.proto.graph().node(0).input(2));
}

TEST(CentreStream, TheMeanOfEachGroupGoesOutOfABias) {
  Bench alone = convolution_and_norm("[norm] y = InstanceNormalization(c, one, one)");
  EXPECT_EQ(centred_bias(alone, 0), (std::vector<float>{0, 0, 0, 0}));
  Bench grouped = convolution_and_norm("[shape] r = Reshape(c, groups) [norm] y = InstanceNormalization(r, two, two)");
  EXPECT_EQ(centred_bias(grouped, 0), (std::vector<float>{-500, 500, -500, 500}));
  EXPECT_EQ(centred_bias(grouped, 1), (std::vector<float>{-1500, -500, 500, 1500})) << "the middle of the range";
}

TEST(CentreStream, LeavesABiasThatOthersSeeOrThatIsSmall) {
  Bench small = convolution_and_norm("[norm] y = InstanceNormalization(c, one, one)");
  small.ranges["c"] = {-4, 3, 10, 0};
  EXPECT_TRUE(centre_streams(small.network(), 0).empty());
  Bench read = convolution_and_norm("[norm] n = InstanceNormalization(c, one, one) [sum] y = Add(n, c)");
  EXPECT_TRUE(centre_streams(read.network(), 0).empty());
}

}  // namespace
}  // namespace vernier::testing
