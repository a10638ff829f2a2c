#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "model_text.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

using ::testing::Test;
using Names = std::vector<std::string>;

TEST(ReadModel, NamesUnnamedNodesByTheirPlaceInTheFile) {
  const Model model = model_of(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x) => (float[2] y) { a = Relu(x) [mine] b = Neg(a) y = Abs(b) })");
  EXPECT_EQ(node_names(model), (Names{"Relu_0", "mine", "Abs_2"}));
}

TEST(ReadModel, TellsNodesOfOneNameApart) {
  const Model model = model_of(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x) => (float[2] y) { [n] a = Relu(x) [n] b = Neg(a) [n] y = Abs(b) })");
  EXPECT_EQ(node_names(model), (Names{"n", "n#2", "n#3"}));
}

TEST(ReadModel, NeverGivesAMadeUpNameThatAnotherNodeBears) {
  const Model model = model_of(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x) => (float[2] y) { a = Relu(x) [Relu_0] y = Relu(a) })");
  EXPECT_EQ(node_names(model), (Names{"Relu_0#2", "Relu_0"}));
}

constexpr const char* kIfInFile = R"(<ir_version: 8, opset_import: ["" : 13]>
  g (bool c, float[2] x) => (float[2] y) {
    a = Relu(x)
    y = If (c) <then_branch = t () => (float[2] r) { m = Neg(a) r = Abs(m) },
                else_branch = e () => (float[2] r) { m = Exp(a) r = Log(m) }>
  })";

TEST(ReadModel, CountsTheNodesOfBodiesBehindTheirNode) {
  const Model model = model_of(kIfInFile);
  EXPECT_EQ(node_names(model), (Names{"Relu_0", "If_1"}));
  EXPECT_EQ(node_named(model, "Abs_3").op_type(), "Abs");
  EXPECT_EQ(node_named(model, "Log_5").op_type(), "Log");
}

TEST(ReadModel, TellsTensorsOfDifferentBodiesApart) {
  const Model model = model_of(kIfInFile);
  EXPECT_EQ(node_named(model, "Abs_3").output(0), "r");
  EXPECT_EQ(node_named(model, "Log_5").output(0), "r#2");
  EXPECT_EQ(node_named(model, "Log_5").input(0), node_named(model, "Exp_4").output(0));
  EXPECT_EQ(node_named(model, "Exp_4").input(0), "a");
}

TEST(ReadModel, TakesInitializersOutOfTheGraphInputs) {
  onnx::ModelProto proto = parse(R"(<ir_version: 3, opset_import: ["" : 7]>
    g (float[2] x, float[2] w) => (float[2] y) { y = Add(x, w) })");
  *proto.mutable_graph()->add_initializer() = proto_of(Tensor::of({2}, std::vector<float>{1, 2}), "w");
  const Model model = adopt_model(proto);
  ASSERT_EQ(model_inputs(model).size(), 1U);
  EXPECT_EQ(model_inputs(model)[0].name, "x");
  EXPECT_EQ(floats_of(model, "w"), (std::vector<float>{1, 2}));
}

TEST(ReadModel, GivesAnOutputWithoutAShapeTheInferredOne) {
  onnx::ModelProto proto = parse(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2,n] x) => (float[2] y) { y = Relu(x) })");
  proto.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  const Model model = adopt_model(proto);
  EXPECT_EQ(model_outputs(model)[0].shape, (Shape{2, -1}));
  EXPECT_NO_THROW(check_written_model(model));
}

TEST(ReadModel, LeavesAnOutputOfUnknownRankWithoutAShape) {
  onnx::ModelProto proto = parse(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[4] x, int64[n] s) => (float[4] y) { y = Reshape(x, s) })");
  proto.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  const Model model = adopt_model(proto);
  EXPECT_FALSE(model.proto.graph().output(0).type().tensor_type().has_shape());
  EXPECT_NO_THROW(check_written_model(model));
}

TEST(ReadModel, SortsNodesAndKeepsTheNamesOfTheirOldPlaces) {
  const Model model = model_of(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x) => (float[2] y) { y = Abs(b) b = Neg(a) a = Relu(x) })");
  EXPECT_EQ(node_names(model), (Names{"Relu_2", "Neg_1", "Abs_0"}));
}

TEST(ReadModel, RefusesACycleNamingANodeOfIt) {
  const auto text = R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x) => (float[2] y) { [one] a = Add(x, b) [two] b = Neg(a) y = Abs(b) })";
  EXPECT_EQ(error_of([&] { model_of(text); }), "the graph has a cycle through node 'one' (Add)");
}

TEST(ReadModel, RefusesATensorThatIsProducedTwice) {
  const auto text = R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x) => (float[2] y) { y = Abs(x) [again] y = Neg(x) })";
  EXPECT_EQ(error_of([&] { model_of(text); }), "tensor 'y' is produced twice, the second time by node 'again'");
}

