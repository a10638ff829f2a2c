// Products that OpenVINO would compute in one kernel, kept apart.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "model_text.h"
#include "vernier/format.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

Prepared prepare_products(const Model& model, bool asked) {
  PrepareOptions options;
  options.formats = {Format::Int8};
  options.openvino_products = asked;
  return prepare(model, options, [](const Model&, const Sample&) -> std::vector<Tensor> {
    throw std::logic_error("nothing to evaluate here");
  });
}

Prepared of_products(const std::string& nodes, const char* data = "3,2", bool asked = true) {
  return prepare_products(model_of(R"(<ir_version: 8, opset_import: ["" : 13]> g (float[)" + std::string(data) +
                                   "] x) => (float[a,b] y) <float[2,2] w = {1, 2, 3, 4}, float[2,2] v = {1, 2, 3, 4}, "
                                   "float[2] k = {10, 20}, float[2] even = {5, 5}, float one = {1}> { " +
                                   nodes + " }"),
                          asked);
}

bool parted(const std::string& nodes, const char* data = "3,2", bool asked = true) {
  const Prepared done = of_products(nodes, data, asked);
  const onnx::NodeProto& second = node_named(done.model, "q");
  const bool turned = second.input(0) == "q/Transpose_output";
  EXPECT_EQ(turned, !done.notes.empty());
  return turned;
}

const std::string kProduct = "[p] a = MatMul(x, w) ";
const std::string kBiased = "[p] a = Gemm(x, w, k) ";
const std::string kNext = "[r] b = Relu(a) [q] y = MatMul(b, v)";

TEST(PartProducts, TheSecondReadsATranspose) {
  const Prepared done = of_products(kProduct + kNext);
  EXPECT_EQ(op_types(done.model), (std::vector<std::string>{"MatMul", "Relu", "Transpose", "Gemm"}));
  EXPECT_EQ(attribute_int(node_named(done.model, "q"), "transA", 0), 1);
  ASSERT_EQ(done.notes.size(), 1U);
  EXPECT_EQ(done.notes[0].note.code, "products-parted");
}

TEST(PartProducts, OneBiasForEachChannelIsRight) {
  EXPECT_FALSE(parted(kBiased + kNext));
  EXPECT_FALSE(parted(kBiased + "[q] y = Gemm(a, v, k)"));
  EXPECT_FALSE(parted("[p] c = MatMul(x, w) [add] a = Add(k, c) " + kNext));
  EXPECT_FALSE(parted(kBiased + "[n] b = Sub(a, k) [q] y = MatMul(b, v)"));
}

TEST(PartProducts, AFactorOrAnythingMoreIsNot) {
  EXPECT_TRUE(parted(kBiased + "[n] b = Neg(a) [q] y = MatMul(b, v)"));
  EXPECT_TRUE(parted(kBiased + "[n] c = Relu(a) [s] b = Sub(c, k) [q] y = MatMul(b, v)"));
  EXPECT_TRUE(parted(kBiased + "[n] c = Relu(a) [s] b = Add(k, c) [q] y = Gemm(b, v, k)"));
  EXPECT_TRUE(parted(kBiased + "[n] c = Neg(a) [s] b = Relu(c) [q] y = MatMul(b, v)"));
  EXPECT_TRUE(parted("[p] a = Gemm(x, w, even) " + kNext)) << "one value for all channels is as good as none";
  EXPECT_TRUE(parted("[p] c = MatMul(x, w) [add] a = Add(c, one) " + kNext));
  EXPECT_TRUE(parted(kProduct + "[q] y = MatMul(a, v)"));
}

TEST(PartProducts, OthersStayAsTheyAre) {
  EXPECT_FALSE(parted(kProduct + kNext, "3,2", false)) << "not asked for";
  EXPECT_FALSE(parted(kProduct + kNext, "9,2")) << "nine rows";
  EXPECT_FALSE(parted(kProduct + kNext, "n,2")) << "an open number of rows";
  EXPECT_FALSE(parted(kProduct + "[s] b = Softmax(a) [q] y = MatMul(b, v)")) << "a Softmax lies between";
  EXPECT_FALSE(parted(kProduct + "[s] b = Add(a, a) [q] y = MatMul(b, v)")) << "something else is read as well";
}

TEST(PartProducts, DataOfOneAxisStays) {
  // A vector has no two axes to turn, though the result with three matrices is a matrix.
  const Prepared done =
      prepare_products(model_of(R"(<ir_version: 8, opset_import: ["" : 13]> g (float[1,2] x) => (float[a,b] y)
                  <float[2,2] w = {1, 2, 3, 4}, float[1,2,1] v = {1, 2}, int64[1] first = {0}>
                  { [p] a = MatMul(x, w) [s] b = Squeeze(a, first) [q] y = MatMul(b, v) })"),
                       true);
  EXPECT_EQ(op_types(done.model), (std::vector<std::string>{"MatMul", "Squeeze", "MatMul"}));
  EXPECT_TRUE(done.notes.empty());
}

}  // namespace
}  // namespace vernier::testing
