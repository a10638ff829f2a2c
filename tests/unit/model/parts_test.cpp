#include "model/parts.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "model_text.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

std::vector<std::string> nodes_of(const ModelPart& part) {
  std::vector<std::string> names;
  for (const onnx::NodeProto& node : part.model.proto.graph().node()) names.push_back(node.name());
  return names;
}

template <class Values>
std::set<std::string> names_of(const Values& values) {
  std::set<std::string> names;
  for (const auto& value : values) names.insert(value.name());
  return names;
}

using Names = std::vector<std::string>;
using Set = std::set<std::string>;

TEST(Parts, EachReadsWhatPartsBeforeItMade) {
  const Model model = model_of(
      "g (float[2] x) => (float[2] y) <float[2] k = {1, 2}, float[2] l = {1, 2}> {"
      " [a] s = Add(x, k) [b] t = Neg(s) [c] u = Add(t, l) [d] y = Mul(u, s) }");
  const std::vector<ModelPart> parts = parts_of(model, 2);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(nodes_of(parts[0]), (Names{"a", "b"}));
  EXPECT_EQ(nodes_of(parts[1]), (Names{"c", "d"}));
  const onnx::GraphProto& first = parts[0].model.proto.graph();
  const onnx::GraphProto& second = parts[1].model.proto.graph();
  EXPECT_EQ(names_of(first.input()), Set{"x"});
  EXPECT_EQ(names_of(first.output()), (Set{"s", "t"}));
  EXPECT_EQ(names_of(second.input()), (Set{"s", "t"}));
  EXPECT_EQ(names_of(second.output()), Set{"y"});
  EXPECT_EQ(names_of(first.initializer()), Set{"k"});
  EXPECT_EQ(names_of(second.initializer()), Set{"l"});
  EXPECT_EQ(parts[0].last_reads, Names{"x"});
  EXPECT_EQ(Set(parts[1].last_reads.begin(), parts[1].last_reads.end()), (Set{"s", "t"}));
}

TEST(Parts, HoldFewWeights) {
  Model model = model_of(
      "g (float[2] x) => (float[2] y) <float[2] k = {1, 2}, float[2] l = {1, 2}, float[2] m = {1, 2}> { [a] s = Add(x, "
      "k) "
      "[b] t = Add(s, k) [c] u = Add(t, l) [d] v = Neg(u) [e] y = Add(v, m) }");
  for (const char* name : {"k", "l", "m"}) model.weights[name] = Tensor(Dtype::Float32, {2});  // eight bytes
  const auto cut = [&](std::size_t nodes, std::size_t bytes) {
    std::vector<Names> all;
    for (const ModelPart& part : parts_of(model, nodes, bytes)) all.push_back(nodes_of(part));
    return all;
  };
  EXPECT_EQ(cut(9, 24), (std::vector<Names>{{"a", "b", "c", "d", "e"}}));
  EXPECT_EQ(cut(9, 16), (std::vector<Names>{{"a", "b", "c", "d"}, {"e"}}));
  EXPECT_EQ(cut(9, 8), (std::vector<Names>{{"a", "b"}, {"c", "d"}, {"e"}})) << "one that reads k twice has it once";
  EXPECT_EQ(cut(9, 1), (std::vector<Names>{{"a", "b"}, {"c", "d"}, {"e"}})) << "one weight is not cut";
  EXPECT_EQ(cut(2, 24), (std::vector<Names>{{"a", "b"}, {"c", "d"}, {"e"}}));
}

TEST(Parts, BeginWhereTheyAreAskedTo) {
  const Model model =
      model_of("g (float[2] x) => (float[2] y) { [a] s = Neg(x) [b] t = Abs(s) [c] u = Neg(s) [d] y = Mul(u, t) }");
  const std::vector<ModelPart> parts = parts_at(model, {0, 1, 3});
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(nodes_of(parts[0]), Names{"a"});
  EXPECT_EQ(nodes_of(parts[1]), (Names{"b", "c"})) << "in the order of the graph";
  EXPECT_EQ(nodes_of(parts[2]), Names{"d"});
  EXPECT_EQ(parts[1].last_reads, Names{"s"});
  EXPECT_EQ(parts_at(model, {0}).size(), 1U);
}

TEST(Parts, WhatTheGraphTellsOfTensorsStandsInThePartsThatBeginWithThemToo) {
  const Model model =
      model_of("g (float[2] x) => (float[2] y) <float[n] s, float[n] t> { s = Neg(x) t = Abs(s) y = Neg(t) }");
  const std::vector<ModelPart> parts = parts_at(model, {0, 1});
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(names_of(parts[0].model.proto.graph().value_info()), Set{}) << "s is an output there";
  EXPECT_EQ(names_of(parts[1].model.proto.graph().value_info()), Set{"t"});
  const onnx::ValueInfoProto& start = parts[1].model.proto.graph().input(0);
  EXPECT_EQ(start.name(), "s");
  ASSERT_EQ(start.type().tensor_type().shape().dim_size(), 1);
  EXPECT_EQ(start.type().tensor_type().shape().dim(0).dim_param(), "n");
}

TEST(Parts, AMeasuringNodeAtTheEndOfTheGraphComesToWhatItMeasures) {
  const Model model = model_of(
      "g (float[2] x) => (float[2] y) {"
      " [a] r = Neg(x) [b] t = Abs(s) [c] y = Neg(t) [look] s = Identity(r) }");
  EXPECT_EQ(nodes_of(parts_of(model, 3).front()), (Names{"a", "look", "b"}));
}

TEST(Parts, WhatABodyReadsIsHandedOn) {
  const Model model = model_of(
      "g (float[2] x, bool c) => (float[2] y) <float[2] k = {1, 2}> {"
      " [a] s = Neg(x) [b] t = Neg(s)"
      " [if] y = If(c) <then_branch = yes () => (float[2] p) { p = Add(s, k) },"
      " else_branch = no () => (float[2] q) { q = Neg(t) }> }");
  const std::vector<ModelPart> parts = parts_of(model, 2);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(names_of(parts[1].model.proto.graph().input()), (Set{"c", "s", "t"}));
  EXPECT_EQ(names_of(parts[1].model.proto.graph().initializer()), Set{"k"});
}

TEST(Parts, WhatIsHandedOutAsItCameInComesWithTheFirst) {
  const Model model = model_of(
      "g (float[2] x) => (float[2] x, float[2] k, float[2] y) <float[2] k = {1, 2}> {"
      " [a] s = Neg(x) [b] y = Abs(s) }");
  const std::vector<ModelPart> parts = parts_of(model, 1);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(names_of(parts[0].model.proto.graph().output()), (Set{"x", "k", "s"}));
  EXPECT_EQ(names_of(parts[1].model.proto.graph().output()), Set{"y"});
}

TEST(Parts, SmallModelsAndSequencesStayWhole) {
  const Model small = model_of("g (float[2] x) => (float[2] y) { s = Neg(x) y = Abs(s) }");
  EXPECT_EQ(parts_of(small, 2).size(), 1U);
  const Model sequence = model_of(
      "g (float[2] x) => (float[2] y) <int64 one = {0}> {"
      " s = SequenceConstruct(x, x) y = SequenceAt(s, one) }");
  EXPECT_EQ(parts_of(sequence, 1).size(), 1U);
}

}  // namespace
}  // namespace vernier::testing
