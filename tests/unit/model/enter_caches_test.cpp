// KV caches get a node for what they hold, in each form that exporters write.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "model/layers.h"
#include "model_text.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

Model entered(const std::string& graph, int opset = 24) {
  PrepareOptions options;
  options.enter_caches = true;
  return prepare(model_of("<ir_version: 10, opset_import: [\"\" : " + std::to_string(opset) +
                          ", \"com.microsoft\" : 1]> g " + graph),
                 options,
                 [](const Model&, const Sample&) -> std::vector<Tensor> {
                   throw std::logic_error("nothing to evaluate here");
                 })
      .model;
}

std::vector<std::string> caches_of(const Model& model) {
  std::vector<std::string> names;
  for (const Layer& layer : find_layers(model)) {
    if (layer.cache) names.push_back(layer.name + " " + layer.op_type);
  }
  return names;
}

TEST(EnterCaches, BehindAConcat) {
  const Model model = entered(
      "(float[1,2,p,8] past, float[1,2,1,8] k, float[1,2,1,8] q) => "
      "(float[1,2,t,8] present, float[1,2,t,1] s) "
      "{ [join] present = Concat <axis = 2> (past, k) [r] a = Relu (q) "
      "[t] b = Transpose <perm = [0, 1, 3, 2]> (a) [mm] s = MatMul(present, b) }");
  EXPECT_EQ(caches_of(model), std::vector<std::string>{"present KvCache"});
  EXPECT_EQ(node_named(model, "present").op_type(), "Sum");
  EXPECT_EQ(node_named(model, "present").output(0), "present");
  EXPECT_EQ(node_named(model, "mm").input(0), "present");
}

TEST(EnterCaches, BehindATensorScatter) {
  const Model model = entered(
      "(float[1,2,16,8] past, float[1,2,1,8] k, int64[1] at) => (float[1,2,16,8] present) "
      "{ [join] present = TensorScatter <axis = 2> (past, k, at) }");
  EXPECT_EQ(caches_of(model), std::vector<std::string>{"present KvCache"});
}

constexpr const char* kAttention =
    "(float[1,2,1,8] q, float[1,2,1,8] k, float[1,2,1,8] v, float[1,2,p,8] pk, float[1,2,p,8] pv) => "
    "(float[1,2,1,8] y, float[1,2,t,8] nk, float[1,2,t,8] nv) { [attend] y, nk, nv = Attention";

TEST(EnterCaches, InFrontOfAnAttention) {
  const Model model = entered(std::string(kAttention) + "(q, k, v, , pk, pv) }");
  EXPECT_EQ(caches_of(model), (std::vector<std::string>{"nk KvCache", "nv KvCache"}));
  const onnx::NodeProto& attend = node_named(model, "attend");
  EXPECT_EQ(attend.input_size(), 3);
  EXPECT_EQ(attend.input(1), "nk");
  EXPECT_EQ(attend.output_size(), 1);
}

/// Its mask begins behind what is past: it has to know which keys are.
TEST(EnterCaches, ACausalAttentionKeepsBothParts) {
  const Model model = entered(std::string(kAttention) + " <is_causal = 1> (q, k, v, , pk, pv) }");
  EXPECT_EQ(caches_of(model), (std::vector<std::string>{"nk KvCache", "nv KvCache"}));
  EXPECT_EQ(node_named(model, "attend").input(1), "nk/new");
  EXPECT_EQ(node_named(model, "attend").input(4), "nk/past");
}

/// Keys and values of rank 3 get their heads, and lose them again.
constexpr const char* kRows =
    "(float[1,1,8] q, float[1,1,8] k, float[1,1,8] v, float[1,2,5,4] pk, float[1,2,5,4] pv, int32[1] lengths, "
    "int32 total, float[16,2] cosines, float[16,2] sines, float[24] bias) => "
    "(float[1,1,8] y, float[1,2,6,4] nk, float[1,2,6,4] nv) { [attend] y, nk, nv = ";

void expect_in_front(const Model& model, int past) {
  EXPECT_EQ(caches_of(model), (std::vector<std::string>{"nk KvCache", "nv KvCache"}));
  EXPECT_EQ(node_named(model, "nk/joined").input(1), "nk/new_heads");
  const onnx::NodeProto& attend = node_named(model, "attend");
  EXPECT_EQ(attend.input(1), "nk/new/joined_heads");
  EXPECT_EQ(attend.input(past), "nk/past");
  EXPECT_EQ(attend.input(past + 1), "nv/past");
}

TEST(EnterCaches, InFrontOfAnAttentionOfRank3) {
  expect_in_front(entered(std::string(kRows) + "Attention <q_num_heads = 2, kv_num_heads = 2> (q, k, v, , pk, pv) }"),
                  4);
}

// How much of its cache counts stands in other inputs.
TEST(EnterCaches, GroupedQueriesStay) {
  EXPECT_TRUE(
      caches_of(entered(std::string(kRows) + "com.microsoft.GroupQueryAttention <num_heads = 2, kv_num_heads = 2> "
                                             "(q, k, v, pk, pv, lengths, total) }"))
          .empty());
}

TEST(EnterCaches, InFrontOfMultiHeadAttention) {
  const std::string attend = "com.microsoft.MultiHeadAttention <num_heads = 2> ";
  expect_in_front(entered(std::string(kRows) + attend + "(q, k, v, , , , pk, pv) }"), 6);
  EXPECT_TRUE(caches_of(entered(std::string(kRows) + attend + "(q, k, v, bias, , , pk, pv) }")).empty())
      << "keys have their bias in the cache";
}

TEST(EnterCaches, NothingElse) {
  EXPECT_TRUE(caches_of(entered("(float[1,2,p,8] past, float[1,2,1,8] k) => (float[1,2,t,8] y) "
                                "{ [join] j = Concat <axis = 2> (past, k) [r] y = Relu(j) }"))
                  .empty())
      << "no output";
  EXPECT_TRUE(caches_of(entered("(float[1,2,1,8] k) => (float[1,2,2,8] y) "
                                "{ [r] j = Relu(k) [join] y = Concat <axis = 2> (j, k) }"))
                  .empty())
      << "no past";
}

}  // namespace
}  // namespace vernier::testing
