#include "plan/faster_on_codes.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "model/layers.h"
#include "simulated_graph.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using testing::draft;

/// Layers with a kernel on codes that gain by it, of all that the names say.
std::set<std::string> faster(const std::string& graph, const std::set<std::string>& candidates) {
  testing::Draft made = draft(graph);
  for (const auto& [name, shape] : {std::pair<const char*, Shape>{"w", {64, 64, 3, 3}},
                                    {"v", {64, 64, 3, 3}},
                                    {"g", {64, 16, 3, 3}},
                                    {"m", {256, 256}},
                                    {"n", {256, 256}},
                                    {"small", {4, 4}}}) {
    if (graph.find(std::string(", ") + name) == std::string::npos) continue;
    *made.proto.mutable_graph()->add_initializer() = proto_of(Tensor(Dtype::Float32, shape), name);
  }
  const Model model = made;
  return faster_on_codes(model, find_layers(model), candidates, infer_types(model));
}

TEST(FasterOnCodes, ConvolutionsAreAndWhatLiesBetweenThemStaysOnCodes) {
  EXPECT_EQ(faster("g (float[1,64,56,56] x) => (float[1,64,54,54] y) { [a] t = Conv<pads = [1,1,1,1]>(x, w) [sum] s = "
                   "Add(t, x) [b] y = Conv(s, v) }",
                   {"a", "sum", "b"}),
            (std::set<std::string>{"a", "sum", "b"}))
      << "an Add gains nothing, two borders cost more";
}

TEST(FasterOnCodes, ASoftmaxBetweenProductsIsNot) {
  EXPECT_EQ(faster("g (float[256,256] x) => (float[256,256] y) { [a] t = MatMul(x, m) [share] s = Softmax(t) [b] y = "
                   "MatMul(s, n) }",
                   {"a", "share", "b"}),
            (std::set<std::string>{"a", "b"}));
}

TEST(FasterOnCodes, GroupedConvolutionsAndElementwiseLayersAloneAreNot) {
  EXPECT_EQ(faster("g (float[1,64,56,56] x) => (float[1,64,56,56] y) { [a] t = Conv<pads = [1,1,1,1], group = 4>(x, g) "
                   "[gate] s = Sigmoid(t) [b] y = Mul(t, s) }",
                   {"a", "gate", "b"}),
            std::set<std::string>{});
}

TEST(FasterOnCodes, SmallLayersAreNotWorthABorder) {
  EXPECT_EQ(faster("g (float[1,4] x) => (float[1,4] y) { [a] y = MatMul(x, small) }", {"a"}), std::set<std::string>{});
}

TEST(FasterOnCodes, WeightedLayersOfUnknownShapeAreTakenToGain) {
  EXPECT_EQ(faster("g (float[] x) => (float[] y) { [a] y = MatMul(x, m) }", {"a"}), (std::set<std::string>{"a"}));
}

}  // namespace
}  // namespace vernier
