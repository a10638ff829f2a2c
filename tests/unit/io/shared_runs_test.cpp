// One saved run read by several threads, as `run` and `data diff` do.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "temp_files.h"
#include "vernier/runs.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

class SharedRuns : public ::testing::TestWithParam<const char*> {};

TEST_P(SharedRuns, ThreadsReadEveryIteration) {
  constexpr std::size_t kIterations = 12;
  constexpr std::size_t kThreads = 4;
  const TempFolder folder;
  RunWriter writer(folder / GetParam(), {"a"});
  for (std::size_t i = 0; i < kIterations; ++i) {
    writer.add(0, {{{"y", Tensor::of({1, 3}, std::vector<float>(3, static_cast<float>(i)))}}, 0.5});
  }
  writer.finish();
  const auto runs = open_runs(folder / GetParam());
  std::atomic<std::size_t> right{0};
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = 0; i < kIterations; ++i) {
          const std::size_t at = (i + 5 * t) % kIterations;
          const Iteration read = runs[0]->at(at);
          if (read.outputs.at(0).tensor.floats()[2] == static_cast<float>(at)) ++right;
        }
      });
    }
  }
  EXPECT_EQ(right, kThreads * kIterations);
}

INSTANTIATE_TEST_SUITE_P(Forms, SharedRuns, ::testing::Values("runs.json", "runs.npz", "folder"));

}  // namespace
}  // namespace vernier
