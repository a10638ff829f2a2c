#include "analysis/alike_samples.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// An image of 300 values for each sample, and a mask.
class Images final : public SampleSource {
 public:
  std::vector<std::vector<float>> images;
  std::vector<std::int64_t> masks;
  mutable std::atomic<int> reads = 0;
  std::size_t size() const override { return images.size(); }
  Sample at(std::size_t index) const override {
    ++reads;
    const std::int64_t mask = masks.empty() ? 1 : masks[index];
    return {{"x", Tensor::of({static_cast<std::int64_t>(images[index].size())}, images[index])},
            {"mask", Tensor::of_int64({1}, std::vector<std::int64_t>{mask})}};
  }
  std::string description() const override { return "images"; }
};

std::vector<float> image(unsigned seed, float noise = 0, unsigned noise_seed = 0) {
  std::mt19937 random(seed);
  std::mt19937 other(noise_seed);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> values(300);
  for (float& value : values) value = normal(random) + noise * normal(other);
  return values;
}

using Places = std::vector<std::size_t>;

Places alike(std::vector<std::vector<float>> images, std::vector<std::int64_t> masks = {}) {
  auto source = std::make_shared<Images>();
  source->images = std::move(images);
  source->masks = std::move(masks);
  return AlikeSamples(source).first_alike();
}

TEST(AlikeSamples, CopiesAndNearCopies) {
  EXPECT_EQ(alike({image(1), image(2), image(1), image(3), image(2)}), (Places{0, 1, 0, 3, 1}));
  EXPECT_EQ(alike({image(1), image(1, 1e-4F, 7), image(1, 1e-4F, 8), image(2)}), (Places{0, 0, 0, 3}));
  EXPECT_EQ(alike({image(1), image(1, 0.03F, 7)}), (Places{0, 1})) << "30 dB apart";
  EXPECT_EQ(alike({{0, 0}, {0, 0}, {0, 1}}), (Places{0, 0, 2}));
  EXPECT_EQ(alike({}), Places{});
}

TEST(AlikeSamples, OtherTypesAndShapesTellThemApart) {
  EXPECT_EQ(alike({image(1), image(1), image(1)}, {1, 2, 1}), (Places{0, 1, 0}));
  EXPECT_EQ(alike({{1, 1}, {1, 1, 0}}), (Places{0, 1}));
}

TEST(AlikeSamples, AChainHasOneFirst) {
  std::vector<std::vector<float>> chain;
  for (int i = 0; i < 20; ++i) chain.push_back(image(1, 3e-4F * static_cast<float>(i), 9));
  EXPECT_EQ(alike(chain), Places(20, 0));
}

TEST(AlikeSamples, SamplesThatPassedAreNotReadAgain) {
  auto source = std::make_shared<Images>();
  source->images = {image(1), image(2), image(1)};
  const AlikeSamples samples(source);
  for (std::size_t i = 0; i < 2; ++i) samples.at(i);
  EXPECT_EQ(count_distinct(samples), 2U);
  EXPECT_EQ(source->reads, 3);
  EXPECT_EQ(count_distinct(*source), 3U) << "nobody compared these";
}

}  // namespace
}  // namespace vernier
