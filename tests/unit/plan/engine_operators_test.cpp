// What published operator lists of engines say of nodes, by the restrictions that a file can break.
#include <gtest/gtest.h>

#include <string>

#include "plan/operators/operators.h"
#include "tiny_graph.h"
#include "vernier/target.h"

namespace vernier {
namespace {

struct Case {
  std::string inputs;
  std::string node;
  std::string why;  // empty: taken
  int opset = 17;
};

/// Why TensorRT does not take the one node of a graph with these inputs.
std::string refusal(const Case& c) {
  const Model model =
      testing::parse_model("g (" + c.inputs + ") => (y) <int64[1] one = {1}> { [node] y = " + c.node + " }", c.opset);
  const OperatorVerdict verdict =
      engine_operators(Target::TensorRt)->verdict(NodeSurroundings(model), testing::node_named(model, "node"));
  EXPECT_EQ(verdict.taken, verdict.why.empty());
  return verdict.why;
}

TEST(TensorRtOperators, KnowTheShapesThatTheyAskFor) {
  for (const Case& c : {
           Case{"float[2,3] x", "EyeLike(x)", ""},
           Case{"float[2,n] x", "EyeLike(x)", "the input must have a fixed shape"},
           Case{"float[1,2,3,3] x, float[1,4,4,2] g", "GridSample(x, g)", ""},
           Case{"float[1,2,3,3,3] x, float[1,4,4,4,3] g", "GridSample(x, g)", "the input must have 4 dimensions"},
           Case{"float[1,2,3,4] q", "Attention(q, q, q)", "", 23},
           Case{"float[1,3,8] q", "Attention <q_num_heads = 2, kv_num_heads = 2> (q, q, q)",
                "Q, K, V and attn_mask must have 4 dimensions", 23},
           Case{"float[1,2,3,4] q", "Attention <softcap = 0.5> (q, q, q)", "softcap is not supported", 23},
       }) {
    EXPECT_EQ(refusal(c), c.why) << c.node;
  }
}

TEST(TensorRtOperators, TakeAttentionOfTensorsThatInferenceKnowsNothingOf) {
  Model model =
      testing::parse_model("g (float[1,2,3,4] q) => (y) { [before] k = Relu(q) [node] y = Attention(q, k, k) }", 23);
  model.proto.mutable_graph()->mutable_node(0)->set_op_type("Unheard");
  model.proto.mutable_graph()->mutable_node(0)->set_domain("of");
  const NodeSurroundings around(model);
  ASSERT_FALSE(around.shape("k"));
  EXPECT_EQ(tensorrt_verdict(around, testing::node_named(model, "node")).why, "");
}

TEST(TensorRtOperators, WantConstantsWhereTheEngineIsBuiltWithThem) {
  for (const Case& c : {
           Case{"float[2,3] x", "ReduceSum(x, one)", ""},
           Case{"float[2,3] x, int64[1] axes", "ReduceSum(x, axes)", "axes must be a constant"},
           Case{"float[2,3] x", "CumSum(x, one)", ""},
           Case{"float[2,3] x, int64[1] axis", "CumSum(x, axis)", "axis must be a constant"},
           Case{"float[2,3] x, int64[1] axis", "Unsqueeze(x, axis)", "axes must be a constant"},
       }) {
    EXPECT_EQ(refusal(c), c.why) << c.node;
  }
}

TEST(TensorRtOperators, TakeTopKThatIsSorted) {
  for (const bool sorted : {true, false}) {
    const Model model =
        testing::parse_model("g (float[2,8] x) => (y, i) <int64[1] one = {1}> { [node] y, i = TopK <sorted = " +
                             std::string(sorted ? "1" : "0") + "> (x, one) }");
    EXPECT_EQ(tensorrt_verdict(NodeSurroundings(model), testing::node_named(model, "node")).why,
              sorted ? "" : "sorted must be 1");
  }
}

TEST(TensorRtOperators, TakeOnlyTheAttributesOfTheirList) {
  for (const Case& c : {
           Case{"float[4] x, int64[1,1] at, float[1] u", "ScatterND(x, at, u)", ""},
           Case{"float[4] x, int64[1,1] at, float[1] u", "ScatterND <reduction = \"add\"> (x, at, u)",
                "reduction must be none"},
           Case{"float[1,1,4,4] x, float[4] s", "Resize <antialias = 1, mode = \"linear\"> (x, , s)",
                "antialiasing is not supported", 18},
           Case{"float[1,1,4,4] x, float[4] s", "Resize <mode = \"cubic\"> (x, , s)", "mode cubic is not supported",
                18},
       }) {
    EXPECT_EQ(refusal(c), c.why) << c.node;
  }
}

}  // namespace
}  // namespace vernier
