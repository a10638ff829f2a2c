// Factors behind products of matrices, taken into the weights for OpenVINO.
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

using Names = std::vector<std::string>;
using Floats = std::vector<float>;

Prepared with_factors_folded(const std::string& nodes, const std::string& more = "", bool asked = true,
                             const char* rows = "3,2") {
  PrepareOptions options;
  options.formats = {Format::Int8};
  options.openvino_products = asked;
  return prepare(model_of(R"(<ir_version: 8, opset_import: ["" : 13]> g (float[)" + std::string(rows) +
                          "] x) => (float[a,b] y) <float[2,2] w = {1, 2, 3, 4}, float[2] k = {10, 20}, "
                          "float half = {0.5}, float[2] v = {2, -4}" +
                          more + "> { " + nodes + " }"),
                 options, [](const Model&, const Sample&) -> std::vector<Tensor> {
                   throw std::logic_error("nothing to evaluate here");
                 });
}

TEST(FoldFactors, AlphaOfAGemm) {
  const Prepared done = with_factors_folded("[g] y = Gemm <alpha = 0.5, beta = 2.0> (x, w, k)");
  EXPECT_EQ(floats_of(done.model, "w"), (Floats{0.5, 1, 1.5, 2}));
  EXPECT_EQ(floats_of(done.model, "k"), (Floats{10, 20})) << "alpha does not reach the bias";
  EXPECT_EQ(find_attribute(node_named(done.model, "g"), "alpha")->f(), 1);
  EXPECT_EQ(find_attribute(node_named(done.model, "g"), "beta")->f(), 2);
  EXPECT_FALSE(done.unchanged);
  ASSERT_EQ(done.notes.size(), 1U);
  EXPECT_EQ(done.notes[0].note.code, "factors-folded");
}

TEST(FoldFactors, MulAndDivBehindAProduct) {
  const Prepared mul = with_factors_folded("[m] a = MatMul(x, w) [f] b = Mul(half, a) [add] y = Add(b, k)");
  EXPECT_EQ(node_names(mul.model), (Names{"m", "add"}));
  EXPECT_EQ(node_named(mul.model, "m").output(0), "b");
  EXPECT_EQ(floats_of(mul.model, "w"), (Floats{0.5, 1, 1.5, 2}));
  EXPECT_EQ(floats_of(mul.model, "k"), (Floats{10, 20}));
  const Prepared div = with_factors_folded("[m] a = MatMul(x, w) [f] y = Div(a, half)");
  EXPECT_EQ(node_names(div.model), Names{"m"});
  EXPECT_EQ(floats_of(div.model, "w"), (Floats{2, 4, 6, 8}));
}

TEST(FoldFactors, AFactorForEachChannelAndABiasBetween) {
  const Prepared add = with_factors_folded("[m] a = MatMul(x, w) [add] b = Add(a, k) [f] y = Mul(b, v)");
  EXPECT_EQ(node_names(add.model), (Names{"m", "add"}));
  EXPECT_EQ(floats_of(add.model, "w"), (Floats{2, -8, 6, -16}));
  EXPECT_EQ(floats_of(add.model, "k"), (Floats{20, -80}));
  const Prepared gemm = with_factors_folded("[g] b = Gemm <transB = 1, alpha = 0.5> (x, w, k) [f] y = Mul(b, v)");
  EXPECT_EQ(node_names(gemm.model), Names{"g"});
  EXPECT_EQ(floats_of(gemm.model, "w"), (Floats{1, 2, -6, -8}));
  EXPECT_EQ(floats_of(gemm.model, "k"), (Floats{20, -80}));
}

TEST(FoldFactors, AWeightThatOthersReadIsCopied) {
  const Prepared done =
      with_factors_folded("[m] a = MatMul(x, w) [f] b = Mul(a, half) [n] c = MatMul(x, w) [add] y = Add(b, c)");
  EXPECT_EQ(node_names(done.model), (Names{"m", "n", "add"}));
  EXPECT_EQ(floats_of(done.model, "w"), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(floats_of(done.model, node_named(done.model, "m").input(1)), (Floats{0.5, 1, 1.5, 2}));
}

TEST(FoldFactors, LeavesWhatItCannotFold) {
  const auto stays = [](const std::string& nodes, const std::string& more = "", const char* rows = "3,2") {
    const Prepared done = with_factors_folded("[m] a = MatMul(x, w) " + nodes, more, true, rows);
    return node_names(done.model).size() > 1 && floats_of(done.model, "w") == Floats{1, 2, 3, 4};
  };
  EXPECT_TRUE(stays("[f] b = Mul(a, half) [add] y = Add(a, b)")) << "somebody else reads the product";
  EXPECT_TRUE(stays("[r] b = Relu(a) [f] y = Mul(b, half)")) << "a Relu lies between";
  EXPECT_TRUE(stays("[f] y = Div(half, a)")) << "the product divides";
  EXPECT_TRUE(stays("[f] y = Mul(a, none)", ", float none = {0}")) << "nothing would be left";
  EXPECT_TRUE(stays("[f] y = Mul(a, large)", ", float large = {3e38}")) << "weights would overflow";
  EXPECT_TRUE(stays("[f] y = Mul(a, rows)", ", float[3,1] rows = {1, 2, 3}")) << "a factor for each row";
  EXPECT_TRUE(stays("[f] y = Mul(a, half)", "", "1,3,2")) << "rank 3: OpenVINO computes it right";
  EXPECT_EQ(node_names(with_factors_folded("[m] a = MatMul(x, w) [f] y = Mul(a, half)", "", false).model),
            (Names{"m", "f"}));
}

}  // namespace
}  // namespace vernier::testing
