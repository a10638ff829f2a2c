// A model is a file or bytes, and both are read alike.
#include "vernier/onnx_model.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "model/model.h"
#include "model/raw_proto.h"
#include "model_text.h"
#include "vernier/error.h"

namespace vernier::testing {
namespace {

std::string message() {
  return whole_proto(model_of("g (float[1,2] x) => (float[1,2] y) { y = Relu(x) }")).SerializeAsString();
}

TEST(OnnxModel, PathsBecomeOneWithoutAWord) {
  const std::string text = "a.onnx";
  for (const OnnxModel& model : {OnnxModel("a.onnx"), OnnxModel(text), OnnxModel(std::filesystem::path(text))}) {
    EXPECT_EQ(model.file(), "a.onnx");
    EXPECT_EQ(model.name(), "a.onnx");
    EXPECT_FALSE(model.in_memory());
    EXPECT_EQ(model, OnnxModel(text));
  }
  EXPECT_TRUE(OnnxModel().empty());
  EXPECT_TRUE(OnnxModel("").empty());
}

TEST(OnnxModel, BytesAndAFileAreTheSameModel) {
  const TempFolder folder;
  const OnnxModel memory = OnnxModel::of_bytes(message(), "mine");
  memory.write(folder / "a.onnx");
  const Model read = read_model(memory);
  const Model from_file = read_model(folder / "a.onnx");
  EXPECT_EQ(read.sha256, from_file.sha256);
  EXPECT_EQ(read.proto.SerializeAsString(), from_file.proto.SerializeAsString());
  EXPECT_EQ(read.path, "mine");
  EXPECT_EQ(OnnxModel(folder / "a.onnx").bytes(), memory.bytes());
  EXPECT_EQ(read_raw_proto(memory).SerializeAsString(), message());
}

TEST(OnnxModel, AModelThatWasMadeHasAHashOfItsOwn) {
  Model made = read_model(OnnxModel::of_bytes(message()));
  made.sha256.clear();
  const OnnxModel result = OnnxModel::of_model(std::make_shared<const Model>(made), "result");
  EXPECT_EQ(read_model(result).sha256, read_model(OnnxModel::of_bytes(result.bytes())).sha256);
  EXPECT_EQ(read_model(result).path, "result");
}

TEST(OnnxModel, WhatIsWrongIsSaidByItsName) {
  const auto what = [](const OnnxModel& model) {
    try {
      read_model(model);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Input);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(what(OnnxModel::of_bytes("no model", "mine")), "mine: not an ONNX model, or a truncated one (8 bytes)");
  EXPECT_EQ(what(OnnxModel::of_bytes("{}", "mine")), "mine: JSON, not an ONNX model");
  EXPECT_EQ(what(OnnxModel::of_bytes("ftrt", "mine")), "mine: an engine of TensorRT, not an ONNX model");
  EXPECT_EQ(what(OnnxModel::of_bytes("", "mine")), "mine: not an ONNX model: it has no graph");
}

TEST(OnnxModel, ExternalDataNeedAFolder) {
  const TempFolder folder;
  const Model model = model_of("g (float[1,2] x) => (float[1,2] y) <float[1,2] w = {1.0, 2.0}> { y = Add(x, w) }");
  write_model(model, folder / "a.onnx", {{.wanted = true, .file = "a.data", .size_threshold = 0}});
  const std::string bytes = read_raw_proto(folder / "a.onnx").SerializeAsString();
  const Model found = read_model(OnnxModel::of_bytes(bytes, "mine", folder.path()));
  EXPECT_EQ(found.sha256, read_model(folder / "a.onnx").sha256);
  try {
    read_model(OnnxModel::of_bytes(bytes, "mine"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "mine: external data of tensor 'w': they are in 'a.data', and the model is in memory, which has no folder to "
        "look in");
  }
}

}  // namespace
}  // namespace vernier::testing
