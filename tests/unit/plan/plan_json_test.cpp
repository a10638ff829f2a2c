#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "model/graph_edit.h"
#include "model/model.h"
#include "plan/cache_formats.h"
#include "plan/plan.h"
#include "plan/repaired_constants.h"
#include "plan/round_node.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

Plan example() {
  Plan plan;
  plan.model_file = "net.onnx";
  plan.model_sha256 = "ab12";
  plan.scheme = "absmax over 20 samples";
  plan.high = Format::Float16;
  plan.layers = {{"conv \"1\"", Format::Int8}, {"add", Format::Float32}};
  QuantParams weight;
  weight.format = Format::Int8;
  weight.scale = {0.1F, 2e-38F, 2e36F, 16777217.0F / 3.0F};
  weight.zero_point = {0, 1, -128, 127};
  weight.axis = 0;
  weight.lowest_code = -127;
  plan.tensors = {{"w", weight}};
  return plan;
}

std::string message_of(const std::string& text) {
  try {
    plan_from_json(text, "p.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    return error.what();
  }
  return "no error";
}

/// The example's text with the first `from` replaced.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = plan_to_json(example());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(PlanJson, ReadsBackWhatItWroteToTheLastBit) {
  EXPECT_EQ(plan_from_json(plan_to_json(example()), "p.json"), example());
  EXPECT_EQ(plan_from_json(plan_to_json(Plan{}), "p.json"), Plan{});
}

TEST(PlanJson, KeepsScalesOfBlocksAndThoseOfRuns) {
  Plan plan = example();
  QuantParams& weight = plan.tensors["w"] = {};
  weight.format = Format::NvFp4;
  weight.scale = {0.5F, 0.25F};
  weight.axis = 0;
  weight.block = 16;
  weight.tensor_scale = 0.0625F;
  QuantParams& data = plan.tensors["x"] = {};
  data.format = Format::MxFp8;
  data.scale = {1};
  data.block = 32;
  data.dynamic = true;
  plan.rules.weight_bits = 4;
  EXPECT_EQ(plan_from_json(plan_to_json(plan), "p.json"), plan);
  weight.tensor_scale = 0;
  EXPECT_EQ(message_of(plan_to_json(plan)), "p.json: tensors.w.tensor_scale is 0");
  weight.tensor_scale = 1;
  data.block = 16;
  EXPECT_EQ(message_of(plan_to_json(plan)),
            "p.json: tensors.x.dynamic does not fit mxfp8 with 1 scales in blocks of 16");
}

TEST(PlanJson, ACacheTakesTheFormatsOfTheirTableAlone) {
  Plan plan = example();
  for (const Format format : kCacheFormats) {
    plan.rules.kv_cache = format;
    EXPECT_EQ(plan_from_json(plan_to_json(plan), "p.json"), plan);
  }
  plan.rules.kv_cache = Format::NvFp4;
  EXPECT_EQ(message_of(plan_to_json(plan)), "p.json: rules.kv_cache is nvfp4, in which no cache is stored");
  std::string schema = plan_schema();
  std::erase_if(schema, [](char c) { return c == ' ' || c == '\n'; });
  EXPECT_NE(schema.find(R"("kv_cache":{"enum":["float16","bfloat16","float8e4m3fn","int8"]})"), std::string::npos);
}

TEST(PlanJson, SaysTheArithmeticWhereItIsNotTheUsualOne) {
  EXPECT_EQ(plan_to_json(example()).find("arithmetic"), std::string::npos);
  Plan plan = example();
  plan.arithmetic = kMeasuredArithmetic;
  EXPECT_NE(plan_to_json(plan).find(R"("arithmetic": {"accumulate":"float16","tf32":true},)"), std::string::npos);
  EXPECT_EQ(plan_from_json(plan_to_json(plan), "p.json"), plan);
  plan.target = Target::OpenVino;
  EXPECT_EQ(message_of(plan_to_json(plan)), "p.json: arithmetic was measured with TensorRT, the target is openvino");
}

