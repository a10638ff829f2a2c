#include "model/operator_traits.h"

#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/graph_walk.h"
#include "model_text.h"

namespace vernier::testing {
namespace {

const onnx::OpSchema* newest_schema(std::string_view op_type) {
  return onnx::OpSchemaRegistry::Schema(std::string(op_type), "");
}

/// Rows of operators that ONNX itself has today, with their schemas.
std::vector<std::pair<OperatorRow, const onnx::OpSchema*>> rows_of_onnx() {
  std::vector<std::pair<OperatorRow, const onnx::OpSchema*>> rows;
  for (const OperatorRow& row : operator_table()) {
    if (row.domain.empty() && !row.removed) rows.emplace_back(row, newest_schema(row.op_type));
  }
  return rows;
}

std::string output_type(const onnx::OpSchema& schema, std::size_t index = 0) {
  return schema.outputs().at(index).GetTypeStr();
}
std::string input_type(const onnx::OpSchema& schema, std::size_t index = 0) {
  return schema.inputs().at(index).GetTypeStr();
}

TEST(OperatorTable, NamesOperatorsThatExistOnce) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const OperatorRow& row : operator_table()) {
    EXPECT_TRUE(seen.insert({row.op_type, row.domain}).second) << row.op_type << " has two rows";
    EXPECT_NE(row.traits, Traits()) << row.op_type;
    EXPECT_EQ(traits_of(row.op_type, row.domain), row.traits) << row.op_type;
    if (row.domain.empty()) {
      EXPECT_EQ(newest_schema(row.op_type) == nullptr, row.removed) << row.op_type;
    }
  }
}

TEST(OperatorTable, WhatMovesOrSelectsGivesTheTypeOfItsFirstInput) {
  for (const auto& [row, schema] : rows_of_onnx()) {
    if (row.traits.any(kFollows)) {
      EXPECT_EQ(output_type(*schema), input_type(*schema)) << row.op_type;
    }
  }
}

TEST(OperatorTable, WhatStaysOnAGridGivesATypeThatItReads) {
  for (const auto& [row, schema] : rows_of_onnx()) {
    if (!row.traits.any(Trait::StaysOnGrid)) continue;
    const auto& inputs = schema->inputs();
    EXPECT_TRUE(std::any_of(inputs.begin(), inputs.end(), [type = output_type(*schema)](const auto& input) {
      return input.GetTypeStr() == type;
    })) << row.op_type;
  }
}

TEST(OperatorTable, ElementwiseOperatorsHaveOneResultAndNoAxis) {
  for (const auto& [row, schema] : rows_of_onnx()) {
    if (!row.traits.any(Trait::Elementwise)) continue;
    EXPECT_EQ(schema->outputs().size(), 1U) << row.op_type;
    // Axes of broadcasting belong to opset 6 and before; those of today are none.
    EXPECT_FALSE(schema->attributes().contains("axis")) << row.op_type;
    EXPECT_FALSE(schema->attributes().contains("axes")) << row.op_type;
  }
}

TEST(OperatorTable, OnlyOperatorsWithOneDataInputAreByChannel) {
  for (const auto& [row, schema] : rows_of_onnx()) {
    if (row.traits.any(Trait::ByChannel)) {
      EXPECT_EQ(schema->inputs().size(), 1U) << row.op_type;
    }
  }
}

TEST(OperatorTable, WeightedOperatorsReadTheirWeightSecond) {
  for (const auto& [row, schema] : rows_of_onnx()) {
    if (row.traits.any(Trait::Convolves)) {
      EXPECT_TRUE(row.traits.any(Trait::Weighted)) << row.op_type;
    }
    if (!row.traits.any(Trait::Weighted)) continue;
    ASSERT_GE(schema->inputs().size(), 2U) << row.op_type;
    EXPECT_EQ(input_type(*schema, 1), input_type(*schema)) << row.op_type;
  }
}

TEST(OperatorTable, PlacesAreIndices) {
  for (const auto& [row, schema] : rows_of_onnx()) {
    if (!row.traits.any(Trait::GivesPlaces)) continue;
    const std::string type = output_type(*schema, row.traits.any(Trait::Selects) ? 1 : 0);
    EXPECT_TRUE(type == "tensor(int64)" || type == "I") << row.op_type << ": " << type;
  }
}

TEST(OperatorTable, OperatorsOnCodesReadNoFloat) {
  for (const auto& [row, schema] : rows_of_onnx()) {
    if (!row.traits.any(Trait::ComputesOnCodes)) continue;
    EXPECT_FALSE(schema->inputs().at(0).GetTypes().contains(onnx::Utils::DataTypeUtils::ToType("tensor(float)")))
        << row.op_type;
  }
}

TEST(OperatorTable, RandomOperatorsAreThoseWithASeed) {
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas()) {
    if (!schema.domain().empty()) continue;
    // A Dropout has one to train with; then it moves no values either.
    const bool seeded = schema.attributes().contains("seed") && schema.Name() != "Dropout";
    EXPECT_EQ(traits_of(schema.Name()).any(Trait::Random), seeded) << schema.Name();
  }
}

TEST(TraitsOf, KnowsBothSpellingsOfTheDomainAndNoOther) {
  onnx::NodeProto node;
  node.set_op_type("Relu");
  EXPECT_TRUE(has(node, Trait::Clips));
  EXPECT_TRUE(is_onnx(node, "Relu"));
  EXPECT_FALSE(is_onnx(node, "Clip"));
  node.set_domain("ai.onnx");
  EXPECT_TRUE(has(node, Trait::Clips));
  EXPECT_TRUE(is_onnx(node, "Relu"));
  node.set_domain("somebody.else");
  EXPECT_EQ(traits_of(node), Traits());
  EXPECT_FALSE(of_onnx(node));
  EXPECT_FALSE(is_onnx(node, "Relu"));
  EXPECT_TRUE(traits_of("QLinearAdd", "com.microsoft").any(Trait::ComputesOnCodes));
  EXPECT_EQ(traits_of("QLinearAdd"), Traits());
}

TEST(GraphWalk, UsesLookBehindWhateverMovesValues) {
  const Model model = model_of(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2,4] x, int64[1,4] i) => (float[a,b] y, float[c,d] z) {
      s, t = Split <axis = 0> (x) [near] y = Relu(s) g = GatherElements(t, i) [far] z = Neg(g) })");
  const GraphWalk walk(model);
  const auto uses = walk.uses("x");
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(uses[0].node->name(), "near");
  EXPECT_EQ(uses[0].tensor, "s");
  EXPECT_EQ(uses[1].node->name(), "far");
  EXPECT_EQ(uses[1].tensor, "g");
}

}  // namespace
}  // namespace vernier::testing
