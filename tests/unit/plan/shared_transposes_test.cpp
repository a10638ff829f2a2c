#include "plan/shared_transposes.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "simulated_graph.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using testing::parse_model;

/// 40 x 20 values that are all different, or its transpose.
Tensor matrix(bool transposed, float first = 0) {
  Tensor made(Dtype::Float32, transposed ? Shape{20, 40} : Shape{40, 20});
  auto* const values = reinterpret_cast<float*>(made.mutable_bytes().data());
  for (std::size_t i = 0; i < 40; ++i) {
    for (std::size_t j = 0; j < 20; ++j)
      values[transposed ? j * 40 + i : i * 20 + j] = static_cast<float>(i * 20 + j) + (i + j == 0 ? first : 0);
  }
  return made;
}

Model tied(const Tensor& head) {
  Model model = parse_model(
      "g (int64[4] ids) => (float[4,40] y) <float[1] table = {0}, float[1] head_weight = {0}> { [embed] e = "
      "Gather(table, ids) [head] y = MatMul(e, head_weight) }");
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  set_initializer(model, graph, "head_weight", head);
  set_initializer(model, graph, "table", matrix(false));
  return model;
}

TEST(ShareTransposes, KeepsWhatAGatherReads) {
  Model model = tied(matrix(true));
  NamePool names(model);
  EXPECT_EQ(share_transposes(model, names), 1U);
  EXPECT_TRUE(is_initializer(model, "table"));
  EXPECT_FALSE(is_initializer(model, "head_weight"));
  const onnx::NodeProto& first = model.proto.graph().node(0);
  EXPECT_EQ(first.op_type(), "Transpose");
  EXPECT_EQ(first.input(0), "table");
  EXPECT_EQ(first.output(0), "head_weight");
  check_written_model(model);
}

TEST(ShareTransposes, OneOtherValueIsAnotherWeight) {
  Model model = tied(matrix(true, 1e-6F));
  NamePool names(model);
  EXPECT_EQ(share_transposes(model, names), 0U);
  EXPECT_TRUE(is_initializer(model, "head_weight"));
}

TEST(ShareTransposes, AWeightThatAQuantizeLinearReadsStaysAConstant) {
  Model model = parse_model(
      "g (int64[4] ids, float[4,20] x) => (float[4,20] y, int8[20,40] q) <float[1] table = {0}, float[1] head_weight = "
      "{0}, float s = {1}, int8 z = {0}> {"
      " y = Gather(table, ids) q = QuantizeLinear(head_weight, s, z) }");
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  set_initializer(model, graph, "head_weight", matrix(true));
  set_initializer(model, graph, "table", matrix(false));
  NamePool names(model);
  EXPECT_EQ(share_transposes(model, names), 0U);
}

}  // namespace
}  // namespace vernier