/// A weight and a bias that a repair changed: the first as codes of its grid, the second as numbers.
Plan repaired() {
  Plan plan = example();
  plan.tensors.at("w").scale = {0.1F, 0.25F};
  plan.tensors.at("w").zero_point = {};
  plan.constants["w"] = {"conv \"1\"", Tensor::of({2, 2}, std::vector{0.1F * 3, 0.1F * -127, 0.0F, 0.25F * -1})};
  plan.constants["b"] = {"conv \"1\"", Tensor::of({2}, std::vector{0.125F, -3.0F})};
  return plan;
}

TEST(PlanJson, RepairedWeightsAreCodesOfTheirGrid) {
  const std::string text = plan_to_json(repaired());
  EXPECT_NE(text.find(R"("w": {"layer": "conv \"1\"", "shape": [2, 2], "codes": "038100ff"})"), std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("b": {"layer": "conv \"1\"", "shape": [2], "values": [0.125, -3]})"), std::string::npos)
      << text;
  EXPECT_EQ(plan_from_json(text, "p.json"), repaired());
}

TEST(RepairedConstants, AreHeldOnceForAllPlansAndNetworks) {
  const Shape shape{64, 64};
  Plan plan;
  plan.layers = {{"conv", Format::Int8}};
  plan.constants["w"] = {"conv", Tensor(Dtype::Float32, shape)};
  const Plan of_a_trial = plan;
  Model model;
  set_initializer(model, *model.proto.mutable_graph(), "w", Tensor(Dtype::Float32, shape));
  const Model low = with_repaired_constants(model, of_a_trial);
  EXPECT_EQ(initializer(low, "w").value().bytes().data(), plan.constants.at("w").values.bytes().data());
}

TEST(PlanJson, RefusesCodesThatMeanNothing) {
  const auto with_codes = [](const std::string& codes) {
    std::string text = plan_to_json(repaired());
    return message_of(text.replace(text.find("038100ff"), 8, codes));
  };
  EXPECT_EQ(with_codes("038100"), "p.json: constants.w.codes has 3 values, 'shape' asks for 4");
  EXPECT_EQ(with_codes("0381000"), "p.json: constants.w.codes ends within a byte");
  EXPECT_EQ(with_codes("038100xy"), "p.json: constants.w.codes is not a list of bytes in hexadecimal digits");
  EXPECT_EQ(with_codes("038000ff"), "p.json: constants.w.codes holds values that the format does not have");
  std::string text = plan_to_json(repaired());
  EXPECT_EQ(message_of(text.replace(text.find("[2, 2], \"codes\""), 6, "[4, 1]")),
            "p.json: constants.w.codes has no grid under 'tensors' that fits its shape");
}

TEST(PlanJson, WritesOneLineForALayerAndOneForATensor) {
  EXPECT_EQ(plan_to_json(example()), R"({
  "version": 1,
  "model_file": "net.onnx",
  "model_sha256": "ab12",
  "scheme": "absmax over 20 samples",
  "target": "tensorrt",
  "high": "float16",
  "layers": [
    {"name": "conv \"1\"", "format": "int8"},
    {"name": "add", "format": "float32"}
  ],
  "tensors": {
    "w": {"format": "int8", "scale": [0.1, 2e-38, 2e+36, 5592405.5], "zero_point": [0, 1, -128, 127], "axis": 0, "lowest_code": -127}
  }
}
)");
}