TEST(ReadModel, RefusesATensorThatNothingProduces) {
  const auto text = R"(<ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) { y = Add(x, gone) })";
  EXPECT_EQ(error_of([&] { model_of(text); }), "node 'Add_0' (Add) reads 'gone', which nothing produces");
}

TEST(ReadModel, RefusesAnOutputThatNothingProduces) {
  const auto text = R"(<ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) { z = Abs(x) })";
  EXPECT_EQ(error_of([&] { model_of(text); }), "graph output 'y' is produced by nothing");
}

TEST(ReadModel, RefusesBodiesNestedBeyondReason) {
  onnx::ModelProto proto =
      parse(R"(<ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) { y = Abs(x) })");
  onnx::GraphProto* graph = proto.mutable_graph();
  for (int depth = 0; depth < 80; ++depth) {
    onnx::NodeProto& node = *graph->add_node();
    node.set_op_type("If");
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name("then_branch");
    attribute.set_type(onnx::AttributeProto::GRAPH);
    graph = attribute.mutable_g();
  }
  EXPECT_EQ(error_of([&] { adopt_model(proto); }), "subgraphs nest more than 64 deep");
}

struct HostileTensor {
  const char* name;
  std::vector<std::int64_t> dims;
  std::size_t raw_bytes;
  const char* complaint;
};

class ReadHostileTensor : public ::testing::TestWithParam<HostileTensor> {};

TEST_P(ReadHostileTensor, IsRefusedBeforeMemoryIsTaken) {
  onnx::ModelProto proto =
      parse(R"(<ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) { y = Add(x, w) })");
  proto.mutable_graph()->mutable_node(0)->set_input(1, "w");
  onnx::TensorProto& tensor = *proto.mutable_graph()->add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t dim : GetParam().dims) tensor.add_dims(dim);
  tensor.set_raw_data(std::string(GetParam().raw_bytes, 'x'));
  const std::string error = error_of([&] { adopt_model(proto); });
  EXPECT_NE(error.find(GetParam().complaint), std::string::npos) << error;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ReadHostileTensor,
    ::testing::Values(HostileTensor{"Terabytes", {1 << 20, 1 << 20}, 2000, "needs 4398046511104 bytes"},
                      HostileTensor{"TerabytesOfEight", {1 << 20, 1 << 20}, 8, "needs 4398046511104 bytes"},
                      HostileTensor{"Overflow",
                                    {INT64_MAX, INT64_MAX},
                                    2000,
                                    "tensor 'w': shape 9223372036854775807x9223372036854775807 is too large"},
                      HostileTensor{"Negative", {-1, 4}, 2000, "negative"},
                      HostileTensor{"Short", {1024}, 2000, "needs 4096 bytes, the file holds 2000"}),
    [](const auto& each) { return each.param.name; });

class ReadFile : public Test {
 protected:
  std::string refusal(const std::string& bytes) {
    replace_file(folder_ / "m.onnx", bytes);
    return error_of([&] { read_model(folder_ / "m.onnx"); });
  }
  std::string good() {
    return parse(R"(<ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) { y = Abs(x) })")
        .SerializeAsString();
  }
  TempFolder folder_;
};

TEST_F(ReadFile, NamesTheFileThatIsMissing) {
  const auto path = folder_ / "none.onnx";
  EXPECT_EQ(error_of([&] { read_model(path); }), path.string() + ": no such file");
}

TEST_F(ReadFile, RefusesAnEmptyFile) { EXPECT_NE(refusal("").find("is empty"), std::string::npos); }

TEST_F(ReadFile, RefusesATruncatedFile) {
  const std::string bytes = good();
  EXPECT_EQ(refusal(bytes), "");
  EXPECT_NE(refusal(bytes.substr(0, bytes.size() - 3)).find("truncated"), std::string::npos);
}

TEST_F(ReadFile, RefusesText) {
  EXPECT_NE(refusal("import torch\nprint('hello')\n").find("not an ONNX model"), std::string::npos);
}

TEST_F(ReadFile, RefusesAFolder) {
  EXPECT_NE(error_of([&] { read_model(folder_.path()); }).find("a folder, not a model"), std::string::npos);
}

TEST_F(ReadFile, IdentityIsThatOfTheBytes) {
  replace_file(folder_ / "a.onnx", good());
  replace_file(folder_ / "b.onnx", good());
  EXPECT_EQ(read_model(folder_ / "a.onnx").sha256, read_model(folder_ / "b.onnx").sha256);
  EXPECT_EQ(read_model(folder_ / "a.onnx").sha256.size(), 64U);
}

