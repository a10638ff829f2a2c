// A bias for products of small matrices, which OpenVINO's integer kernels need.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "model_text.h"
#include "vernier/format.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

using Floats = std::vector<float>;

Prepared with_biases(const std::string& nodes, const char* data = "3,2", bool asked = true) {
  PrepareOptions options;
  options.formats = {Format::Int8};
  options.openvino_products = asked;
  return prepare(
      model_of(R"(<ir_version: 8, opset_import: ["" : 13]> g (float[)" + std::string(data) +
               "] x) => (float[a,b] y) <float[2,2] w = {1, 2, 3, 4}, float[2,2] v = {1, 2, 3, 4}, "
               "float[2] k = {10, 20}, float[2] even = {5, 5}, float[2] zeros = {0, 0}, float one = {1}> { " +
               nodes + " }"),
      options,
      [](const Model&, const Sample&) -> std::vector<Tensor> { throw std::logic_error("nothing to evaluate here"); });
}

/// Of the layer "p"; empty where it has none.
Floats bias_of(const Prepared& done) {
  const onnx::NodeProto& node = node_named(done.model, "p");
  return node.input_size() < 3 ? Floats{} : floats_of(done.model, node.input(2));
}

constexpr const char* kNext = "[r] b = Relu(a) [q] y = MatMul(b, v)";

TEST(BiasProducts, AMatMulBecomesAGemm) {
  const Prepared done = with_biases(std::string("[p] a = MatMul(x, w) ") + kNext);
  EXPECT_EQ(node_named(done.model, "p").op_type(), "Gemm");
  EXPECT_EQ(bias_of(done), (Floats{1e-30F, 0}));
  EXPECT_EQ(node_named(done.model, "q").op_type(), "MatMul") << "no product follows it";
  ASSERT_EQ(done.notes.size(), 1U);
  EXPECT_EQ(done.notes[0].note.code, "biases-added");
}

TEST(BiasProducts, ABiasThatIsTheSameForAllChannelsIsAsGoodAsNone) {
  EXPECT_EQ(bias_of(with_biases(std::string("[p] a = Gemm(x, w, zeros) ") + kNext)), (Floats{1e-30F, 0}));
  EXPECT_EQ(bias_of(with_biases(std::string("[p] a = Gemm(x, w, even) ") + kNext)),
            (Floats{std::nextafter(5.0F, 0.0F), 5}));
  const Prepared add = with_biases(std::string("[p] c = MatMul(x, w) [add] a = Add(c, one) ") + kNext);
  EXPECT_EQ(floats_of(add.model, node_named(add.model, "add").input(1)), (Floats{std::nextafter(1.0F, 0.0F), 1}));
  EXPECT_EQ(node_named(add.model, "p").op_type(), "MatMul");
}

TEST(BiasProducts, OthersStayAsTheyAre) {
  const std::string product = "[p] a = MatMul(x, w) ";
  EXPECT_TRUE(bias_of(with_biases(product + kNext, "3,2", false)).empty()) << "not asked for";
  EXPECT_TRUE(bias_of(with_biases(product + kNext, "9,2")).empty()) << "nine rows";
  EXPECT_TRUE(bias_of(with_biases(product + kNext, "n,2")).empty()) << "an open number of rows";
  EXPECT_TRUE(bias_of(with_biases("[p] y = MatMul(x, w)")).empty()) << "nothing follows";
  EXPECT_TRUE(bias_of(with_biases(product + "[s] b = Softmax(a) [q] y = MatMul(b, v)")).empty())
      << "a Softmax lies between";
  EXPECT_EQ(bias_of(with_biases(std::string("[p] a = Gemm(x, w, k) ") + kNext)), (Floats{10, 20}));
  EXPECT_TRUE(bias_of(with_biases(std::string("[p] c = MatMul(x, w) [add] a = Add(k, c) ") + kNext)).empty());
}

}  // namespace
}  // namespace vernier::testing
