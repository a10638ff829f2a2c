// One convolution of a good network is made bad for int8: that one is named, and only that one.
#include <string>

#include "planted_nets.h"
#include "vernier/format.h"
#include "vernier/report/diagnose.h"

namespace vernier::testing {
namespace {

constexpr double kSensibleDb = 24;

TEST(PlantedInt8, TheGoodTwinNeedsNothing) {
  const TempFolder folder;
  const DiagnoseReport report =
      diagnose_net(folder, network(kDeepNet, deep_net_weights()), kConvNetInput, Format::Int8, kSensibleDb);
  EXPECT_EQ(report.kept.value().end, SearchEnd::NothingNeeded);
  EXPECT_TRUE(report.kept->layers.empty());
  EXPECT_TRUE(report.final_figures.value().passed.value());
}

TEST(PlantedInt8, OutlierChannelNamesTheLayerThatReadsIt) {
  for (int bad = 2; bad <= 5; ++bad) {
    const TempFolder folder;
    NamedTensors weights = deep_net_weights();
    move_scale(weights, bad - 1, 3, 2000);  // the tensor's range is its channel 3 alone
    const DiagnoseReport report =
        diagnose_net(folder, network(kDeepNet, weights), kConvNetInput, Format::Int8, kSensibleDb);
    const std::string planted = "conv" + std::to_string(bad);
    EXPECT_EQ(report.layers.front().name, planted);
    EXPECT_EQ(kept_layers(report), Names{planted});
    EXPECT_EQ(report.kept->end, SearchEnd::Certified);
    EXPECT_FALSE(report.all_low.passed.value());
    EXPECT_TRUE(report.final_figures.value().passed.value());
    EXPECT_TRUE(report.layers.front().kept);
  }
}

TEST(PlantedInt8, OutlierInOneWeightOfAChannelNamesItsLayer) {
  // One large weight that an all but silent input multiplies: the scale of every output channel of conv3 is spoiled.
  const TempFolder folder;
  NamedTensors weights = deep_net_weights();
  move_scale(weights, 2, 5, 1.0F / 2000);
  const DiagnoseReport report =
      diagnose_net(folder, network(kDeepNet, weights), kConvNetInput, Format::Int8, kSensibleDb);
  EXPECT_EQ(report.layers.front().name, "conv3");
  EXPECT_EQ(kept_layers(report), Names{"conv3"});
  EXPECT_EQ(report.kept->end, SearchEnd::Certified);
}

}  // namespace
}  // namespace vernier::testing
