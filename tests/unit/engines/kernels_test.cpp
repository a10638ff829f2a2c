#include "engines/hosts/kernels.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "temp_files.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using Names = std::vector<std::string>;

// As TensorRT-RTX prints a kernel, with names that hold what separates the fields.
const std::string kLine =
    "Name: conv[0], {1}_myl0_2, LayerType: correlation, Inputs: [ { Name: x, y, Dimensions: [1,3,8,8], Strides: "
    "[192,64,8,1], StrideOrder: [3,2,1,0], Datatype: Int8, Format: (NHWC) Channel major format }, { Name: z, "
    "Dimensions: "
    "[1], Strides: [1], StrideOrder: [0], Datatype: Float, Format: (Linear) Row major linear format }], Constants: [ { "
    "Name: w, Dimensions: [4], Strides: [1], StrideOrder: [0], Datatype: Int8, Format: (Linear) Row major linear "
    "format "
    "}], Outputs: [ { Name: out, Dimensions: [1,4,8,8], Strides: [1], StrideOrder: [0], Datatype: Half, Format: "
    "(Linear) "
    "Row major linear format }], TacticName: stub_0x1, StreamId: 0, Metadata: [ONNX Layer: conv[0], {1}][ONNX Layer: "
    "a/b][ONNX Layer: a/b]";

TEST(Kernels, FromPrintedLines) {
  const auto kernels = kernels_from_lines("Layers:\n" + kLine + "\nsomething else\n");
  ASSERT_EQ(kernels.size(), 1U);
  const EngineKernel& kernel = kernels.front();
  EXPECT_EQ(kernel.name, "conv[0], {1}_myl0_2");
  EXPECT_EQ(kernel.kind, "correlation");
  EXPECT_EQ(kernel.tactic, "stub_0x1");
  ASSERT_EQ(kernel.inputs.size(), 2U);
  EXPECT_EQ(kernel.inputs[0].name, "x, y");
  EXPECT_EQ(kernel.inputs[0].type, "int8");
  EXPECT_EQ(kernel.inputs[0].layout, "(NHWC) Channel major format");
  EXPECT_EQ(kernel.inputs[1].type, "float32");
  ASSERT_EQ(kernel.constants.size(), 1U);
  EXPECT_EQ(kernel.constants[0].name, "w");
  ASSERT_EQ(kernel.outputs.size(), 1U);
  EXPECT_EQ(kernel.outputs[0].type, "float16");
  EXPECT_EQ(kernel.nodes, (Names{"conv[0], {1}", "a/b"})) << "each once";
}

TEST(Kernels, LinesWithoutConstantsOrMetadata) {
  const auto kernels = kernels_from_lines(
      "Name: a, LayerType: kgen, Inputs: [], Outputs: [ { Name: o, Dimensions: [1], Datatype: FP8, Format: f }], "
      "TacticName: t, StreamId: 0");
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_TRUE(kernels[0].inputs.empty());
  EXPECT_EQ(kernels[0].outputs.at(0).type, "float8");
  EXPECT_TRUE(kernels[0].nodes.empty());
}

TEST(Kernels, WhereStreamsWaitThereIsNone) {
  EXPECT_TRUE(
      kernels_from_lines("Name: s, LayerType: signal, Inputs: []\nName: w, LayerType: wait, Inputs: []").empty());
}

TEST(Kernels, CutOffLinesAreReadAsFarAsTheyGo) {
  for (std::size_t end = 0; end < kLine.size(); ++end) {
    const auto kernels = kernels_from_lines(std::string_view(kLine).substr(0, end));
    EXPECT_LE(kernels.size(), 1U);
  }
}

TEST(Kernels, FromTheInspectorsJson) {
  const auto kernels = kernels_from_json(
      R"({"Layers": [{"Name": "conv + relu", "LayerType": "CaskConvolution", "TacticName": "sm89_i8",
          "Inputs": [{"Name": "x", "Dimensions": [1, 3], "Format/Datatype": "Channel major INT8 format"}],
          "Outputs": [{"Name": "y", "Format/Datatype": "Row major linear FP16 format"}],
          "Metadata": "[ONNX Layer: conv]\u001e[ONNX Layer: relu]"}, "just a name"], "Bindings": []})",
      "layers.json");
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].inputs.at(0).type, "int8");
  EXPECT_EQ(kernels[0].outputs.at(0).type, "float16");
  EXPECT_EQ(kernels[0].nodes, (Names{"conv", "relu"}));
  EXPECT_EQ(kernels[1].name, "just a name");
}

TEST(Kernels, WhatIsNoLayerInformationIsRefused) {
  for (const char* text : {"[]", "{}", R"({"Layers": 1})", R"({"Layers": [1]})", "x"}) {
    const Error error = error_of([&] { kernels_from_json(text, "layers.json"); });
    EXPECT_EQ(error.kind(), ErrorKind::Input) << text;
    EXPECT_NE(std::string(error.what()).find("layers.json"), std::string::npos) << text;
  }
}

TEST(Kernels, TypesInWordsOfEngines) {
  EXPECT_EQ(type_in("Half"), "float16");
  EXPECT_EQ(type_in("BFloat16"), "bfloat16");
  EXPECT_EQ(type_in("BF16"), "bfloat16");
  EXPECT_EQ(type_in("UINT8"), "uint8");
  EXPECT_EQ(type_in("Float"), "float32");
  EXPECT_EQ(type_in("Strange"), "Strange");
}

}  // namespace
}  // namespace vernier