TEST(PlanJson, NamesWhatIsWrong) {
  EXPECT_NE(message_of("{").find("p.json: is not JSON"), std::string::npos);
  EXPECT_EQ(message_of("[]"), "p.json: is an array, an object is wanted");
  EXPECT_EQ(message_of("{}"), "p.json: version is missing");
  EXPECT_EQ(message_of(changed("\"version\": 1", "\"version\": 2")), "p.json: version is 2, this program reads 1");
  EXPECT_EQ(message_of(changed("\"scheme\"", "\"sheme\"")), "p.json: sheme is unknown");
  EXPECT_EQ(message_of(changed("\"float32\"", "\"float33\"")),
            "p.json: layers[1].format is 'float33', one of float32, float16, bfloat16, float8e4m3fn, float8e5m2, int8, "
            "uint8, int4, uint4, int16, uint16, nvfp4, mxfp8, mxfp8e5m2, mxfp4, dynamic-int8 is wanted");
  EXPECT_EQ(message_of(changed("\"add\"", "7")), "p.json: layers[1].name is a number, a string is wanted");
  EXPECT_EQ(message_of(changed("\"add\"", R"("conv \"1\"")")), "p.json: layers lists 'conv \"1\"' twice");
  EXPECT_EQ(message_of(changed("0.1", "-0.1")), "p.json: tensors.w.scale holds -0.1, which is not positive");
  EXPECT_EQ(message_of(changed("2e+36", "1e39")), "p.json: tensors.w.scale holds inf, which is not finite");
  EXPECT_EQ(message_of(changed("2e+36", "1e37")),
            "p.json: tensors.w.scale holds 1e+37, which is too large: float32 cannot hold the dequantized values");
  EXPECT_EQ(message_of(changed("2e-38", "1e-45")),
            "p.json: tensors.w.scale holds 1.4013e-45, which is subnormal, smaller than 1.18e-38");
  EXPECT_EQ(message_of(changed("\"lowest_code\": -127", "\"lowest_code\": 127")),
            "p.json: tensors.w.lowest_code is 127, allowed are 0, -128 and -127");
  EXPECT_EQ(message_of(changed("127]", "128]")), "p.json: tensors.w.zero_point is 128, allowed are -128 to 127");
  EXPECT_EQ(message_of(changed(", 127]", "]")), "p.json: tensors.w.zero_point has 3 values, 'scale' has 4");
  EXPECT_EQ(message_of(changed("\"axis\": 0", "\"axis\": -1")), "p.json: tensors.w.axis is -1, but there are 4 scales");
  EXPECT_EQ(message_of(changed("\"axis\": 0", "\"axis\": 0.5")),
            "p.json: tensors.w.axis is a number, an integer is wanted");
  EXPECT_EQ(message_of(changed("\"axis\": 0", "\"axis\": 18446744073709551615")),
            "p.json: tensors.w.axis is 18446744073709551615, which is out of range");
  EXPECT_EQ(message_of(changed("{\"format\": \"int8\", \"scale\"", "{\"format\": \"float16\", \"scale\"")),
            "p.json: tensors.w.format is float16, which takes no scale");
}

TEST(PlanJson, NamesALayerThatReadsATensorWithAnAbsurdScale) {
  Model model;
  onnx::NodeProto& node = *model.proto.mutable_graph()->add_node();
  node.set_name("conv1");
  node.add_input("x");
  node.add_input("w");
  try {
    plan_from_json(changed("2e+36", "1e37"), "p.json", &model);
    FAIL() << "a scale of 1e37 was taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("(layer 'conv1' reads it)"), std::string::npos) << error.what();
  }
}

TEST(Plan, LayersItDoesNotNameAreFloat32) {
  EXPECT_EQ(example().format_of("conv \"1\""), Format::Int8);
  EXPECT_EQ(example().format_of("elsewhere"), Format::Float32);
}

TEST(RoundNode, AttributesReadBack) {
  const QuantParams params = example().tensors.at("w");
  EXPECT_EQ(round_params(round_node("x", "y", params, 3)), params);
  QuantParams half;
  half.format = Format::Float16;
  const onnx::NodeProto node = round_node("x", "y", half);
  EXPECT_EQ(round_params(node), half);
  EXPECT_EQ(node.domain(), kDomain);
}

TEST(RoundNode, RefusesAnUnknownFormat) {
  onnx::NodeProto node = round_node("x", "y", example().tensors.at("w"));
  node.mutable_attribute(0)->set_s("int9");
  EXPECT_THROW(round_params(node), Error);
}

}  // namespace
}  // namespace vernier
