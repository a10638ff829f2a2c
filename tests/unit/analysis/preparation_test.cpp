// No step of the preparation may cost accuracy that the network as written keeps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "normalized_layer.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

struct LayerCase {
  std::string name;
  Shape input;
  std::string node;  // from x and w to c
  Shape weight;
  std::int64_t channels;
};

const std::vector<LayerCase> kLayers{
    {"Conv", {1, 4, 6, 6}, "Conv(x, w)", {6, 4, 3, 3}, 6},
    {"GroupedConv", {1, 4, 6, 6}, "Conv<group = 2>(x, w)", {6, 2, 3, 3}, 6},
    {"DepthwiseConv", {1, 6, 6, 6}, "Conv<group = 6>(x, w)", {6, 1, 3, 3}, 6},
    {"ConvTranspose", {1, 4, 6, 6}, "ConvTranspose(x, w)", {4, 6, 2, 2}, 6},
    {"GroupedConvTranspose", {1, 4, 6, 6}, "ConvTranspose<group = 2>(x, w)", {4, 3, 2, 2}, 6},
    {"DepthwiseConvTranspose", {1, 16, 6, 6}, "ConvTranspose<group = 16>(x, w)", {16, 1, 2, 2}, 16},
    {"MultiplierConvTranspose", {1, 4, 6, 6}, "ConvTranspose<group = 4>(x, w)", {4, 2, 2, 2}, 8},
    {"Gemm", {5, 64}, "Gemm(x, w)", {64, 6}, 6},
    {"GemmTransposed", {5, 64}, "Gemm<transB = 1>(x, w)", {6, 64}, 6},
};

/// The layer with a BatchNormalization behind it that multiplies channel c by factors[c].
Model normalized(const LayerCase& layer, const std::vector<float>& factors) {
  std::string dims;
  for (const std::int64_t dim : layer.input) dims += (dims.empty() ? "" : ",") + std::to_string(dim);
  const std::string result = layer.input.size() == 2 ? "a,b" : "a,b,c,d";
  const Shape shape{layer.channels};
  return model_of("g (float[" + dims + "] x) => (float[" + result + "] y) { [layer] c = " + layer.node +
                      "\n [norm] y = BatchNormalization (c, s, o, m, v) }",
                  {{"w", bell(layer.weight, 3, 0.2F)},
                   {"s", Tensor::of(shape, factors)},
                   {"o", bell(shape, 4, 0.1F)},
                   {"m", bell(shape, 5, 0.1F)},
                   {"v", Tensor::of(shape, std::vector<float>(static_cast<std::size_t>(layer.channels), 1))}});
}

std::vector<float> falling(std::int64_t channels, double each) {
  std::vector<float> factors;
  for (std::int64_t c = 0; c < channels; ++c)
    factors.push_back(static_cast<float>(std::pow(each, static_cast<double>(c))));
  return factors;
}

TEST(Preparation, RaisesNoErrorByMoreThanOneDecibel) {
  for (const LayerCase& layer : kLayers) {
    const Samples samples = bell_samples("x", layer.input, 4);
    for (const double each : {1.0, 0.5, 0.1}) {
      const Model model = normalized(layer, falling(layer.channels, each));
      for (const Format format : {Format::Int8, Format::Float8E4M3FN, Format::Float16}) {
        for (const bool per_channel : {true, false}) {
          const double behind = all_low_db(model, samples, format, per_channel, false);
          const double prepared = all_low_db(model, samples, format, per_channel, true);
          EXPECT_GE(prepared, behind - 1)
              << layer.name << " " << format_name(format) << " factors " << each << (per_channel ? "" : " per tensor");
        }
      }
    }
  }
}

TEST(Preparation, KeepsEveryChannelOfADepthwiseConvTranspose) {
  const LayerCase& layer = *std::ranges::find(kLayers, "DepthwiseConvTranspose", &LayerCase::name);
  const Samples samples = bell_samples("x", layer.input, 4);
  EXPECT_GT(all_low_db(normalized(layer, falling(16, 0.5)), samples, Format::Int8, true, true), 35);
}

}  // namespace
}  // namespace vernier::testing