class ReadExternalData : public ReadFile {
 protected:
  /// A model whose weight w [4] lies at `location`.
  std::string refusal_of(const std::string& location, const std::string& length = "",
                         const std::string& checksum = "") {
    onnx::ModelProto proto =
        parse(R"(<ir_version: 8, opset_import: ["" : 13]> g (float[4] x) => (float[4] y) { y = Add(x, w) })");
    onnx::TensorProto& tensor = *proto.mutable_graph()->add_initializer();
    tensor.set_name("w");
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(4);
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto entry = [&](const char* key, const std::string& value) {
      onnx::StringStringEntryProto& pair = *tensor.add_external_data();
      pair.set_key(key);
      pair.set_value(value);
    };
    entry("location", location);
    if (!length.empty()) entry("length", length);
    if (!checksum.empty()) entry("checksum", checksum);
    std::filesystem::create_directories(folder_ / "model");
    replace_file(folder_ / "model" / "m.onnx", proto.SerializeAsString());
    return error_of([&] { model_ = read_model(folder_ / "model" / "m.onnx"); });
  }
  void write(const std::string& name, std::size_t bytes) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    replace_file(folder_ / name, std::string(bytes, '\0'));
  }
  Model model_;
};

TEST_F(ReadExternalData, IsReadFromTheModelsFolder) {
  write("model/w.bin", 16);
  EXPECT_EQ(refusal_of("w.bin"), "");
  EXPECT_EQ(floats_of(model_, "w"), (std::vector<float>{0, 0, 0, 0}));
}

TEST_F(ReadExternalData, AChecksumIsComparedWithTheFile) {
  write("model/w.bin", 16);
  const std::string zeros = "e129f27c5103bc5cc44bcdf0a15e160d445066ff";  // SHA1 of 16 zero bytes
  EXPECT_EQ(refusal_of("w.bin", "16", zeros), "");
  EXPECT_EQ(refusal_of("w.bin", "16", "E129F27C5103BC5CC44BCDF0A15E160D445066FF"), "");
  std::string other = zeros;
  other.front() = 'f';
  EXPECT_NE(
      refusal_of("w.bin", "16", other).find("'w.bin' is damaged or of another model: its SHA1 checksum is " + zeros),
      std::string::npos);
  EXPECT_EQ(refusal_of("w.bin", "16", "crc32:1234"), "") << "no SHA1: nothing to compare";
}

TEST_F(ReadExternalData, MissingFileIsNamed) {
  EXPECT_NE(refusal_of("w.bin").find("external data of tensor 'w': 'w.bin' is missing in"), std::string::npos);
}

TEST_F(ReadExternalData, ParentFolderIsOutside) {
  write("w.bin", 16);
  EXPECT_NE(refusal_of("../w.bin").find("lies outside the model's folder"), std::string::npos);
}

TEST_F(ReadExternalData, AbsolutePathIsOutside) {
  write("model/w.bin", 16);
  EXPECT_NE(refusal_of((folder_ / "model/w.bin").string()).find("outside"), std::string::npos);
}

TEST_F(ReadExternalData, BesideWhatALinkLeadsTo) {
  // As in the cache of Hugging Face's hub: model and data are links into one folder of files named by their hashes.
  write("blobs/5678", 16);
  EXPECT_EQ(refusal_of("w.bin").empty(), false);
  std::filesystem::create_directories(folder_ / "snapshot");
  std::filesystem::rename(folder_ / "model" / "m.onnx", folder_ / "blobs/1234");
  std::filesystem::create_symlink(folder_ / "blobs/1234", folder_ / "snapshot/m.onnx");
  std::filesystem::create_symlink(folder_ / "blobs/5678", folder_ / "snapshot/w.bin");
  EXPECT_EQ(error_of([&] { model_ = read_model(folder_ / "snapshot/m.onnx"); }), "");
  EXPECT_EQ(floats_of(model_, "w"), (std::vector<float>{0, 0, 0, 0}));
}

TEST_F(ReadExternalData, SymbolicLinkThatLeavesIsOutside) {
  write("secret/w.bin", 16);
  std::filesystem::create_directories(folder_ / "model");
  std::filesystem::create_symlink(folder_ / "secret/w.bin", folder_ / "model/w.bin");
  EXPECT_NE(refusal_of("w.bin").find("outside"), std::string::npos);
}

TEST_F(ReadExternalData, SiblingFolderOfLikeNameIsOutside) {
  write("model2/w.bin", 16);
  EXPECT_NE(refusal_of("../model2/w.bin").find("outside"), std::string::npos);
}

TEST_F(ReadExternalData, ShortFileIsRefusedWithBothSizes) {
  write("model/w.bin", 12);
  EXPECT_NE(refusal_of("w.bin").find("bytes 0 to 16 are wanted of 'w.bin', which has 12"), std::string::npos);
}

TEST_F(ReadExternalData, LengthThatDoesNotFitTheShapeIsRefused) {
  write("model/w.bin", 64);
  EXPECT_NE(refusal_of("w.bin", "64").find("needs 16 bytes, the model says 64"), std::string::npos);
}

}  // namespace
}  // namespace vernier::testing
