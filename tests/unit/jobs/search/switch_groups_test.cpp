// Which layers should switch together: small graphs whose groups are known.
#include "jobs/search/switch_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tiny_networks.h"
#include "vernier/format.h"
#include "vernier/report/kept_set.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using testing::bell;
using Names = std::vector<std::string>;

// Query, key and value read one tensor; two convolutions meet in an Add behind a Relu, two in a Concat.
constexpr const char* kAttention =
    "net (float[1,4,8] x) => (float[1,4,24] y) { [q] a = MatMul (x, wq) [k] b = MatMul (x, wk) [v] c = MatMul (x, wv) "
    "[join] y = Concat <axis = 2> (a, b, c) }";
constexpr const char* kResidual =
    "net (float[1,3,8,8] x) => (float[1,3,8,8] y) { [one] a = Conv <pads = [1,1,1,1]> (x, w1) [act] b = Relu (a) "
    "[two] c = Conv <pads = [1,1,1,1]> (b, w2) [sum] d = Add (b, c) [three] y = Conv <pads = [1,1,1,1]> (d, w3) }";

Experiment experiment_of(const Subject& subject, Format low) {
  Plan plan = testing::plan_all(subject, low);
  Names candidates;
  for (const PlannedLayer& layer : plan.layers) {
    if (layer.format == low) candidates.push_back(layer.name);
  }
  return {std::make_shared<const Subject>(subject), nullptr, {}, {}, std::move(plan), candidates};
}

struct Net {
  explicit Net(const char* text, const testing::NamedTensors& weights, const Shape& input)
      : samples(testing::bell_samples("x", input, 1)),
        subject(testing::subject_of(testing::model_of(text, weights), samples)) {}
  testing::Samples samples;
  Subject subject;
};

Net attention() {
  return Net(kAttention, {{"wq", bell({8, 8}, 1)}, {"wk", bell({8, 8}, 2)}, {"wv", bell({8, 8}, 3)}}, {1, 4, 8});
}
Net residual() {
  return Net(kResidual, {{"w1", bell({3, 3, 3, 3}, 1)}, {"w2", bell({3, 3, 3, 3}, 2)}, {"w3", bell({3, 3, 3, 3}, 3)}},
             {1, 3, 8, 8});
}

TEST(SwitchGroups, AreLayersThatReadOneQuantizedTensorOrMeetInAConcat) {
  const Net net = attention();
  const std::vector<LayerGroup> groups = switch_groups(experiment_of(net.subject, Format::Int8));
  ASSERT_EQ(groups.size(), 2U);
  for (const LayerGroup& group : groups) EXPECT_EQ(group.layers, (Names{"q", "k", "v"}));
  EXPECT_EQ(groups[0].why, "their results meet in Concat 'join'");
  EXPECT_EQ(groups[1].why, "they read the same quantized tensor, 'x'");
}

TEST(SwitchGroups, FollowPartnersOfAnAddThroughActivations) {
  const Net net = residual();
  const std::vector<LayerGroup> groups = switch_groups(experiment_of(net.subject, Format::Int8));
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].layers, (Names{"one", "two"}));
  EXPECT_EQ(groups[0].why, "their results meet in Add 'sum'");
}

TEST(SwitchGroups, AreNoneWhereCastsAreMade) {
  const Net net = attention();
  EXPECT_TRUE(switch_groups(experiment_of(net.subject, Format::Float16)).empty());
}

TEST(Units, AreLayersOrWholeGroups) {
  const Net net = residual();
  const Experiment experiment = experiment_of(net.subject, Format::Int8);
  EXPECT_EQ(Units(experiment, false).names(), (Names{"one", "two", "three"}));
  const Units whole(experiment, true);
  EXPECT_EQ(whole.names(), (Names{"one + two", "three"}));
  EXPECT_EQ(whole.steps({0}), (KeptSet{0, 1}));
  EXPECT_EQ(whole.unit_of(1), 0U);
  EXPECT_EQ(whole.steps({0, 1}), (KeptSet{0, 1, 2}));
}

}  // namespace
}  // namespace vernier
