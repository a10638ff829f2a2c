// The configuration for training: which module a layer is, and what ModelOpt is told of it.
#include "plan/qat_config.h"

#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/torch_modules.h"
#include "tiny_graph.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/precision.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using testing::params_of;
using testing::plan_of;

/// `text` as parse_model() reads it, with constants of these shapes, and the metadata of nodes by their place.
Model with_weights(const std::string& text, const std::map<std::string, Shape>& weights,
                   const std::map<int, std::string>& scopes = {}) {
  onnx::ModelProto proto;
  const std::string header = "<ir_version: 8, opset_import: [\"\" : 17]>\n";
  const onnx::Common::Status status = onnx::OnnxParser::Parse(proto, (header + text).c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  for (const auto& [name, shape] : weights) {
    onnx::TensorProto& weight = *proto.mutable_graph()->add_initializer();
    weight.set_name(name);
    weight.set_data_type(onnx::TensorProto::FLOAT);
    for (const std::int64_t dim : shape) weight.add_dims(dim);
    weight.mutable_float_data()->Resize(static_cast<int>(element_count(shape)), 0.5F);
  }
  for (const auto& [node, path] : scopes) {
    onnx::StringStringEntryProto& entry = *proto.mutable_graph()->mutable_node(node)->add_metadata_props();
    entry.set_key("pkg.torch.onnx.name_scopes");
    entry.set_value(path);
  }
  return adopt_model(std::move(proto));
}

/// As torch's exporter writes it: a convolution with the path of the BatchNormalization that was folded into it, a
/// linear layer with a constant in the place of its weight, one with its own weight, and a product of activations.
Model exported() {
  return with_weights(
      R"(
  g (float[1,2,4,4] x) => (float[1,2,2,2] y) {
    [conv] a = Conv (x, "conv.weight")
    [fc] b = MatMul (a, val_7)
    [turn] t = Transpose ("head.weight")
    [head] c = MatMul (b, t)
    [own] d = MatMul (c, "mix.matrix")
    [square] e = MatMul (d, d)
    [act] y = Tanh (e)
  })",
      {{"conv.weight", {2, 2, 3, 3}}, {"val_7", {2, 2}}, {"head.weight", {2, 2}}, {"mix.matrix", {2, 2}}},
      {{0, "['', 'bn', 'batch_norm']"},
       {1, "['', 'blocks.0', 'blocks.0.fc', 'linear']"},
       {4, "['', 'mix', 'matmul']"}});
}

TEST(TorchModules, TheWeightSaysTheModuleAndElseItsPath) {
  const Model model = exported();
  const TorchModules modules = torch_modules(model, find_layers(model));
  EXPECT_EQ(modules.paths,
            (std::map<std::string, std::string>{{"conv", "conv"}, {"fc", "blocks.0.fc"}, {"head", "head"}}));
  EXPECT_EQ(modules.why_not,
            (std::map<std::string, std::string>{{"own", "its weight 'mix.matrix' is not the weight of a module"},
                                                {"square", "it has no weight"}}));
}

TEST(TorchModules, NodesOfTheOlderExporterHaveThePathInTheirNames) {
  const Model model = with_weights(
      R"(
  g (float[2,2] x) => (float[2,2] y) {
    ["/layer1/layer1.0/conv/MatMul"] a = MatMul (x, "onnx::MatMul_1")
    ["/features/features.0/features.0.1/MatMul"] b = MatMul (a, "onnx::MatMul_2")
    ["/attn/MatMul"] c = MatMul (b, "attn.mix")
    [MatMul_3] y = MatMul (c, "onnx::MatMul_3")
  })",
      {{"onnx::MatMul_1", {2, 2}}, {"onnx::MatMul_2", {2, 2}}, {"attn.mix", {2, 2}}, {"onnx::MatMul_3", {2, 2}}});
  const TorchModules modules = torch_modules(model, find_layers(model));
  EXPECT_EQ(modules.paths,
            (std::map<std::string, std::string>{{"/layer1/layer1.0/conv/MatMul", "layer1.0.conv"},
                                                {"/features/features.0/features.0.1/MatMul", "features.0.1"}}));
  EXPECT_EQ(modules.why_not.size(), 2U);
}

TEST(TorchModules, AModuleWithTwoWeightsIsNone) {
  const Model model = with_weights(R"(
  g (float[2,2] x) => (float[2,2] y) {
    [in] a = MatMul (x, val_1)
    [out] y = MatMul (a, val_2)
  })",
                                   {{"val_1", {2, 2}}, {"val_2", {2, 2}}},
                                   {{0, "['', 'mlp', 'linear']"}, {1, "['', 'mlp', 'linear_1']"}});
  const TorchModules modules = torch_modules(model, find_layers(model));
  EXPECT_TRUE(modules.paths.empty());
  EXPECT_EQ(modules.why_not.at("in"), "module 'mlp' has several weights");
}

