// Casts in front of recurrent layers that TensorRT-RTX moves into their loops.
#include "plan/recurrent_casts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/rules/tensorrt_refusals.h"
#include "tiny_graph.h"

namespace vernier {
namespace {

using testing::parse_model;
using Names = std::vector<std::string>;

/// `nodes` from h, in float16, to t, which an RNN reads.
Model recurrence(const std::string& nodes, const std::string& attributes = "hidden_size = 2") {
  return parse_model(
      "g (float[3,1,2] x) => (float[3,d,1,2] y) <float[1,2,2] w = {1, 2, 3, 4}, float[1,2,2] r = {1, 2, 3, 4}, "
      "float one = {1}, int64[3] shape = {3, 1, 2}> { [in] i = Cast<to = 10>(x) [half] h = Relu(i) " +
      nodes + " [layer] y = RNN<" + attributes + ">(t, w, r) }");
}

TEST(RecurrentCasts, AreMovedIntoTheLoopThroughWhatKeepsEveryValue) {
  EXPECT_EQ(layers_behind_casts(recurrence("[c] t = Cast<to = 1>(h)")), Names{"layer"});
  EXPECT_EQ(layers_behind_casts(recurrence("[c] f = Cast<to = 1>(h) [s] t = Reshape(f, shape)")), Names{"layer"});
  EXPECT_EQ(layers_behind_casts(recurrence("[c] f = Cast<to = 1>(h) [s] t = Sum(f)")), Names{"layer"});
  EXPECT_EQ(layers_behind_casts(recurrence("[c] f = Cast<to = 1>(h) [s] t = Sum(f, one)")), Names{});
  EXPECT_EQ(layers_behind_casts(recurrence("[c] f = Cast<to = 1>(h) [s] t = Tanh(f)")), Names{});
  EXPECT_EQ(layers_behind_casts(recurrence("[s] t = Tanh(x)")), Names{});
}

TEST(RecurrentCasts, StayInFrontOfALayerFromBackToFrontOrBesideAnotherReader) {
  EXPECT_EQ(layers_behind_casts(recurrence("[c] t = Cast<to = 1>(h)", "hidden_size = 2, direction = \"reverse\"")),
            Names{});
  EXPECT_EQ(layers_behind_casts(recurrence("[c] t = Cast<to = 1>(h) [other] z = Relu(t)")), Names{});
}

TEST(RecurrentCasts, AreHeldByASubOfZero) {
  Model model = recurrence("[c] t = Cast<to = 1>(h)");
  NamePool names(model);
  EXPECT_EQ(hold_casts(model, names), Names{"layer"});
  check_written_model(model);
  EXPECT_EQ(layers_behind_casts(model), Names{});
  const onnx::GraphProto& graph = model.proto.graph();
  EXPECT_EQ(graph.node(graph.node_size() - 2).op_type(), "Sub");
  EXPECT_EQ(graph.node(graph.node_size() - 1).input(0), graph.node(graph.node_size() - 2).output(0));
}

TEST(TensorRtRefusals, NameTheLayerThatReadsACast) {
  const auto findings = tensorrt_refusals(recurrence("[c] t = Cast<to = 1>(h)"));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "recurrent-behind-cast");
  EXPECT_EQ(findings[0].node, "layer");
  EXPECT_TRUE(findings[0].refused);
}

}  // namespace
}  // namespace vernier
