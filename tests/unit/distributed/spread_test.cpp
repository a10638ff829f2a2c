#include "distributed/spread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "thread_ranks.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

void pack(const std::size_t& result, Packer& packer) { packer.put(result); }
std::size_t unpack(Unpacker& unpacker) { return unpacker.get<std::size_t>(); }

class Spread : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Spread, testing::Values(1, 2, 3, 7));

TEST_P(Spread, EveryRankTakesAllResultsInOrderAndEachItemIsWorkedOnOnce) {
  for (const std::size_t count : {0, 1, 2, 5, 100}) {
    std::atomic<std::size_t> worked = 0;
    on_ranks(GetParam(), [&](Ranks& ranks) {
      std::vector<std::size_t> taken;
      spread_ordered(
          ranks, count, 2,
          [&](std::size_t i) {
            ++worked;
            return i * i;
          },
          [&](std::size_t i, std::size_t square) {
            EXPECT_EQ(square, i * i);
            taken.push_back(i);
            return true;
          },
          pack, unpack);
      ASSERT_EQ(taken.size(), count);
      for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(taken[i], i);
    });
    EXPECT_EQ(worked, count);
  }
}

TEST_P(Spread, AllStopWhereTakeSaysSo) {
  on_ranks(GetParam(), [](Ranks& ranks) {
    std::size_t taken = 0;
    spread_ordered(
        ranks, 50, 1, [](std::size_t i) { return i; },
        [&](std::size_t i, std::size_t) {
          ++taken;
          return i < 10;
        },
        pack, unpack);
    EXPECT_EQ(taken, 11U);
    EXPECT_EQ(ranks.share({}).size(), ranks.size());  // still in step
  });
}

TEST_P(Spread, RanksShareEachRoundEvenly) {
  constexpr std::size_t kItems = 100;  // quick ones: rounds grow, and the last one is cut short
  on_ranks(GetParam(), [](Ranks& ranks) {
    std::size_t worked = 0;
    spread_ordered(
        ranks, kItems, 1, [&](std::size_t) { return ++worked; }, [](std::size_t, std::size_t) { return true; }, pack,
        unpack);
    EXPECT_NEAR(static_cast<double>(worked), static_cast<double>(kItems) / static_cast<double>(ranks.size()), 1);
  });
}

TEST_P(Spread, ByCostEveryRankTakesAllResultsInOrderAndEachItemIsWorkedOnOnce) {
  const std::vector<double> costs{1, 9, 2, 0, 5, 5, 3, 1, 1};
  std::atomic<std::size_t> worked = 0;
  on_ranks(GetParam(), [&](Ranks& ranks) {
    std::size_t taken = 0;
    spread_by_cost(
        ranks, costs, 2,
        [&](std::size_t i) {
          ++worked;
          return i * i;
        },
        [&](std::size_t i, std::size_t square) {
          EXPECT_EQ(i, taken++);
          EXPECT_EQ(square, i * i);
          return true;
        },
        pack, unpack);
    EXPECT_EQ(taken, costs.size());
  });
  EXPECT_EQ(worked, costs.size());
}

TEST_P(Spread, ByCostAnErrorOfOneRankIsThrownOnAll) {
  on_ranks(GetParam(), [](Ranks& ranks) {
    const auto run = [&] {
      spread_by_cost(
          ranks, {1, 2, 3, 4, 5, 6, 7, 8}, 1,
          [](std::size_t i) {
            if (i == 2) throw Error(ErrorKind::Input, "item 2 is broken");
            return i;
          },
          [](std::size_t, std::size_t) { return true; }, pack, unpack);
    };
    EXPECT_THROW(run(), Error);
    EXPECT_EQ(ranks.share({}).size(), ranks.size());  // still in step
  });
}

TEST(DealtByCost, TheDearestGoesFirstToWhoHasLeast) {
  EXPECT_EQ(dealt_by_cost({1, 8, 2, 7, 3, 6}, 2), (std::vector<std::size_t>{0, 0, 0, 1, 0, 1}));
  EXPECT_EQ(dealt_by_cost({}, 3), std::vector<std::size_t>{});
}