/// A grid as calibration makes it of a weight.
QuantParams weight(Format format, int axis, int block = 0) {
  QuantParams grid = params_of(format, {0.5F, 0.25F}, axis);
  if (format == Format::Int8) grid.lowest_code = -127;
  if (format == Format::Int4) grid.lowest_code = -7;
  grid.block = block;
  return grid;
}

TEST(QatConfig, FormatsRangesAndKeptLayers) {
  const Model model = exported();
  const std::vector<Layer> layers = find_layers(model);
  Plan plan = plan_of({{"conv", Format::Int8},
                       {"fc", Format::Float8E4M3FN},
                       {"head", Format::Float32},
                       {"own", Format::Int8},
                       {"square", Format::Int8},
                       {"act", Format::Int8}},
                      {{"x", params_of(Format::Int8, {0.25F})},
                       {"conv.weight", weight(Format::Int8, 0)},
                       {"a", params_of(Format::Float8E4M3FN, {0.5F})},
                       {"val_7", weight(Format::Float8E4M3FN, 1)}});
  plan.model_file = "net.onnx";
  const QatConfig config = qat_config(plan, layers, torch_modules(model, layers));
  EXPECT_EQ(config.text, R"(# Quantization-aware training with NVIDIA ModelOpt, written by Vernier.
# Model: net.onnx
#
#   from qat import CONFIG
#   model = modelopt.torch.quantization.quantize(model, CONFIG, forward_loop)
#
# constant_amax is the range that Vernier calibrated. ModelOpt takes the scales of weights from the weights.
CONFIG = {
    "quant_cfg": [
        {"quantizer_name": "*", "enable": False},
        # INT8: conv
        {"quantizer_name": "conv.weight_quantizer", "cfg": {"num_bits": 8, "axis": 0, "narrow_range": True}},
        {"quantizer_name": "conv.input_quantizer", "cfg": {"num_bits": 8, "constant_amax": 31.75}},
        # FP8: fc
        {"quantizer_name": "blocks.0.fc.weight_quantizer", "cfg": {"num_bits": (4, 3), "axis": 0}},
        {"quantizer_name": "blocks.0.fc.input_quantizer", "cfg": {"num_bits": (4, 3), "constant_amax": 224}},
        # FP32: head
        {"quantizer_name": "head.*_quantizer", "enable": False},
    ],
    "algorithm": "max",
}
# In a low format in Vernier, and float in ModelOpt:
#   own: its weight 'mix.matrix' is not the weight of a module
#   square: it has no weight
#   act: qat.py has no entries for Tanh
)");
  EXPECT_EQ(config.quantized, 2U);
  EXPECT_EQ(config.kept, 1U);
}

