#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace vernier {
namespace {

// Later items are faster, so that threads finish out of order.
int slow_square(std::size_t i) {
  std::this_thread::sleep_for(std::chrono::microseconds(400 - 10 * (i % 40)));
  return static_cast<int>(i * i);
}

TEST(ParallelOrdered, TakesResultsInOrderWhicheverThreadWasFaster) {
  for (const std::size_t threads : {1U, 2U, 7U}) {
    std::vector<std::size_t> order;
    std::vector<int> results;
    parallel_ordered(100, threads, slow_square, [&](std::size_t i, int result) {
      order.push_back(i);
      results.push_back(result);
      return true;
    });
    std::vector<std::size_t> expected(100);
    std::iota(expected.begin(), expected.end(), std::size_t{0});
    EXPECT_EQ(order, expected) << threads << " threads";
    EXPECT_EQ(results.back(), 99 * 99) << threads << " threads";
  }
}

TEST(ParallelOrdered, StartsNoMoreWorkOnceTakeIsContent) {
  constexpr std::size_t kThreads = 4;
  std::atomic<std::size_t> started = 0;
  std::size_t taken = 0;
  const auto work = [&](std::size_t i) {
    ++started;
    return slow_square(i);
  };
  parallel_ordered(1000, kThreads, work, [&](std::size_t, int) { return ++taken < 10; });
  EXPECT_EQ(taken, 10U);
  // Each other thread has at most one item under way while the tenth is taken.
  EXPECT_LE(started, 10 + kThreads);
}

TEST(ParallelOrdered, IsHelpedByThreadsThatOthersLeave) {
  SpareThreads spare;
  spare.begin(0);
  std::latch together(3);
  const auto work = [&](std::size_t i) {
    // Alone at first: two more come while it waits for them.
    if (i == 0) {
      spare.give();
      spare.give();
    }
    if (i < 3) together.arrive_and_wait();
    return slow_square(i);
  };
  std::vector<int> results;
  parallel_ordered(
      40, 3, work,
      [&](std::size_t i, int result) {
        EXPECT_EQ(results.size(), i);
        results.push_back(result);
        return true;
      },
      &spare);
  EXPECT_EQ(results.size(), 40U);
  const auto at_once = std::make_unique<std::stop_source>();
  at_once->request_stop();
  const SpareThreads::Lent first = spare.take(at_once->get_token()), second = spare.take(at_once->get_token());
  EXPECT_TRUE(first && second) << "both are given back";
  EXPECT_FALSE(spare.take(at_once->get_token())) << "there are no more";
}

TEST(ParallelOrdered, NeedsNoHelp) {
  SpareThreads spare;
  std::set<std::thread::id> threads;
  std::size_t taken = 0;
  const auto work = [](std::size_t i) { return std::pair(slow_square(i), std::this_thread::get_id()); };
  parallel_ordered(
      20, 4, work,
      [&](std::size_t, const std::pair<int, std::thread::id>& result) {
        threads.insert(result.second);
        return ++taken < 10;
      },
      &spare);
  EXPECT_EQ(taken, 10U);
  EXPECT_EQ(threads.size(), 1U);
  EXPECT_THROW(parallel_ordered(
                   20, 4,
                   [](std::size_t i) -> int {
                     if (i == 5) throw std::runtime_error("five");
                     return 0;
                   },
                   [](std::size_t, int) { return true; }, &spare),
               std::runtime_error);
}

TEST(ParallelOrdered, HandsQuickItemsOutInRuns) {
  std::size_t handed = 0, next = 0;
  std::thread::id last;
  parallel_ordered(
      100'000, 3, [](std::size_t i) { return i; },
      [&](std::size_t i, std::size_t result) {
        EXPECT_EQ(i, next++);
        EXPECT_EQ(result, i);
        if (std::this_thread::get_id() != last) ++handed;
        last = std::this_thread::get_id();
        return true;
      });
  EXPECT_EQ(next, 100'000U);
  EXPECT_LT(handed, 10'000U);
}

TEST(ParallelOrdered, LetsOthersWorkWhileAResultIsTaken) {
  std::atomic<bool> worked = false;
  parallel_ordered(
      2, 2,
      [&](std::size_t i) {
        if (i == 1) worked = true;
        return i;
      },
      [&](std::size_t i, std::size_t) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (i == 0 && !worked && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        return true;
      });
  EXPECT_TRUE(worked);
}

TEST(ParallelOrdered, RethrowsWhatWorkThrew) {
  std::size_t taken = 0;
  const auto work = [](std::size_t i) {
    if (i == 20) throw std::runtime_error("item 20");
    return slow_square(i);
  };
  try {
    parallel_ordered(100, 3, work, [&](std::size_t, int) {
      ++taken;
      return true;
    });
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()), "item 20");
  }
  EXPECT_LE(taken, 20U);
}

TEST(ParallelOrdered, RethrowsWhatTakeThrew) {
  const auto take = [](std::size_t i, int) {
    if (i == 5) throw std::runtime_error("no room for item 5");
    return true;
  };
  EXPECT_THROW(parallel_ordered(100, 3, slow_square, take), std::runtime_error);
}

TEST(ParallelOrdered, DoesNothingForNoItems) {
  parallel_ordered(0, 4, slow_square, [](std::size_t, int) -> bool { throw std::logic_error("nothing to take"); });
}

TEST(UsableCores, IsAtLeastOne) { EXPECT_GE(usable_cores(), 1U); }

}  // namespace
}  // namespace vernier
