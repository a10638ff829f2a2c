// Stages of a pipeline as people write them.
#include "jobs/eval/stages_file.h"

#include <gtest/gtest.h>

#include <optional>

#include "vernier/error.h"
#include "vernier/pipeline.h"

namespace vernier {
namespace {

std::string message_of(const std::string& text) {
  try {
    stages_from_text(text, "folder/p.yaml");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    EXPECT_NE(error.hint(), "");
    return error.what();
  }
  return "";
}

TEST(StagesFile, YamlAndJsonSayTheSame) {
  const std::string texts[] = {
      "# from the framework to the engine\nstages:\n  - name: float\n    file: model.onnx\n  - {name: 8, file: "
      "/int8.onnx}\n",
      "{\n\t\"stages\": [\n\t\t{\"name\": \"float\", \"file\": \"model.onnx\"},\n\t\t{\"name\": \"8\", \"file\": "
      "\"\\/int8.onnx\"}\n\t]\n}"};
  for (const std::string& text : texts) {
    const std::vector<Stage> stages = stages_from_text(text, "folder/p.yaml");
    ASSERT_EQ(stages.size(), 2U) << text;
    EXPECT_EQ(stages[0].name, "float");
    EXPECT_EQ(stages[0].file, "folder/model.onnx") << "seen from the file's folder";
    EXPECT_EQ(stages[1].name, "8");
    EXPECT_EQ(stages[1].file, "/int8.onnx");
  }
}

TEST(StagesFile, AStageMayRunOnAnEngine) {
  const auto stages = stages_from_text("stages: [{name: a, file: a.onnx}, {name: b, file: a.onnx, on: openvino}]", "p");
  EXPECT_EQ(stages.at(0).on, std::nullopt);
  EXPECT_EQ(stages.at(1).on, MeasureOn::OpenVino);
  EXPECT_EQ(message_of("stages:\n  - {name: a, file: a.onnx, on: tpu}\n"),
            "folder/p.yaml:2: stages[0]: \"on\" is one of onnxruntime, tensorrt, openvino");
}

TEST(StagesFile, ErrorsNameTheLine) {
  EXPECT_EQ(message_of("stages:\n  - {name: a, file: a.npz}\n  - {name: b}\n"),
            "folder/p.yaml:3: stages[1]: \"file\" is missing");
  EXPECT_EQ(message_of("stages:\n  - {name: [a], file: a.npz}\n"), "folder/p.yaml:2: stages[0]: \"name\" is missing");
  EXPECT_EQ(message_of("\nsteps: []\n"), "folder/p.yaml:2: has no list \"stages\"");
  EXPECT_EQ(message_of("stages: a"), "folder/p.yaml:1: has no list \"stages\"");
  EXPECT_NE(message_of(""), "");
  EXPECT_EQ(message_of("stages:\n  - name: a\n    file: a.npz\n    ouputs: x\n"),
            "folder/p.yaml:4: stages[0]: \"ouputs\" is not a field");
  EXPECT_EQ(message_of("stages: []\ndata: x.npz\n"), "folder/p.yaml:2: \"data\" is not a field");
  EXPECT_EQ(message_of("stages:\n  - name: [a\n").find("folder/p.yaml:3: is not YAML: "), 0U);
  EXPECT_NE(message_of(std::string(2 << 20, ' ')), "");
}

TEST(StagesFile, NestingHasAnEnd) { EXPECT_NE(message_of(std::string(100000, '[')), ""); }

}  // namespace
}  // namespace vernier