/// The lines of [fc] of `exported` with these grids.
std::string line_of_fc(Format format, const QuantParams& input, const QuantParams& of_weight,
                       const QuantizationRules& rules = {}) {
  const Model model = exported();
  const std::vector<Layer> layers = find_layers(model);
  Plan plan = plan_of({{"fc", format}}, {{"a", input}, {"val_7", of_weight}});
  plan.rules = rules;
  const std::string text = qat_config(plan, layers, torch_modules(model, layers)).text;
  const std::size_t from = text.find("fc.weight_quantizer");
  return from == std::string::npos ? text : text.substr(from, text.find("        # ", from) - from);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(QatConfig, Blocks) {
  QuantParams dynamic = params_of(Format::NvFp4, {0.5F});
  dynamic.block = 16;
  dynamic.dynamic = true;
  const std::string nvfp4 = line_of_fc(Format::NvFp4, dynamic, weight(Format::NvFp4, 0, 16));
  EXPECT_TRUE(has(nvfp4, R"("num_bits": (2, 1), "block_sizes": {-1: 16, "type": "dynamic", "scale_bits": (4, 3)}})"))
      << nvfp4;
  EXPECT_TRUE(has(nvfp4, R"("scale_bits": (4, 3)}, "constant_amax": 1344})")) << nvfp4;  // 0.5 * 6 * 448
  dynamic.format = Format::MxFp8;
  dynamic.block = 32;
  const std::string mxfp8 = line_of_fc(Format::MxFp8, dynamic, weight(Format::MxFp8, 0, 32));
  EXPECT_TRUE(has(mxfp8, R"("num_bits": (4, 3), "block_sizes": {-1: 32, "type": "dynamic", "scale_bits": (8, 0)}})"))
      << mxfp8;
  EXPECT_FALSE(has(mxfp8, "constant_amax")) << mxfp8;
  const std::string int4 = line_of_fc(Format::Int4, {}, weight(Format::Int4, 0, 128));
  EXPECT_TRUE(has(int4, R"({"num_bits": 4, "block_sizes": {-1: 128}, "narrow_range": True})")) << int4;
  EXPECT_FALSE(has(int4, "fc.input_quantizer")) << int4;
}

TEST(QatConfig, BlocksOfConvolutionsLieAlongChannels) {
  const Model model = exported();
  const std::vector<Layer> layers = find_layers(model);
  const auto text_for = [&](Format format) {
    const Plan plan =
        plan_of({{"conv", format}}, {{"x", params_of(format, {1})}, {"conv.weight", weight(format, 1, 2)}});
    return qat_config(plan, layers, torch_modules(model, layers)).text;
  };
  EXPECT_TRUE(has(text_for(Format::Int4), R"("block_sizes": {1: 2}, "narrow_range": True)")) << text_for(Format::Int4);
  EXPECT_TRUE(has(text_for(Format::MxFp8), "#   conv: ModelOpt's blocks of floats lie along the last dimension"));
}

TEST(QatConfig, ZeroPoints) {
  QuantParams middle = params_of(Format::UInt8, {0.25F}), low = middle, other = middle;
  middle.zero_point = {128};
  low.zero_point = {0};
  other.zero_point = {3};
  EXPECT_TRUE(
      has(line_of_fc(Format::UInt8, middle, weight(Format::Int8, 1)), R"({"num_bits": 8, "constant_amax": 31.75})"));
  EXPECT_TRUE(has(line_of_fc(Format::UInt8, low, weight(Format::Int8, 1)),
                  R"({"num_bits": 8, "unsigned": True, "constant_amax": 63.75})"));
  EXPECT_TRUE(has(line_of_fc(Format::UInt8, other, weight(Format::Int8, 1)), "#   fc: ModelOpt has no zero points"));
}

TEST(QatConfig, SevenBitsOfWeights) {
  QuantizationRules rules;
  rules.reduce_range = true;
  const std::string text = line_of_fc(Format::Int8, params_of(Format::Int8, {1}), weight(Format::Int8, 1), rules);
  EXPECT_TRUE(has(text, R"("num_bits": 7, "axis": 0, "narrow_range": True)")) << text;
  EXPECT_TRUE(has(text, R"("num_bits": 8, "constant_amax": 127})")) << text;
}

TEST(QatConfig, AModuleThatLayersShareHasTheWidestFormatAndRange) {
  const Model model = with_weights(R"(
  g (float[2,2] x) => (float[2,2] y) {
    [first] a = MatMul (x, "fc.weight")
    [second] y = MatMul (a, "fc.weight")
  })",
                                   {{"fc.weight", {2, 2}}});
  const std::vector<Layer> layers = find_layers(model);
  const std::map<std::string, QuantParams> grids = {{"x", params_of(Format::Int8, {0.25F})},
                                                    {"a", params_of(Format::Int8, {0.5F})},
                                                    {"fc.weight", weight(Format::Int8, 1)}};
  const TorchModules modules = torch_modules(model, layers);
  const QatConfig shared =
      qat_config(plan_of({{"first", Format::Int8}, {"second", Format::Int8}}, grids), layers, modules);
  EXPECT_TRUE(has(shared.text, "INT8: first, second")) << shared.text;
  EXPECT_TRUE(has(shared.text, "\"constant_amax\": 63.5")) << shared.text;
  const QatConfig kept =
      qat_config(plan_of({{"first", Format::Int8}, {"second", Format::Float32}}, grids), layers, modules);
  EXPECT_TRUE(has(kept.text, "{\"quantizer_name\": \"fc.*_quantizer\", \"enable\": False}")) << kept.text;
  EXPECT_EQ(kept.quantized, 0U);
}

TEST(QatConfig, WhatModelOptCannotTrainIsRefused) {
  const Model model = exported();
  const TorchModules modules = torch_modules(model, find_layers(model));
  const auto refusal = [&](std::vector<Format> low, Target target, const TorchModules& of) -> std::string {
    PrecisionOptions options;
    options.low = std::move(low);
    options.target = target;
    const std::optional<Error> error = refusal_of_qat(options, of);
    return error ? error->what() : "";
  };
  EXPECT_EQ(refusal({Format::Int8, Format::Float16}, Target::TensorRt, modules), "");
  EXPECT_TRUE(has(refusal({Format::Float16}, Target::TensorRt, modules), "no low format has a scale"));
  EXPECT_TRUE(has(refusal({Format::DynamicInt8}, Target::OnnxRuntime, modules), "cannot train in"));
  EXPECT_TRUE(has(refusal({Format::Float8E5M2}, Target::TensorRt, modules), "cannot train in"));
  EXPECT_TRUE(has(refusal({Format::Int8}, Target::OpenVino, modules), "no zero points"));
  EXPECT_EQ(refusal({Format::Int4}, Target::OnnxRuntime, modules), "");
  EXPECT_TRUE(
      has(refusal({Format::Int8}, Target::TensorRt, {{}, {{"fc", "its weight 'w' is not the weight of a module"}}}),
          "does not name the torch modules: of layer 'fc', its weight 'w'"));
}

}  // namespace
}  // namespace vernier
