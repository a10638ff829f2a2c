#include "model/notes.h"

#include <gtest/gtest.h>

#include <string>

#include "model/model.h"
#include "model_text.h"

namespace vernier::testing {
namespace {

void say(onnx::StringStringEntryProto& entry, const std::string& key, const std::string& value) {
  entry.set_key(key);
  entry.set_value(value);
}

onnx::ModelProto with_notes(std::size_t bytes) {
  onnx::ModelProto proto =
      parse(R"(<ir_version: 8, opset_import: ["" : 13]> g (float[4] x) => (float[4] y) { y = Relu(x) })");
  proto.set_doc_string("of the model");
  say(*proto.add_metadata_props(), "author", std::string(bytes, 'a'));
  proto.mutable_graph()->set_doc_string("of the graph");
  onnx::NodeProto& node = *proto.mutable_graph()->mutable_node(0);
  node.set_name("relu");
  node.set_doc_string(std::string(bytes, 'n'));
  say(*node.add_metadata_props(), "source", "line 7");
  return proto;
}

TEST(Notes, MuchOfThemStandsBesideTheModelAndIsWrittenAgain) {
  const onnx::ModelProto proto = with_notes(100000);
  const Model model = adopt_model(proto);
  ASSERT_TRUE(model.notes);
  EXPECT_LT(model.proto.ByteSizeLong(), 1000U);
  const onnx::ModelProto whole = whole_proto(model);
  EXPECT_EQ(whole.doc_string(), "of the model");
  EXPECT_EQ(whole.metadata_props(0).value(), proto.metadata_props(0).value());
  EXPECT_EQ(whole.graph().doc_string(), "of the graph");
  EXPECT_EQ(whole.graph().node(0).doc_string(), proto.graph().node(0).doc_string());
  EXPECT_EQ(whole.graph().node(0).metadata_props(0).value(), "line 7");
}

TEST(Notes, WhatIsSaidMeanwhileStays) {
  Model model = adopt_model(with_notes(100000));
  say(*model.proto.add_metadata_props(), "author", "vernier");
  model.proto.mutable_graph()->mutable_node(0)->set_name("other");
  const onnx::ModelProto whole = whole_proto(model);
  ASSERT_EQ(whole.metadata_props_size(), 1);
  EXPECT_EQ(whole.metadata_props(0).value(), "vernier");
  EXPECT_EQ(whole.graph().node(0).doc_string(), "");
}

TEST(Notes, FewStayWhereTheyAre) {
  const Model model = adopt_model(with_notes(100));
  EXPECT_FALSE(model.notes);
  EXPECT_EQ(model.proto.doc_string(), "of the model");
}

}  // namespace
}  // namespace vernier::testing
