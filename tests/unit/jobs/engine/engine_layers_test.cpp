#include "jobs/engine/engine_layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "tiny_networks.h"

namespace vernier::testing {
namespace {

using Indices = std::vector<std::size_t>;
using Words = std::vector<std::string>;

EngineKernel kernel(std::string name, std::string kind, std::string reads, std::string writes, Words nodes) {
  return {std::move(name), std::move(kind), "", {{"i", std::move(reads), ""}}, {}, {{"o", std::move(writes), ""}},
          std::move(nodes)};
}

/// A quantized MatMul and a Relu behind it.
Model quantized() {
  return model_of(R"(g (float[2,2] x) => (float[2,2] y)
    <float s = {0.1}, int8 z = {0}, int8[2,2] w = {1, 2, 3, 4}> {
      [q] a = QuantizeLinear(x, s, z)
      [d] b = DequantizeLinear(a, s, z)
      [dw] c = DequantizeLinear(w, s, z)
      [mm] h = MatMul(b, c)
      [relu] y = Relu(h)
    })",
                  {}, 13);
}

EngineReport matched(std::vector<EngineKernel> kernels, const Model& model = quantized()) {
  EngineReport report;
  report.kernels = std::move(kernels);
  match_kernels(model, report);
  return report;
}

TEST(EngineLayers, AProductIsComputedByItsLibraryKernelAndWhatRescalesItIsNoLayer) {
  const EngineReport report = matched({kernel("quantize", "kgen", "float32", "int8", {"q"}),
                                       kernel("mm_myl0_1", "gemm", "int8", "float32", {"mm", "d", "dw"}),
                                       kernel("scale", "kgen", "float32", "float32", {"mm", "relu"})});
  ASSERT_EQ(report.layers.size(), 2U);
  const EngineLayer& product = report.layers[0];
  EXPECT_EQ(product.name, "mm");
  EXPECT_EQ(product.asked, Format::Int8);
  EXPECT_EQ(product.kernel, 1U);
  EXPECT_EQ(product.reads, Words{"int8"});
  EXPECT_FALSE(product.differs);
  EXPECT_EQ(report.layers[1].kernel, 2U);
  EXPECT_EQ(report.helpers, Indices{0});
}

TEST(EngineLayers, AProductThatReadsFloatsDiffersFromAFileThatSaysInt8) {
  const EngineReport report = matched({kernel("mm_myl0_1", "gemm", "float32", "float32", {"mm", "relu"})});
  EXPECT_TRUE(report.layers[0].differs);
  EXPECT_FALSE(report.layers[1].differs) << "the file asks float32 of it";
  EXPECT_EQ(report.layers[0].shared, 2U);
}

TEST(EngineLayers, AProductInLowerPrecisionThanAskedDiffers) {
  const Model plain =
      model_of("g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> { [mm] y = MatMul(x, w) }");
  EXPECT_TRUE(matched({kernel("mm", "gemm", "float16", "float32", {"mm"})}, plain).layers[0].differs);
  EXPECT_FALSE(matched({kernel("mm", "gemm", "float32", "float32", {"mm"})}, plain).layers[0].differs);
}

TEST(EngineLayers, AKernelThatRoundsInsideRunsAsTheFileSays) {
  const Model half = model_of(R"(g (float[2] x) => (float[2] y) {
      [down] a = Cast <to = 10> (x)
      [abs] b = Abs(a)
      [up] y = Cast <to = 1> (b)
    })",
                              {}, 13);
  EXPECT_FALSE(matched({kernel("k", "kgen", "float32", "float32", {"down", "abs", "up"})}, half).layers[0].differs);
  EXPECT_TRUE(matched({kernel("k", "abs", "float32", "float32", {"down", "abs", "up"})}, half).layers[0].differs);
  EXPECT_TRUE(matched({kernel("k", "kgen", "float32", "float32", {"abs", "up"})}, half).layers[0].differs);
}

TEST(EngineLayers, AKernelOnCodesIsWhatAFileAsksThatQuantizesInFrontOfAHalf) {
  const Model halves = model_of(R"(g (float[2,2] x) => (float16[2,2] h)
    <float s = {0.1}, int8 z = {0}, float16[2,2] w = {1, 2, 3, 4}> {
      [q] a = QuantizeLinear(x, s, z)
      [d] b = DequantizeLinear(a, s, z)
      [cast] c = Cast<to = 10>(b)
      [mm] h = MatMul(c, w)
    })",
                                {}, 13);
  EXPECT_FALSE(matched({kernel("mm", "gemm", "int8", "float16", {"mm"})}, halves).layers[0].differs);
  EXPECT_TRUE(matched({kernel("mm", "gemm", "float32", "float32", {"mm"})}, halves).layers[0].differs);
}

TEST(EngineLayers, ALayerInNoKernelIsSaidToBeInNone) {
  const EngineReport report = matched({kernel("mm", "gemm", "int8", "float32", {"mm"})});
  EXPECT_EQ(report.layers[1].name, "relu");
  EXPECT_FALSE(report.layers[1].kernel.has_value());
  EXPECT_FALSE(report.layers[1].differs);
}

TEST(EngineLayers, WithoutMetadataKernelsAreFoundByTheNamesInTheirs) {
  const EngineReport report = matched({kernel("mm + relu", "CaskGemm", "int8", "float32", {})});
  EXPECT_EQ(report.layers[0].kernel, 0U);
  EXPECT_EQ(report.layers[1].kernel, 0U);
  EXPECT_FALSE(matched({kernel("mm_2", "CaskGemm", "int8", "float32", {})}).layers[0].kernel.has_value())
      << "another name that begins alike";
}

TEST(EngineLayers, WithoutTypesNothingIsSaidToDiffer) {
  const EngineReport report = matched({EngineKernel{"mm + relu", "", "", {}, {}, {}, {}}});
  EXPECT_FALSE(report.layers[0].differs);
}

}  // namespace
}  // namespace vernier::testing
