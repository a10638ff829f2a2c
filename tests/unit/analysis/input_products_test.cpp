#include "analysis/input_products.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "analysis/reference.h"
#include "tiny_networks.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

/// By hand: what a Conv of `kernel` [M, C / groups, kh, kw] multiplies with, without strides, padded by zeros.
InputProducts by_hand(const std::vector<Tensor>& inputs, std::int64_t groups, std::int64_t kernel, std::int64_t pad) {
  const Shape& shape = inputs.front().shape();
  const std::int64_t per_group = shape[1] / groups;
  InputProducts products;
  products.groups = static_cast<std::size_t>(groups);
  products.inputs = static_cast<std::size_t>(per_group * kernel * kernel);
  products.sums.resize(products.groups * products.inputs * products.inputs);
  for (const Tensor& x : inputs) {
    const auto at = [&](std::int64_t c, std::int64_t h, std::int64_t w) {
      const bool inside = h >= 0 && w >= 0 && h < shape[2] && w < shape[3];
      return inside ? x.floats()[static_cast<std::size_t>((c * shape[2] + h) * shape[3] + w)] : 0.0F;
    };
    for (std::int64_t g = 0; g < groups; ++g) {
      for (std::int64_t h = -pad; h + kernel <= shape[2] + pad; ++h) {
        for (std::int64_t w = -pad; w + kernel <= shape[3] + pad; ++w) {
          std::vector<float> patch;
          for (std::int64_t c = 0; c < per_group; ++c) {
            for (std::int64_t k = 0; k < kernel * kernel; ++k) {
              patch.push_back(at(g * per_group + c, h + k / kernel, w + k % kernel));
            }
          }
          float* sums = products.sums.data() + static_cast<std::size_t>(g) * products.inputs * products.inputs;
          for (std::size_t i = 0; i < patch.size(); ++i) {
            for (std::size_t j = 0; j < patch.size(); ++j) sums[i * patch.size() + j] += patch[i] * patch[j];
          }
        }
      }
    }
  }
  return products;
}

void expect_near(const InputProducts& got, const InputProducts& wanted) {
  EXPECT_EQ(got.groups, wanted.groups);
  EXPECT_EQ(got.inputs, wanted.inputs);
  ASSERT_EQ(got.sums.size(), wanted.sums.size());
  for (std::size_t i = 0; i < got.sums.size(); ++i) ASSERT_NEAR(got.sums[i], wanted.sums[i], 1e-3) << i;
}

InputProducts measure(const std::string& graph, const NamedTensors& weights, const Samples& samples) {
  const Subject subject = subject_of(model_of(graph, weights), samples);
  const Reference reference = run_reference(subject, tensors_to_observe(subject));
  return input_products(subject, {"layer"}, reference.shapes, {all_samples(subject)}).at("layer").front();
}

TEST(InputProducts, OfPartsAreThoseOfTheirSamples) {
  const auto sample = [](float value) {
    return Sample{{"x", Tensor::of({1, 2}, std::vector<float>{value, 2 * value})}};
  };
  const Samples samples({sample(1), sample(3), sample(2)});
  const Subject subject = subject_of(model_of("g (float[1,2] x) => (float[1,1] y) { [layer] y = MatMul(x, w) }",
                                              {{"w", Tensor::of({2, 1}, std::vector<float>{1, 1})}}),
                                     samples);
  const Reference reference = run_reference(subject, tensors_to_observe(subject));
  const auto parts = input_products(subject, {"layer"}, reference.shapes, {{0, 2}, {1}}).at("layer");
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].sums, (std::vector<float>{5, 10, 10, 20}));
  EXPECT_EQ(parts[1].sums, (std::vector<float>{9, 18, 18, 36}));
}

TEST(InputProducts, OfAConvArePatchesWithTheirPadding) {
  const Samples samples = bell_samples("x", {1, 4, 5, 6}, 3);
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < 3; ++i) inputs.push_back(samples.at(i).at("x"));
  const Tensor grouped = Tensor::of({4, 2, 3, 3}, std::vector<float>(72, 0.1F));
  expect_near(measure("g (float[1,4,5,6] x) => (float[1,4,5,6] y)"
                      " { [layer] y = Conv<group = 2, pads = [1, 1, 1, 1]>(x, w) }",
                      {{"w", grouped}}, samples),
              by_hand(inputs, 2, 3, 1));
}

TEST(InputProducts, OfAMatMulAreItsRows) {
  const Samples samples = bell_samples("x", {2, 3, 4}, 2);
  InputProducts wanted{1, 4, std::vector<float>(16)};
  for (std::size_t s = 0; s < 2; ++s) {
    const Tensor x = samples.at(s).at("x");
    for (std::size_t row = 0; row < 6; ++row) {
      for (std::size_t i = 0; i < 16; ++i) {
        wanted.sums[i] += x.floats()[row * 4 + i / 4] * x.floats()[row * 4 + i % 4];
      }
    }
  }
  expect_near(measure("g (float[2,3,4] x) => (float[2,3,2] y) { [layer] y = MatMul(x, w) }",
                      {{"w", Tensor::of({4, 2}, std::vector<float>(8, 0.5F))}}, samples),
              wanted);
}

}  // namespace
}  // namespace vernier::testing
