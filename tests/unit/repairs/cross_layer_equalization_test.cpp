#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "bench.h"
#include "repairs/repair.h"

namespace vernier::testing {
namespace {

Model two_convolutions(const std::string& between) {
  Model model = parsed(
      "g (float[1,2,4,4] x) => (float[1,2,4,4] y)  {"
      " [first] a = Conv(x, w1, b1)\n " +
          between + " [second] y = Conv(r, w2) }",
      {{"w1", zeros({4, 2, 1, 1})},
       {"b1", zeros({4})},
       {"w2", zeros({2, 4, 1, 1})},
       {"zero", zeros({})},
       {"six", zeros({})}});
  return model;
}

TEST(CrossLayerEqualization, GivesBothLayersWeightsOfLikeSize) {
  Model model = two_convolutions("[act] r = Relu(a)");
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  set_initializer(model, graph, "w1", filled({4, 2, 1, 1}, [](int i) { return i < 2 ? 8.3F : 0.11F; }));
  set_initializer(model, graph, "b1", filled({4}, [](int i) { return 0.5F * static_cast<float>(i); }));
  set_initializer(model, graph, "w2", filled({2, 4, 1, 1}, [](int i) { return 0.3F + 0.01F * static_cast<float>(i); }));
  Bench bench(std::move(model), Format::Int8);
  const auto proposals = cross_layer_equalization(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  Model scaled = bench.model;
  proposals[0].rewrite(scaled);
  const Tensor w1_tensor = *initializer(scaled, "w1");
  const auto w1 = w1_tensor.floats();
  const Tensor w2_tensor = *initializer(scaled, "w2");
  const auto w2 = w2_tensor.floats();
  const Tensor old1_tensor = *initializer(bench.model, "w1");
  const auto old1 = old1_tensor.floats();
  const Tensor old2_tensor = *initializer(bench.model, "w2");
  const auto old2 = old2_tensor.floats();
  // Factors of each channel cancel, bit for bit.
  for (std::size_t j = 0; j < 4; ++j) EXPECT_EQ(w1[2 * j] * w2[j], old1[2 * j] * old2[j]);
  EXPECT_LT(w1[0] / w1[2], 20);  // was 75
}

TEST(CrossLayerEqualization, ClipsEachChannelAtItsOwnEnd) {
  Model model = two_convolutions("[act] r = Clip(a, zero, six)");
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  set_initializer(model, graph, "zero", filled({}, [](int) { return 0.0F; }));
  set_initializer(model, graph, "six", filled({}, [](int) { return 6.0F; }));
  set_initializer(model, graph, "w1", filled({4, 2, 1, 1}, [](int i) { return i < 2 ? 8.3F : 0.11F; }));
  set_initializer(model, graph, "b1", filled({4}, [](int) { return 0.5F; }));
  set_initializer(model, graph, "w2", filled({2, 4, 1, 1}, [](int) { return 0.3F; }));
  Bench bench(std::move(model), Format::Int8);
  const auto proposals = cross_layer_equalization(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  Model scaled = bench.model;
  proposals[0].rewrite(scaled);
  const auto ends = initializer(scaled, "act.ends");
  ASSERT_TRUE(ends);
  const float factor = initializer(bench.model, "w1")->floats()[0] / initializer(scaled, "w1")->floats()[0];
  EXPECT_EQ(ends->floats()[0], 6 / factor);
}

TEST(CrossLayerEqualization, AScaleForEachChannelLeavesNothingToDo) {
  Model model = two_convolutions("[act] r = Relu(a)");
  Bench bench(std::move(model), Format::Int8);
  bench.plan.tensors["w1"].scale = {1, 1, 1, 1};
  bench.plan.tensors["w1"].axis = 0;
  EXPECT_TRUE(cross_layer_equalization(bench.network(), 0).empty());
}

}  // namespace
}  // namespace vernier::testing
