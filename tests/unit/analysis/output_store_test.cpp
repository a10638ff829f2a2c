#include "analysis/output_store.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <thread>
#include <utility>

#include "tiny_networks.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

TEST(OutputStore, GivesBackEveryBitInAnyOrder) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Tensor> first{bell({2, 3}, 1), Tensor::of({3}, std::vector<float>{nan, -0.0F, 1e-45F})};
  const std::vector<Tensor> second{Tensor(Dtype::Float32, {0, 4}), Tensor::of_int64({}, std::vector<std::int64_t>{-7})};
  OutputStore store;
  store.put(2, first);
  store.put(0, second);
  for (const auto& [index, expected] : {std::pair{std::size_t{2}, first}, {std::size_t{0}, second}}) {
    const std::vector<Tensor> got = store.get(index);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(got[i], expected[i])) << index << " " << i;
  }
  EXPECT_TRUE(store.get(1).empty());
}

TEST(OutputStore, IsReadFromSeveralThreads) {
  OutputStore store;
  for (std::uint32_t i = 0; i < 20; ++i) store.put(i, {bell({100}, i)});
  std::vector<int> wrong(4, 0);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t) {
      threads.emplace_back([&, t] {
        for (std::uint32_t i = 0; i < 20; ++i) wrong[t] += same_bits(store.get(i).front(), bell({100}, i)) ? 0 : 1;
      });
    }
  }
  EXPECT_EQ(wrong, (std::vector<int>{0, 0, 0, 0}));
}

TEST(OutputStore, KeepsItsContentWhenMoved) {
  OutputStore store;
  store.put(0, {bell({5}, 1)});
  OutputStore moved(std::move(store));
  EXPECT_TRUE(same_bits(moved.get(0).front(), bell({5}, 1)));
  OutputStore assigned;
  assigned.put(0, {bell({5}, 2)});
  assigned = std::move(moved);
  EXPECT_TRUE(same_bits(assigned.get(0).front(), bell({5}, 1)));
}

TEST(OutputStore, LeavesNoFileBehind) {
  const TempFolder folder;
  const ScopedVariable variable("TMPDIR", folder.path().c_str());
  OutputStore store;
  store.put(0, {bell({5}, 1)});
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(OutputStore, IsInMemoryWhereNoFileCanBeMade) {
  const ScopedVariable variable("TMPDIR", "/nowhere/at/all");
  OutputStore store;
  store.put(0, {bell({5}, 1)});
  EXPECT_TRUE(same_bits(store.get(0).front(), bell({5}, 1)));
}

}  // namespace
}  // namespace vernier::testing
