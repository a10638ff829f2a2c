#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "bench.h"
#include "numerics/gptq.h"
#include "numerics/tensor_grid.h"
#include "repairs/repair.h"

namespace vernier::testing {
namespace {

/// Four inputs that go together, so that what one weight gets wrong another can take back.
InputProducts correlated(std::size_t inputs) {
  InputProducts products{1, inputs, std::vector<float>(inputs * inputs)};
  for (std::size_t i = 0; i < inputs; ++i) {
    for (std::size_t j = 0; j < inputs; ++j) products.sums[i * inputs + j] = i == j ? 1.0F : 0.9F;
  }
  return products;
}

/// Sum over the columns of d^T H d, d: what the rounded weight [K, results] is off.
double output_error(const Tensor& weight, std::span<const float> rounded, const InputProducts& products) {
  const std::size_t inputs = products.inputs;
  const std::size_t results = rounded.size() / inputs;
  double energy = 0;
  for (std::size_t m = 0; m < results; ++m) {
    for (std::size_t i = 0; i < inputs; ++i) {
      for (std::size_t j = 0; j < inputs; ++j) {
        const auto off = [&](std::size_t k) {
          return static_cast<double>(rounded[k * results + m]) - static_cast<double>(weight.floats()[k * results + m]);
        };
        energy += off(i) * static_cast<double>(products.sums[i * inputs + j]) * off(j);
      }
    }
  }
  return energy;
}

Model one_matmul(const Tensor& weight) {
  Model model = parsed("g (float[1,16] x) => (float[1,8] y) { [mm] y = MatMul(x, w) }", {{"w", zeros({16, 8})}});
  set_initializer(model, *model.proto.mutable_graph(), "w", weight);
  return model;
}

Tensor waves() {
  return filled({16, 8}, [](int i) { return std::sin(1.7F * static_cast<float>(i)); });
}

TEST(GptqRounding, IsBetterAtTheOutputThanTheNearestCodes) {
  const Tensor weight = waves();
  Bench bench(one_matmul(weight), Format::Int4);
  bench.weight_share["mm"] = 0.9;
  bench.measured["mm"] = {correlated(16)};
  const auto proposals = gptq_rounding(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  ASSERT_EQ(proposals[0].why_not, "");
  const std::span<const float> rounded = proposals[0].constants.at("w").values.floats();
  std::vector<float> nearest(rounded.size());
  std::vector<float> again(rounded.size());
  const QuantParams& grid = bench.plan.tensors.at("w");
  round_tensor(grid, weight.shape(), weight.floats(), nearest);
  round_tensor(grid, weight.shape(), rounded, again);
  EXPECT_TRUE(std::ranges::equal(again, rounded));  // on the grid
  EXPECT_LT(output_error(weight, rounded, correlated(16)), 0.5 * output_error(weight, nearest, correlated(16)));
}

TEST(GptqRounding, TellsEachStepOfALayer) {
  Bench bench(one_matmul(waves()), Format::Int4);
  bench.weight_share["mm"] = 0.9;
  bench.measured["mm"] = {correlated(16), correlated(16)};
  Network network = bench.network();
  std::vector<std::size_t> told;
  std::size_t all = 0;
  network.progress = [&](const std::string&, std::size_t done, std::size_t total) {
    told.push_back(done);
    all = total;
  };
  gptq_rounding(network, 0);
  ASSERT_GE(told.size(), 2U);
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_EQ(told.back(), all);
  EXPECT_LT(told.front(), all);
}

TEST(GptqRounding, InputsThatAreStrangersTakeTheNearestCodes) {
  const Tensor weight = waves();
  Bench bench(one_matmul(weight), Format::Int4);
  bench.weight_share["mm"] = 0.9;
  InputProducts products{1, 16, std::vector<float>(256)};
  for (std::size_t i = 0; i < 16; ++i) products.sums[17 * i] = 1.0F + static_cast<float>(i);
  bench.measured["mm"] = {products};
  const auto proposals = gptq_rounding(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  std::vector<float> nearest(128);
  round_tensor(bench.plan.tensors.at("w"), weight.shape(), weight.floats(), nearest);
  EXPECT_TRUE(std::ranges::equal(proposals[0].constants.at("w").values.floats(), nearest));
}

/// X^T X of `rows` rows of inputs that go together a little: few of them seem to tell much more.
InputProducts few_rows(std::size_t inputs, int rows, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> draw;
  InputProducts products{1, inputs, std::vector<float>(inputs * inputs)};
  for (int row = 0; row < rows; ++row) {
    std::vector<float> x(inputs);
    const float common = draw(random);
    for (float& value : x) value = draw(random) + 0.7F * common;
    for (std::size_t i = 0; i < inputs; ++i) {
      for (std::size_t j = 0; j < inputs; ++j) products.sums[i * inputs + j] += x[i] * x[j];
    }
  }
  return products;
}

TEST(GptqRounding, BelievesFewRowsLess) {
  const Tensor weight = waves();
  Bench bench(one_matmul(weight), Format::Int4);
  bench.weight_share["mm"] = 0.9;
  const InputProducts unseen = few_rows(16, 1000, 9);
  double chosen = 0, undamped = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    bench.measured["mm"] = {few_rows(16, 20, 100 + seed), few_rows(16, 20, 200 + seed)};
    InputProducts all = bench.measured["mm"][0];
    for (std::size_t i = 0; i < all.sums.size(); ++i) all.sums[i] += bench.measured["mm"][1].sums[i];
    const auto proposals = gptq_rounding(bench.network(), 0);
    std::vector<float> rounded(128);
    const QuantParams& grid = bench.plan.tensors.at("w");
    round_tensor(grid, weight.shape(), weight.floats(), rounded);
    if (proposals.at(0).why_not.empty()) {
      std::ranges::copy(proposals[0].constants.at("w").values.floats(), rounded.begin());
    }
    chosen += output_error(weight, rounded, unseen);
    undamped += output_error(weight, *gptq_round(weight, {8, 1, 8}, grid, all, 0.01, 1), unseen);
  }
  EXPECT_LT(chosen, undamped);
}

TEST(GptqRounding, KeepsTheNearestCodesWhereTheOtherHalfGainsNothing) {
  Bench bench(one_matmul(waves()), Format::Int4);
  bench.weight_share["mm"] = 0.9;
  InputProducts strangers{1, 16, std::vector<float>(256)};
  for (std::size_t i = 0; i < 16; ++i) strangers.sums[17 * i] = 1;
  bench.measured["mm"] = {strangers, strangers};
  EXPECT_EQ(gptq_rounding(bench.network(), 0).at(0).why_not,
            "weights rounded on one half of the samples are not better than nearest rounding on the other half");
}

TEST(GptqRounding, LeavesWhatWouldNotBeAccepted) {
  Bench bench(one_matmul(waves()), Format::Int4);
  bench.measured["mm"] = {correlated(16), correlated(16)};
  bench.weight_share["mm"] = 0.9;
  EXPECT_EQ(gptq_rounding(bench.network(), 0).at(0).why_not, "");
  bench.measured["mm"] = {few_rows(16, 40, 1), few_rows(16, 40, 2)};
  EXPECT_EQ(gptq_rounding(bench.network(), 0).at(0).why_not, "");
  bench.weight_share["mm"] = 0.2;
  const std::string why = gptq_rounding(bench.network(), 0).at(0).why_not;
  EXPECT_TRUE(why.starts_with("rounding its weights would take about ")) << why;
}

TEST(GptqRounding, ChoosesTheDampingBySomeOfManyResults) {
  const Tensor weight = filled({16, 640}, [](int i) { return std::sin(1.7F * static_cast<float>(i)); });
  Bench bench(parsed("g (float[1,16] x) => (float[1,640] y) { [mm] y = MatMul(x, w) }", {{"w", weight}}), Format::Int4);
  bench.weight_share["mm"] = 0.9;
  bench.measured["mm"] = {correlated(16), correlated(16)};
  const Proposal proposal = gptq_rounding(bench.network(), 0).at(0);
  ASSERT_EQ(proposal.why_not, "");
  EXPECT_EQ(proposal.constants.at("w").values.count(), 16 * 640) << "all results are rounded";
  // Of 64 results six times 16^3 / 3 + 1.5 * 64 * 16^2, of all once 16^3 / 3 + 1.5 * 640 * 16^2.
  Network network = bench.network();
  network.rounding_work = 402000;
  EXPECT_TRUE(gptq_rounding(network, 0).at(0).why_not.starts_with("rounding it costs more"));
  network.rounding_work = 403000;
  EXPECT_EQ(gptq_rounding(network, 0).at(0).why_not, "");
}

TEST(GptqRounding, RoundsWhatTakesTheLeastWorkFirst) {
  const auto refused = [](double limit) {
    Bench bench(parsed("g (float[1,16] x) => (float[1,8] z) { [wide] y = MatMul(x, w)\n [narrow] z = MatMul(y, v) }",
                       {{"w", zeros({16, 8})}, {"v", zeros({8, 8})}}),
                Format::Int8);
    bench.weight_share = {{"wide", 0.9}, {"narrow", 0.9}};
    bench.measured = {{"wide", {correlated(16)}}, {"narrow", {correlated(8)}}};
    Network network = bench.network();
    network.rounding_work = limit;
    std::vector<std::string> layers;
    for (const Proposal& proposal : gptq_rounding(network, 0)) {
      if (proposal.why_not.starts_with("rounding it costs more")) layers.push_back(proposal.layers.front());
    }
    return layers;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(refused(0), Names{}) << "no limit";
  // Seven times 8^3 / 3 + 1.5 * 8 * 8^2, and 16^3 / 3 + 1.5 * 8 * 16^2.
  EXPECT_EQ(refused(6570), (Names{"wide", "narrow"}));
  EXPECT_EQ(refused(6572), Names{"wide"});
  EXPECT_EQ(refused(6572 + 31000), Names{"wide"});
  EXPECT_EQ(refused(6572 + 31100), Names{});
}

TEST(GptqRounding, RoundsWhatIsWorthItsWorkFirst) {
  Bench bench(parsed("g (float[1,16] x) => (float[1,8] z) { [wide] y = MatMul(x, w)\n [narrow] z = MatMul(y, v) }",
                     {{"w", zeros({16, 8})}, {"v", zeros({8, 8})}}),
              Format::Int8);
  bench.weight_share = {{"wide", 0.9}, {"narrow", 0.9}};
  bench.measured = {{"wide", {correlated(16)}}, {"narrow", {correlated(8)}}};
  const std::map<std::string, double> damage{{"wide", 0.9}, {"narrow", 0.1}};
  Network network = bench.network();
  network.rounding_work = 31100;  // of `wide`, and not of both
  network.damage = &damage;
  for (const Proposal& proposal : gptq_rounding(network, 0)) {
    EXPECT_EQ(proposal.why_not.starts_with("rounding it costs more"), proposal.layers.front() == "narrow");
  }
}

TEST(GptqRounding, RoundsAgainWhatWasAcceptedWithoutAskingForItsShare) {
  Bench bench(one_matmul(waves()), Format::Int4);
  bench.measured["mm"] = {correlated(16)};
  const std::map<std::string, double> damping{{"mm", 0.01}}, damage{{"mm", 1}};
  Network network = bench.network();
  network.damping = &damping;
  network.damage = &damage;
  const auto proposals = gptq_rounding(network, 0);
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].why_not, "");
  EXPECT_TRUE(proposals[0].constants.contains("w"));
}

TEST(GptqRounding, RefusesWhatItCannotHelp) {
  const auto reason = [](Bench& bench) { return gptq_rounding(bench.network(), 0).at(0).why_not; };
  Bench exact(one_matmul(waves()), Format::Int8);
  exact.weight_share["mm"] = 0.05;
  EXPECT_EQ(reason(exact), "its weights make only 5 % of its error, and less than 20 % is not worth rounding");
  Bench dead(one_matmul(waves()), Format::Int8);
  dead.weight_share["mm"] = 0.5;
  dead.measured["mm"] = {{1, 16, std::vector<float>(256)}, {1, 16, std::vector<float>(256)}};
  EXPECT_EQ(reason(dead), "its inputs are all zero, or not finite");
  Bench shared(parsed("g (float[1,8] x) => (float[1,8] y) { [one] a = MatMul(x, w)\n [two] y = MatMul(a, w) }",
                      {{"w", zeros({8, 8})}}),
               Format::Int8);
  shared.weight_share["one"] = 0.5;
  EXPECT_EQ(reason(shared), "another layer reads the same weight");
  Bench turned(parsed("g (float[1,2,4,4] x) => (float[1,2,4,4] y) { [up] y = ConvTranspose(x, w) }",
                      {{"w", zeros({2, 2, 1, 1})}}),
               Format::Int8);
  EXPECT_EQ(reason(turned), "only Conv, Gemm and MatMul are supported, not ConvTranspose");
}

}  // namespace
}  // namespace vernier::testing
