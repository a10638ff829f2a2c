#include "plan/typed_names.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "simulated_graph.h"

namespace vernier {
namespace {

using NameSet = std::set<std::string>;
using testing::parse_model;

NameSet all_outputs_of(const Model& model) {
  NameSet names;
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    names.insert(node.output().begin(), node.output().end());
  }
  return names;
}

/// The text language has no points in names.
Model dotted(Model model) {
  const auto point = [](std::string& name) {
    if (const std::size_t at = name.find("__"); at != std::string::npos) name.replace(at, 2, ".");
  };
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (std::string& name : *node.mutable_input()) point(name);
    for (std::string& name : *node.mutable_output()) point(name);
  }
  for (onnx::ValueInfoProto& output : *graph.mutable_output()) point(*output.mutable_name());
  return model;
}

TEST(TypedNames, AreThoseOfTheFloatModelWhereTheFileDoesNotUseThem) {
  Model model = dotted(parse_model(R"(
    g (float[4] x) => (float[4] y, float16[4] z__float16) {
      x__float16 = Cast <to = 10> (x)
      a__float16 = Relu (x__float16)
      b__bfloat16 = Neg (a__float16)
      c__float16 = Abs (b__bfloat16)
      c = Cast <to = 1> (c__float16)
      z__float16 = Neg (c__float16)
      y = Neg (c)
    })"));
  restore_tensor_names(model);
  EXPECT_EQ(all_outputs_of(model), (NameSet{"x.float16", "a", "b", "c.float16", "c", "z.float16", "y"}));
  EXPECT_EQ(model.proto.graph().node(2).input(0), "a") << "readers follow";
  EXPECT_EQ(tensors_of_typing(model), (NameSet{"x.float16", "c.float16"}));
}

TEST(TypedNames, CodesAndWhatTheyStandForAreOfTyping) {
  const Model model = parse_model(R"(
    g (float[4] x) => (float[4] y)
    <float s = {0.5}, int8 zero = {0}> {
      q = QuantizeLinear (x, s, zero)
      d = DequantizeLinear (q, s, zero)
      e = Relu (d)
      f = QuantizeLinear (e, s, zero)
      y = DequantizeLinear (f, s, zero)
    })");
  EXPECT_EQ(tensors_of_typing(model), (NameSet{"q", "d", "f"})) << "an output of the file is its own";
}

}  // namespace
}  // namespace vernier