TEST_P(Spread, AnErrorOfOneRankIsThrownOnAll) {
  on_ranks(GetParam(), [](Ranks& ranks) {
    const auto run = [&] {
      spread_ordered(
          ranks, 20, 1,
          [](std::size_t i) {
            if (i == 9) throw Error(ErrorCode::SampleFile, "sample 9 is broken", "mend it");
            return i;
          },
          [](std::size_t, std::size_t) { return true; }, pack, unpack);
    };
    try {
      run();
      ADD_FAILURE() << "no error on rank " << ranks.rank();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::SampleFile);
      EXPECT_EQ(error.kind(), ErrorKind::Input);
      EXPECT_STREQ(error.what(), "sample 9 is broken");
      EXPECT_EQ(error.hint(), "mend it");
    }
    EXPECT_FALSE(ranks.end(nullptr));
  });
}

TEST(Ranks, WhoFailsEndsTheOthersWithItsMessageAndNumber) {
  on_ranks(3, [](Ranks& ranks) {
    if (ranks.rank() == 1) {
      const Error failure(ErrorKind::Input, "no such file");
      ranks.end(&failure);
      return;
    }
    try {
      ranks.share({});
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Input);
      EXPECT_STREQ(error.what(), "rank 1: no such file");
    }
  });
}

TEST(Ranks, TheFirstLearnsOfAFailureAtTheEnd) {
  on_ranks(2, [](Ranks& ranks) {
    const Error failure(ErrorKind::Backend, "out of memory");
    const auto elsewhere = ranks.end(ranks.rank() == 1 ? &failure : nullptr);
    ASSERT_EQ(elsewhere.has_value(), ranks.first());
    if (ranks.first()) {
      EXPECT_STREQ(elsewhere->what(), "rank 1: out of memory");
    }
  });
}

TEST(Ranks, NumbersAreThoseOfTheFirst) {
  on_ranks(3, [](Ranks& ranks) {
    EXPECT_EQ(ranks.of_first(10.0 + static_cast<double>(ranks.rank())), 10);
    EXPECT_EQ(ranks.of_first(std::vector{1.0, static_cast<double>(ranks.rank())}), (std::vector{1.0, 0.0}));
  });
}

TEST(Ranks, TheLeastIsThatOfAll) {
  on_ranks(3, [](Ranks& ranks) { EXPECT_EQ(ranks.least(7 - 2 * ranks.rank()), 3U); });
  EXPECT_EQ(Ranks().least(5), 5U);
}

TEST(Ranks, DifferentFilesAreRefusedOnAll) {
  on_ranks(3, [](Ranks& ranks) {
    EXPECT_NO_THROW(ranks.require_same("samples", "abc"));
    EXPECT_THROW(ranks.require_same("samples", ranks.rank() == 2 ? "abd" : "abc"), Error);
  });
}

TEST(Ranks, AgreeOnlyIfAllHaveTheSameNumber) {
  on_ranks(3, [](Ranks& ranks) {
    EXPECT_TRUE(ranks.agree_on(13));
    EXPECT_FALSE(ranks.agree_on(ranks.rank() == 1 ? 11 : 13));
    EXPECT_FALSE(ranks.agree_on(ranks.rank() == 1 ? 13 : 11));
  });
}

TEST(Ranks, WhatPartsIsAlone) {
  on_ranks(2, [](Ranks& ranks) {
    ranks.part();
    EXPECT_TRUE(ranks.alone());
    EXPECT_EQ(ranks.share({std::byte{1}}).size(), 1U);
  });
}

TEST(Wire, WhatIsPutComesBackInOrder) {
  Packer packer;
  packer.put(std::string("name \"é\""));
  packer.put(Tensor::of({2, 2}, std::vector<float>{1, 2, 3, 4}));
  packer.put(Tensor(Dtype::Float32, {0, 3}));
  packer.put(std::vector<double>{});
  const Message bytes = packer.take();
  Unpacker unpacker(bytes);
  EXPECT_EQ(unpacker.get_text(), "name \"é\"");
  EXPECT_EQ(unpacker.get_tensor().floats()[3], 4);
  EXPECT_EQ(unpacker.get_tensor().shape(), (Shape{0, 3}));
  EXPECT_TRUE(unpacker.get_vector<double>().empty());
  EXPECT_TRUE(unpacker.empty());
  EXPECT_THROW(unpacker.get<int>(), Error);
}

}  // namespace
}  // namespace vernier
