#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "model/checker.h"
#include "model_text.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

/// One weight of 4 KB beside the message, one of 8 bytes in it.
Model weighty_model() {
  Model model = model_of(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[1024] x) => (float[1024] y) <float[1] small = {3}> { a = Mul(x, small) y = Add(a, small) })");
  std::vector<float> values(1024);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  set_initializer(model, *model.proto.mutable_graph(), "big", Tensor::of({1024}, values));
  model.proto.mutable_graph()->mutable_node(1)->set_input(1, "big");
  return model;
}

void expect_equal(const Model& got, const Model& want) {
  EXPECT_EQ(got.proto.graph().node_size(), want.proto.graph().node_size());
  EXPECT_EQ(node_names(got), node_names(want));
  EXPECT_EQ(floats_of(got, "big"), floats_of(want, "big"));
  EXPECT_EQ(floats_of(got, "small"), floats_of(want, "small"));
}

TEST(SetInitializer, KeepsLargeWeightsBesideTheMessage) {
  const Model model = weighty_model();
  EXPECT_TRUE(model.weights.contains("big"));
  EXPECT_FALSE(model.weights.contains("small"));
  EXPECT_LT(model.proto.ByteSizeLong(), 1024U);
}

TEST(SetInitializer, CopyOfAModelSharesItsWeights) {
  const Model model = weighty_model();
  const Model copy = model;
  EXPECT_EQ(copy.weights.at("big").bytes().data(), model.weights.at("big").bytes().data());
}

WriteOptions beside() {
  WriteOptions options;
  options.external_data.wanted = true;
  return options;
}

TEST(WriteModel, ReadsBackTheSame) {
  const TempFolder folder;
  write_model(weighty_model(), folder / "m.onnx");
  expect_equal(read_model(folder / "m.onnx"), weighty_model());
  EXPECT_FALSE(std::filesystem::exists(folder / "m.onnx.data"));
}

TEST(WriteModel, ReadsBackTheSameWithExternalData) {
  const TempFolder folder;
  write_model(weighty_model(), folder / "m.onnx", beside());
  EXPECT_TRUE(std::filesystem::exists(folder / "m.onnx.data"));
  const Model model = read_model(folder / "m.onnx");
  expect_equal(model, weighty_model());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(model.weights.at("big").bytes().data()) % 4096, 0U);
}

TEST(WriteModel, PutsWeightsIntoTheFileNamed) {
  const TempFolder folder;
  WriteOptions options = beside();
  options.external_data.file = "weights.bin";
  options.external_data.size_threshold = 1;
  write_model(weighty_model(), folder / "m.onnx", options);
  EXPECT_TRUE(std::filesystem::exists(folder / "weights.bin"));
  EXPECT_FALSE(std::filesystem::exists(folder / "m.onnx.data"));
  expect_equal(read_model(folder / "m.onnx"), weighty_model());
  options.external_data.size_threshold = std::int64_t{1} << 40U;
  options.external_data.file = "none.bin";
  for (int again = 0; again < 2; ++again) {  // no data, no file; nor is it in the way of the next write
    write_model(weighty_model(), folder / "all.onnx", options);
    EXPECT_FALSE(std::filesystem::exists(folder / "none.bin"));
    expect_equal(read_model(folder / "all.onnx"), weighty_model());
  }
}

TEST(WriteModel, PutsEachWeightIntoAFileOfItsOwn) {
  const TempFolder folder;
  WriteOptions options = beside();
  options.external_data.one_file = false;
  options.external_data.size_threshold = 1;
  write_model(weighty_model(), folder / "m.onnx", options);
  EXPECT_TRUE(std::filesystem::exists(folder / "m.onnx.0.data"));
  EXPECT_TRUE(std::filesystem::exists(folder / "m.onnx.1.data"));
  expect_equal(read_model(folder / "m.onnx"), weighty_model());
}

TEST(WriteModel, RefusesAFileThatIsNotItsOwn) {
  const TempFolder folder;
  write_model(weighty_model(), folder / "m.onnx", beside());
  const Model read = read_model(folder / "m.onnx");
  const auto refusal = [&](const std::string& file) {
    WriteOptions options = beside();
    options.external_data.file = file;
    return error_of([&] { write_model(read, folder / "copy.onnx", options); });
  };
  EXPECT_NE(refusal("m.onnx.data").find("would be replaced"), std::string::npos);
  EXPECT_NE(refusal("../w.data").find("no folder"), std::string::npos);
  EXPECT_NE(refusal("..").find("no folder"), std::string::npos);
  EXPECT_NE(refusal("copy.onnx").find("is the model itself"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder / "copy.onnx"));
}

TEST(WriteModel, IdentityCoversExternalData) {
  const TempFolder folder;
  write_model(weighty_model(), folder / "m.onnx", beside());
  const std::string before = read_model(folder / "m.onnx").sha256;
  std::fstream(folder / "m.onnx.data", std::ios::in | std::ios::out | std::ios::binary).write("\x01", 1);
  EXPECT_NE(read_model(folder / "m.onnx").sha256, before);
}

TEST(WriteModel, LeavesNothingBehindWhenTheFolderCannotBeMade) {
  const TempFolder folder;
  std::ofstream(folder / "none") << "a file";
  EXPECT_NE(error_of([&] { write_model(weighty_model(), folder / "none/m.onnx"); }), "");
  EXPECT_TRUE(std::filesystem::is_regular_file(folder / "none"));
}

TEST(WriteModel, MakesTheFolder) {
  const TempFolder folder;
  write_model(weighty_model(), folder / "new/deep/m.onnx");
  EXPECT_TRUE(std::filesystem::exists(folder / "new/deep/m.onnx"));
}

TEST(CheckWrittenModel, RefusesWhatTheCheckerRefuses) {
  Model model = weighty_model();
  check_written_model(model);
  model.proto.mutable_graph()->mutable_node(0)->set_op_type("NoSuchOperator");
  EXPECT_NE(error_of([&] { check_written_model(model); }).find("NoSuchOperator"), std::string::npos);
}

TEST(CheckWrittenModel, PassesOverExperimentsAndPrintsNothing) {
  const Model model = model_of(R"(<ir_version: 8, opset_import: ["" : 8, "own" : 1]>
net (float[1, 4] x, bool c) => (float[1, 4] y) {
  a = ScaledTanh (x)
  b = own.twice (a)
  y = If (c) <then_branch = yes () => (float[1, 4] t) { t = ScaledTanh (b) }, else_branch = no () => (float[1, 4] e) { e = Identity (b) }>
}
<opset_import: ["" : 8], domain: "own">
twice (a) => (b) { b = ParametricSoftplus (a) })");
  ::testing::internal::CaptureStdout();
  const std::optional<std::string> complaint = checker_complaint(model);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(complaint, std::nullopt);
}

TEST(InferTypes, KnowsTheRankOfAReshapeToAComputedShape) {
  const Model model = model_of(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[n, m] x, int64[1] k) => (float[a, b, c] y) <int64[1] one = {1}> {
      s = Concat <axis = 0> (k, one, one) r = Reshape(x, s) t = Relu(r) y = Relu(t) })");
  EXPECT_EQ(infer_types(model).at("t").shape, (Shape{-1, -1, -1}));
}

}  // namespace
}  // namespace vernier::testing
