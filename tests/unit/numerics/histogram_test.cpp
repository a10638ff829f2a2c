// What test_ranges.py does not see: threads, halves, and values at the edges of bins. Methods are tested there, against
// NumPy.
#include "numerics/histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "numerics/distribution.h"

namespace vernier {
namespace {

ValueHistogram of(const std::vector<float>& values) {
  ValueHistogram histogram;
  histogram.add(values);
  return histogram;
}

std::vector<float> waves(std::size_t n, float step) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i)
    values[i] = std::sin(static_cast<float>(i) * step) * std::exp2(static_cast<float>(i % 30) - 20);
  return values;
}

TEST(ValueHistogram, BinsAreHalfOpenAwayFromZero) {
  const float below_two = std::nextafter(2.0F, 0.0F);
  EXPECT_EQ(of({1, 1, below_two, 2, -2, 0, -0.0F}).bins(), (std::vector<Bin>{{-2 - 1.0F / 256, -2, 1},
                                                                             {0, 0, 2},
                                                                             {1, 1 + 1.0F / 512, 2},
                                                                             {2 - 1.0F / 512, 2, 1},
                                                                             {2, 2 + 1.0F / 256, 1}}));
}

TEST(ValueHistogram, LargestAndSmallestFloatsHaveBins) {
  const float largest = std::numeric_limits<float>::max();
  const float smallest = std::numeric_limits<float>::min();
  const std::vector<Bin> bins = of({largest, -largest, smallest, smallest / 2}).bins();
  ASSERT_EQ(bins.size(), 4U);
  EXPECT_EQ(bins.front().low, -largest);
  EXPECT_EQ(bins.back().high, largest);
  EXPECT_EQ(bins[1], (Bin{0, 0, 1})) << "a subnormal counts as zero";
  EXPECT_EQ(bins[2].low, smallest);
}

TEST(ValueHistogram, AddingIsExactInAnyOrder) {
  const ValueHistogram a = of(waves(5000, 0.37F));
  const ValueHistogram b = of(waves(777, 1.1F));
  ValueHistogram ab = a;
  ab += b;
  ValueHistogram ba = b;
  ba += a;
  EXPECT_EQ(ab, ba);
  std::vector<float> all = waves(777, 1.1F);
  for (const float value : waves(5000, 0.37F)) all.push_back(value);
  EXPECT_EQ(of(all), ab);
}

TEST(ValueHistogram, CountsWhatIsNotFiniteAndNothingElseOfIt) {
  const float infinity = std::numeric_limits<float>::infinity();
  const ValueHistogram histogram = of({infinity, -infinity, std::nanf(""), 1});
  EXPECT_EQ(histogram.range().nonfinite, 3);
  EXPECT_EQ(histogram.bins(), (std::vector<Bin>{{1, 1 + 1.0F / 512, 1}}));
  EXPECT_EQ(of({2, 2}).bins().front().count, 2) << "nothing is left over from the call before";
}

TEST(ValueHistogram, OfTheEndsAloneTellsTheSameOfThem) {
  RangeStats inner;
  inner.min = -0.3F;
  inner.max = 0.7F;
  const std::vector<float> values = waves(5000, 0.37F);
  ValueHistogram ends(inner);
  ends.add(std::span(values).first(2000));
  ends.add(std::span(values).subspan(2000));
  ends.add(std::vector<float>(1500));  // nothing but inner values
  std::vector<float> all = values;
  all.resize(values.size() + 1500);
  const Distribution of_ends = distribution_of(ends), whole = distribution_of(of(all));
  EXPECT_EQ(ends.range(), of(all).range());
  EXPECT_LT(of_ends.bins.size(), whole.bins.size() / 2);
  for (const float beyond : {0.7F, 0.71F, 0.9F, 100.0F}) {
    EXPECT_EQ(share_beyond(of_ends, -beyond, beyond), share_beyond(whole, -beyond, beyond)) << beyond;
  }
  EXPECT_EQ(share_beyond(of_ends, -0.3F, 0.7F), share_beyond(whole, -0.3F, 0.7F));
  EXPECT_EQ(ValueHistogram(ends.range(), ends.counts()), ends);
}

TEST(SharedHistograms, HoldTheSameWhoeverFillsThem) {
  const auto filled = [](std::size_t threads) {
    auto shared = std::make_unique<SharedHistograms>(std::vector<bool>{true, true, false}, 10);
    std::vector<std::jthread> pool;
    for (std::size_t t = 0; t < threads; ++t) {
      pool.emplace_back([&shared = *shared, t, threads] {
        for (std::size_t sample = t; sample < 10; sample += threads) {
          shared.add(0, sample, waves(3000, 0.1F * static_cast<float>(sample + 1)));
          shared.add(1, sample, waves(10, 0.2F * static_cast<float>(sample + 1)));
        }
      });
    }
    pool.clear();
    return shared;
  };
  const auto one = filled(1);
  const auto four = filled(4);
  for (const std::size_t tensor : {0U, 1U}) {
    for (const std::size_t half : {0U, 1U}) EXPECT_EQ(one->halves(tensor).at(half), four->halves(tensor).at(half));
  }
  EXPECT_EQ(one->halves(0)[0].range().count, 5 * 3000);
  EXPECT_FALSE(one->wants(2));
}

TEST(Distribution, ShareBeyondCountsCutBinsInPart) {
  const Distribution values = distribution_of(of({-1, 0, 1, 2, 3}));
  EXPECT_EQ(share_beyond(values, -1, 3), 0);
  EXPECT_EQ(share_beyond(values, 0, 3), 0.2);
  EXPECT_EQ(share_beyond(values, -1, 1.5F), 0.4);
  EXPECT_EQ(share_beyond(values, -1, 1 + 1.0F / 1024), 0.5) << "half of the bin that holds the 1";
  EXPECT_EQ(share_beyond(values, 5, 6), 1);
  EXPECT_EQ(share_beyond({}, 0, 1), 0);
}

}  // namespace
}  // namespace vernier
