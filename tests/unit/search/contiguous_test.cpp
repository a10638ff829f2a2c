// The searches that users know, on lists whose answer is known.
#include "search/contiguous.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "search/certificate.h"

namespace vernier {
namespace {

/// Passes when every item of `needed` is kept; records how many items each call kept.
struct NeedsAll {
  KeptSet needed;
  mutable std::vector<std::size_t> counts = {};

  Oracle oracle() const {
    return [this](const KeptSet& kept) {
      counts.push_back(kept.size());
      const bool good = std::includes(kept.begin(), kept.end(), needed.begin(), needed.end());
      return Trial{.verdict = good ? Verdict::Good : Verdict::Bad, .damage = good ? 0.5 : 2.0};
    };
  }
};

std::vector<std::size_t> forward(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

std::vector<std::size_t> reverse(std::size_t count) {
  std::vector<std::size_t> order = forward(count);
  std::reverse(order.begin(), order.end());
  return order;
}

TEST(SearchBisect, AsksForAllThenHalfThenThreeQuarters) {
  const NeedsAll net{{5}};
  const MinimalResult result = search_bisect(forward(8), net.oracle(), {});
  EXPECT_EQ(result.end, SearchEnd::Found);
  EXPECT_EQ(result.kept, (KeptSet{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(net.counts, (std::vector<std::size_t>{8, 0, 4, 6, 5}));
  EXPECT_EQ(result.trials, 5U);
}

TEST(SearchBisect, GoesFromTheEndWhenReversed) {
  const NeedsAll net{{5}};
  const MinimalResult result = search_bisect(reverse(8), net.oracle(), {});
  EXPECT_EQ(result.kept, (KeptSet{5, 6, 7}));
}

TEST(SearchBisect, NeedingEveryLayerIsAnAnswer) {
  const NeedsAll net{{0, 7}};
  const MinimalResult result = search_bisect(forward(8), net.oracle(), {});
  EXPECT_EQ(result.end, SearchEnd::Found);
  EXPECT_EQ(result.kept.size(), 8U);
  EXPECT_EQ(net.counts, (std::vector<std::size_t>{8, 0, 4, 6, 7}));
}

TEST(SearchBisect, FindsEveryPrefixOfEveryLength) {
  for (std::size_t count = 1; count <= 20; ++count) {
    for (std::size_t last = 0; last < count; ++last) {
      const NeedsAll net{{last}};
      const MinimalResult result = search_bisect(forward(count), net.oracle(), {});
      EXPECT_EQ(result.kept.size(), last + 1) << count;
      EXPECT_LE(net.counts.size(), 3 + static_cast<std::size_t>(std::ceil(std::log2(count)))) << count;
    }
  }
}

TEST(SearchBisect, SaysWhenNothingPassesAndWhenEverythingDoes) {
  const auto always = [](Verdict verdict) {
    return Oracle([verdict](const KeptSet&) { return Trial{.verdict = verdict}; });
  };
  EXPECT_EQ(search_bisect(forward(8), always(Verdict::Bad), {}).end, SearchEnd::Impossible);
  EXPECT_EQ(search_bisect(forward(8), always(Verdict::Bad), {}).trials, 2U);
  EXPECT_EQ(search_bisect(forward(8), always(Verdict::Good), {}).end, SearchEnd::NothingNeeded);
  EXPECT_EQ(search_bisect(forward(8), always(Verdict::TimedOut), {}).end, SearchEnd::Impossible);
  EXPECT_EQ(search_linear(forward(8), 1, always(Verdict::Invalid), {}).end, SearchEnd::Impossible);
}

TEST(SearchBisect, NeedsNothingWhereOnlyAllLowPasses) {
  const Oracle oracle = [](const KeptSet& kept) {
    return Trial{.verdict = kept.empty() ? Verdict::Good : Verdict::Bad};
  };
  EXPECT_EQ(search_bisect(forward(8), oracle, {}).end, SearchEnd::NothingNeeded);
  EXPECT_EQ(search_linear(forward(8), 1, oracle, {}).end, SearchEnd::NothingNeeded);
}

TEST(SearchBisect, ReturnsWhatPassedWhenItsBudgetEnds) {
  const NeedsAll net{{5}};
  MinimalOptions options;
  options.max_trials = 4;
  const MinimalResult result = search_bisect(forward(8), net.oracle(), options);
  EXPECT_EQ(result.end, SearchEnd::Stopped);
  EXPECT_EQ(result.kept.size(), 6U);
  EXPECT_EQ(result.final_trial.verdict, Verdict::Good);
}

TEST(SearchLinear, CountsUpInSteps) {
  const NeedsAll net{{5}};
  EXPECT_EQ(search_linear(forward(8), 1, net.oracle(), {}).kept.size(), 6U);
  EXPECT_EQ(net.counts, (std::vector<std::size_t>{8, 0, 1, 2, 3, 4, 5, 6}));
  net.counts.clear();
  EXPECT_EQ(search_linear({5, 1, 2, 3, 4, 0, 6, 7}, 3, net.oracle(), {}).kept, (KeptSet{1, 2, 5}));
  EXPECT_EQ(net.counts, (std::vector<std::size_t>{8, 0, 3}));
}

TEST(SearchLinear, SaysThatAnOracleIsNotMonotone) {
  const Oracle oracle = [](const KeptSet& kept) {
    return Trial{.verdict = kept.size() == 3 || kept.size() == 8 ? Verdict::Good : Verdict::Bad};
  };
  const MinimalResult bisected = search_bisect(reverse(8), oracle, {});
  EXPECT_EQ(bisected.kept.size(), 8U);
  EXPECT_EQ(search_linear(forward(8), 1, oracle, {}).kept.size(), 3U);
}

}  // namespace
}  // namespace vernier
