#include "plan/selection.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tiny_graph.h"
#include "vernier/error.h"
#include "vernier/quantization.h"

namespace vernier {
namespace {

using testing::parse_model;

constexpr const char* kSelectionChain = R"(g (float[1,2] x) => (float[1,2] y, float[1,2] z)
  <float[2,2] w = {1, 2, 3, 4}> {
    [body_0_fc] a = MatMul(x, w)
    [body_1_fc] b = MatMul(a, w)
    [head_fc] y = MatMul(b, w)
    [side] z = Relu(a)
  })";

std::vector<std::string> selected(const LayerSelection& wanted) {
  const Model model = parse_model(kSelectionChain);
  const std::vector<Layer> layers = find_layers(model);
  const Selection selection(model, layers, wanted);
  std::vector<std::string> names;
  for (const Layer& layer : layers) {
    if (selection.why_not(layer).empty()) names.push_back(layer.name);
  }
  return names;
}

using Names = std::vector<std::string>;

LayerSelection only(Names LayerSelection::*list, Names values) {
  LayerSelection selection;
  selection.*list = std::move(values);
  return selection;
}

TEST(Selection, NothingGivenSelectsAll) { EXPECT_EQ(selected({}).size(), 4U); }

TEST(Selection, ByOperatorType) {
  EXPECT_EQ(selected(only(&LayerSelection::op_types, {"Relu"})), Names{"side"});
  EXPECT_EQ(selected(only(&LayerSelection::excluded_op_types, {"MatMul"})), Names{"side"});
}

TEST(Selection, ByNameWildcardAndRegularExpression) {
  EXPECT_EQ(selected(only(&LayerSelection::nodes, {"head_fc"})), Names{"head_fc"});
  EXPECT_EQ(selected(only(&LayerSelection::nodes, {"body_*"})), (Names{"body_0_fc", "body_1_fc"}));
  EXPECT_EQ(selected(only(&LayerSelection::nodes, {R"(/^(body_1|head)_fc$/)"})), (Names{"body_1_fc", "head_fc"}));
  EXPECT_EQ(selected(only(&LayerSelection::excluded_nodes, {"/fc/"})), Names{"side"});
}

TEST(Selection, BySubgraph) {
  EXPECT_EQ(selected(only(&LayerSelection::subgraphs, {"a:y"})), (Names{"body_1_fc", "head_fc"}));
  EXPECT_EQ(selected(only(&LayerSelection::subgraphs, {":b"})), (Names{"body_0_fc", "body_1_fc"}));
  EXPECT_EQ(selected(only(&LayerSelection::subgraphs, {"b:"})), Names{"head_fc"});
  EXPECT_EQ(selected(only(&LayerSelection::subgraphs, {"a:z", "b:y"})), (Names{"head_fc", "side"}));
}

std::string refusal(const LayerSelection& wanted) {
  try {
    selected(wanted);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Usage);
    return error.what();
  }
  return {};
}

TEST(Selection, PassesOverOperatorsThatOtherNetworksHave) {
  EXPECT_EQ(selected(only(&LayerSelection::op_types, {"Relu", "Concat"})),
            selected(only(&LayerSelection::op_types, {"Relu"})));
  EXPECT_EQ(refusal(only(&LayerSelection::excluded_op_types, {"Concat"})), "");
}

TEST(Selection, RefusesWhatTheModelDoesNotHave) {
  EXPECT_EQ(refusal(only(&LayerSelection::nodes, {"haed_fc"})), "‹nodes-to-quantize›: no layer is named 'haed_fc'");
  EXPECT_EQ(refusal(only(&LayerSelection::op_types, {"Conv"})),
            "‹op-types-to-quantize›: no layer's operator is named 'Conv'");
  EXPECT_EQ(refusal(only(&LayerSelection::op_types, {"Relu", "Cnov"})),
            "‹op-types-to-quantize›: no layer's operator is named 'Cnov'");
  EXPECT_EQ(refusal(only(&LayerSelection::excluded_op_types, {"Cnov"})),
            "‹op-types-to-exclude›: no layer's operator is named 'Cnov'");
  EXPECT_EQ(refusal(only(&LayerSelection::excluded_nodes, {"/(/"})),
            "‹nodes-to-exclude› /(/: not a regular expression");
  EXPECT_EQ(refusal(only(&LayerSelection::subgraphs, {"a:nowhere"})),
            "‹subgraph› a:nowhere: the graph has no tensor 'nowhere'");
  EXPECT_EQ(refusal(only(&LayerSelection::subgraphs, {"a"})), "‹subgraph› a: no ':' between inputs and outputs");
}

}  // namespace
}  // namespace vernier
