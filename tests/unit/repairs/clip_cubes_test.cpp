#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

#include "gelus.h"
#include "repairs/repair.h"

namespace vernier::testing {
namespace {

TEST(ClipCube, ClipsWhatTheTanhReadsAndNothingElse) {
  const float limits[] = {50, 50, 2000};  // the last form squares first, and scales before
  for (std::size_t form = 0; form < 3; ++form) {
    Bench bench(gelu_net(kTanhGelus[form]), Format::Float16);
    bench.ranges["x"] = {-limits[form], 20, 10, 0};
    const auto proposals = clip_cubes(bench.network(), 0);
    ASSERT_EQ(proposals.size(), 1U) << kTanhGelus[form];
    ASSERT_EQ(proposals[0].why_not, "");
    Model clipped = bench.model;
    proposals[0].rewrite(clipped);
    int through = 0;
    for (const onnx::NodeProto& node : clipped.proto.graph().node()) {
      const auto reads = std::ranges::count(node.input(), "x");
      through += static_cast<int>(std::ranges::count(node.input(), "x.clipped"));
      if (reads > 0) {
        EXPECT_TRUE(node.op_type() == "Clip" || node.name() == "h" || node.name() == "d") << node.name();
      }
    }
    EXPECT_GE(through, 2);
    EXPECT_EQ(initializer(clipped, "curve.lowest")->floats()[0], -16);
    EXPECT_EQ(initializer(clipped, "curve.highest")->floats()[0], 16);
    bench.ranges["x"] = {-30, 30, 10, 0};
    EXPECT_TRUE(clip_cubes(bench.network(), 0).empty()) << "float16 holds the cube of 30";
  }
}

TEST(ClipCube, LeavesOtherCurvesAlone) {
  Bench erf(gelu_net(kErfGelus[0]), Format::Float16);
  erf.ranges["x"] = {-5000, 5000, 10, 0};
  EXPECT_TRUE(clip_cubes(erf.network(), 0).empty()) << "erf cubes nothing";
  Bench bfloat(gelu_net(kTanhGelus[0]), Format::BFloat16);
  bfloat.ranges["x"] = {-5000, 5000, 10, 0};
  EXPECT_TRUE(clip_cubes(bfloat.network(), 0).empty()) << "bfloat16 holds it";
}

}  // namespace
}  // namespace vernier::testing
