#include <gtest/gtest.h>

#include "model/graph_edit.h"
#include "model/model.h"
#include "model/prepare.h"
#include "model_text.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

TEST(InitializerIndex, FindsWhatScanningFindsWhateverIsChanged) {
  Model model = model_of(
      "g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}> { t = Add(x, a) y = Mul(t, b) }");
  index_initializers(model);
  EXPECT_TRUE(is_initializer(model, "a"));
  EXPECT_EQ(initializer(model, "b")->floats()[1], 4);
  EXPECT_FALSE(is_initializer(model, "t"));

  onnx::GraphProto& graph = *model.proto.mutable_graph();
  const float values[] = {5, 6};
  remove_initializers(model, {"a"});
  set_initializer(model, graph, "c", Tensor::of({2}, values));  // as many as before
  EXPECT_FALSE(is_initializer(model, "a"));
  EXPECT_EQ(initializer(model, "c")->floats()[0], 5);
  EXPECT_EQ(initializer(model, "b")->floats()[0], 3) << "at another place now";

  index_initializers(model);
  set_initializer(model, graph, "b", Tensor::of({2}, values));
  EXPECT_EQ(initializer(model, "b")->floats()[1], 6) << "in the place of the old value";
  add_initializer(model, graph, "d", Tensor::of({2}, values));
  EXPECT_TRUE(is_initializer(model, "d"));
  const Model copy = model;
  EXPECT_TRUE(is_initializer(copy, "d"));
  index_initializers(model);
  remove_leftovers(model);  // nothing reads c and d
  EXPECT_FALSE(is_initializer(model, "c"));
  EXPECT_TRUE(is_initializer(copy, "c"));
}

}  // namespace
}  // namespace vernier::testing
