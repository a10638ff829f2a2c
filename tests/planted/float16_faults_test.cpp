// One layer of a good network is made bad for float16: that one is named, and only that one.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "planted_nets.h"
#include "vernier/format.h"
#include "vernier/report/diagnose.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

constexpr double kSensibleFloat16Db = 40;

TEST(PlantedFloat16, TheGoodTwinNeedsNothing) {
  const TempFolder folder;
  const DiagnoseReport report =
      diagnose_net(folder, network(kDeepNet, deep_net_weights()), kConvNetInput, Format::Float16, kSensibleFloat16Db);
  EXPECT_EQ(report.kept.value().end, SearchEnd::NothingNeeded);
  EXPECT_TRUE(report.final_figures.value().passed.value());
}

/// The whole tensor that convolution `at` hands on is `factor` times as large.
void move_all(NamedTensors& weights, int at, float factor) {
  for (std::int64_t channel = 0; channel < 8; ++channel) move_scale(weights, at, channel, factor);
}

TEST(PlantedFloat16, OverflowOfAWeightNamesItsLayer) {
  for (int bad = 2; bad <= 4; ++bad) {
    const TempFolder folder;
    NamedTensors weights = deep_net_weights();
    // Activations of about 1e-3 come in and about 1e3 go out, both well inside float16; the weights between are about
    // 1.7e5, beyond its 65504.
    move_all(weights, bad - 1, 1e-3F);
    move_all(weights, bad, 1e3F);
    const DiagnoseReport report =
        diagnose_net(folder, network(kDeepNet, weights), kConvNetInput, Format::Float16, kSensibleFloat16Db);
    const std::string planted = "conv" + std::to_string(bad);
    EXPECT_EQ(report.layers.front().name, planted);
    EXPECT_EQ(kept_layers(report), Names{planted});
    EXPECT_EQ(report.kept->end, SearchEnd::Certified);
    EXPECT_TRUE(report.final_figures.value().passed.value());
  }
}

TEST(PlantedFloat16, OverflowOfAnOutputNamesTheLayerThatMakesIt) {
  const TempFolder folder;
  NamedTensors weights = deep_net_weights();
  replace_tensor(weights, "b6", scaled(tensor_named(weights, "b6"), 0));
  // The network's own output of about 2e6: its weights still fit.
  move_all(weights, 5, 100);  // the pooled features, about 30
  replace_tensor(weights, "w6", scaled(scaled(bell({5, 8}, 46, 0.5F), 1), 4e4F));
  const DiagnoseReport report =
      diagnose_net(folder, network(kDeepNet, weights), kConvNetInput, Format::Float16, kSensibleFloat16Db);
  EXPECT_EQ(report.layers.front().name, "gemm");
  EXPECT_EQ(kept_layers(report), Names{"gemm"});
  EXPECT_GT(report.layers.front().overflowed, 0);
  for (std::size_t i = 1; i < report.layers.size(); ++i)
    EXPECT_EQ(report.layers[i].overflowed, 0) << report.layers[i].name;
}

/// A normalization by hand around the second product: z / sqrt(mean(z^2) + epsilon). Silent rows leave epsilon alone.
constexpr const char* kNormNet = R"(
  norm (float[1,4,16] x) => (float[1,4,16] y) {
    [dense1] a = MatMul (x, w)
    [gate] z = Mul (a, mask)
    [square] q = Mul (z, z)
    [mean] m = ReduceMean <axes = [2]> (q)
    [add_epsilon] e = Add (m, epsilon)
    [root] r = Sqrt (e)
    [divide] n = Div (z, r)
    [dense2] y = MatMul (n, v)
  })";

NamedTensors norm_net_weights(float epsilon) {
  return {{"w", bell({16, 16}, 61, 0.25F)},
          {"v", bell({16, 16}, 62, 0.25F)},
          {"mask", Tensor::of({1, 4, 1}, std::vector<float>{1, 1, 0, 1})},
          {"epsilon", Tensor::of({1}, std::vector<float>{epsilon})}};
}

TEST(PlantedFloat16, NormalizationWithAnOrdinaryEpsilonNeedsNothing) {
  const TempFolder folder;
  const DiagnoseReport report =
      diagnose_net(folder, network(kNormNet, norm_net_weights(1e-5F)), {1, 4, 16}, Format::Float16, kSensibleFloat16Db);
  EXPECT_EQ(report.kept.value().end, SearchEnd::NothingNeeded);
}

TEST(PlantedFloat16, TinyEpsilonNamesTheAdditionAndTheRootThatReadsIt) {
  // 1e-12 is zero in float16: a silent row becomes 0/0. The Add loses it on the way in and out, the Root on the way in;
  // behind the Root it is 1e-6, which float16 holds. Neither of the two can do without the other.
  const TempFolder folder;
  const DiagnoseReport report = diagnose_net(folder, network(kNormNet, norm_net_weights(1e-12F)), {1, 4, 16},
                                             Format::Float16, kSensibleFloat16Db);
  EXPECT_EQ(kept_layers(report), (Names{"add_epsilon", "root"}));
  EXPECT_EQ(report.kept->end, SearchEnd::Certified);
  EXPECT_TRUE(report.final_figures.value().passed.value());
  const std::set<std::string> top{report.layers[0].name, report.layers[1].name};
  EXPECT_EQ(top, (std::set<std::string>{"add_epsilon", "root"}));
}

}  // namespace
}  // namespace vernier::testing
