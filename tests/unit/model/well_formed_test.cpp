// What a file must not contain, by the words that refuse it.
#include "model/well_formed.h"

#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include <string>

namespace vernier {
namespace {

onnx::ModelProto parsed(const std::string& graph) {
  onnx::ModelProto proto;
  const onnx::Common::Status status =
      onnx::OnnxParser::Parse(proto, ("<ir_version: 8, opset_import: [\"\" : 17]>\n" + graph).c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return proto;
}

std::string message_of(const std::string& graph) {
  const auto found = malformation_of(parsed(graph));
  return found ? found->message : "";
}

/// A Loop over `count` turns whose body makes its condition by `condition`.
std::string loop(const std::string& count, const std::string& condition) {
  return "g (float[1] x, int64 n, bool more) => (float[1] y) <int64 turns = {" + count + "}, bool yes = {1}> { " +
         "[loop] y = Loop(" + (count == "0" ? "n" : "turns") +
         ", yes, x) <body = b (int64 i, bool go, float[1] v) => " + "(bool on, float[1] w) { on = " + condition +
         " w = Relu(v) }> }";
}

TEST(WellFormed, LoopsEnd) {
  EXPECT_EQ(message_of(loop("1000", "Identity(go)")), "");
  EXPECT_EQ(message_of(loop("4611686018427387904", "Identity(go)")),
            "node 'loop' (Loop) takes 4611686018427387904 turns: it would not end");
  // As while loops are exported: the condition is computed, the count is the largest there is.
  EXPECT_EQ(message_of(loop("9223372036854775807", "Not(go)")), "");
  // A count that comes from outside.
  EXPECT_EQ(message_of(loop("0", "Identity(go)")), "");
}

TEST(WellFormed, NodesHaveWhatTheirOperatorNeeds) {
  onnx::ModelProto model = parsed("g (float[1] x) => (float[1] y) { [clip] y = Clip(x) }");
  EXPECT_FALSE(malformation_of(model));  // what is optional may be missing
  onnx::NodeProto& node = *model.mutable_graph()->mutable_node(0);
  node.set_op_type("Add");
  const auto found = malformation_of(model);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->message, "node 'clip' (Add) has 1 input, its operator needs 2");
  EXPECT_EQ(found->nodes, std::vector<std::string>{"clip"});
  node.set_domain("someone.else");
  EXPECT_FALSE(malformation_of(model));
}

TEST(WellFormed, FunctionsMayCallEachOtherButNotThemselves) {
  onnx::ModelProto model = parsed("g (float[1] x) => (float[1] y) { y = Relu(x) }");
  const auto add = [&](const std::string& name, const std::string& called, int times) {
    onnx::FunctionProto& function = *model.add_functions();
    function.set_domain("f");
    function.set_name(name);
    for (int i = 0; i < times; ++i) {
      onnx::NodeProto& node = *function.add_node();
      node.set_domain("f");
      node.set_op_type(called);
    }
  };
  onnx::NodeProto& call = *model.mutable_graph()->mutable_node(0);
  call.set_domain("f");
  call.set_op_type("f18");
  add("f0", "unknown", 1);
  for (int i = 1; i <= 18; ++i) add("f" + std::to_string(i), "f" + std::to_string(i - 1), 2);
  EXPECT_FALSE(malformation_of(model));
  add("f19", "f18", 3);
  call.set_op_type("f19");
  EXPECT_EQ(malformation_of(model)->message, "the model's functions unfold to more than 2000000 nodes");
  // A cycle that no call of the graph reaches is nobody's business.
  add("own", "own", 1);
  call.set_op_type("f3");
  EXPECT_FALSE(malformation_of(model));
  call.set_op_type("own");
  EXPECT_EQ(malformation_of(model)->message, "function 'own' calls itself");
}

}  // namespace
}  // namespace vernier
