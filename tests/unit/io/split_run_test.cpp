#include "io/split_run.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vernier/runs.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Its values are 0, 1, 2 ...
Tensor numbered_tensor(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return Tensor::of(shape, values);
}

class Saved final : public Run {
 public:
  explicit Saved(std::vector<NamedTensor> outputs, std::size_t size = 1) : outputs_(std::move(outputs)), size_(size) {}
  const std::string& name() const override { return name_; }
  std::size_t size() const override { return size_; }
  Iteration at(std::size_t) const override { return {outputs_, std::nullopt}; }

 private:
  std::string name_ = "torch";
  std::vector<NamedTensor> outputs_;
  std::size_t size_;
};

Iteration of_shape(const Shape& shape) { return {{{"y", numbered_tensor(shape)}}, std::nullopt}; }

TEST(SplitRun, GivesEverySampleItsRows) {
  struct Case {
    Shape saved, like;
  };
  for (const Case& c : {Case{{4, 3}, {1, 3}}, Case{{4, 3}, {3}}, Case{{4, 1, 3}, {1, 3}}, Case{{8, 2}, {2, 2}},
                        Case{{4}, {}}, Case{{4}, {1}}}) {
    const auto run = split_run(Saved({{"y", numbered_tensor(c.saved)}}), 4, of_shape(c.like));
    ASSERT_NE(run, nullptr) << shape_text(c.saved);
    ASSERT_EQ(run->size(), 4U);
    EXPECT_EQ(run->name(), "torch");
    for (std::size_t i = 0; i < 4; ++i) {
      const Tensor part = run->at(i).outputs.at(0).tensor;
      EXPECT_EQ(part.shape(), c.like);
      EXPECT_EQ(part.floats().front(), static_cast<float>(i * part.floats().size()));
    }
  }
}

TEST(SplitRun, KeepsItsPartsAlive) {
  auto run = split_run(Saved({{"y", numbered_tensor({2, 2})}}), 2, of_shape({1, 2}));
  const Tensor part = run->at(1).outputs.at(0).tensor;
  run.reset();
  EXPECT_EQ(part.floats()[1], 3);
}

TEST(SplitRun, RefusesWhatIsNoStackOfSamples) {
  const auto split = [](const Shape& saved, const Shape& like, std::size_t samples = 4) {
    return split_run(Saved({{"y", numbered_tensor(saved)}}), samples, of_shape(like));
  };
  EXPECT_EQ(split({3, 3}, {1, 3}), nullptr) << "three rows for four samples";
  EXPECT_EQ(split({4, 2}, {1, 3}), nullptr) << "another width";
  EXPECT_EQ(split({}, {}), nullptr) << "no axis";
  EXPECT_EQ(split({1, 3}, {1, 3}, 1), nullptr) << "one sample needs no split";
  EXPECT_EQ(split_run(Saved({{"y", numbered_tensor({4, 3})}}, 2), 4, of_shape({1, 3})), nullptr)
      << "iterations already";
  EXPECT_EQ(split_run(Saved({{"z", numbered_tensor({4, 3})}}), 4, of_shape({1, 3})), nullptr) << "no namesake";
}

TEST(SplitRun, LeavesOutWhatNobodyComparesAndDoesNotDivide) {
  const Saved saved({{"y", numbered_tensor({4, 3})}, {"odd", numbered_tensor({5})}, {"even", numbered_tensor({8})}});
  const auto run = split_run(saved, 4, of_shape({1, 3}));
  ASSERT_NE(run, nullptr);
  const Iteration first = run->at(0);
  ASSERT_EQ(first.outputs.size(), 2U);
  EXPECT_EQ(first.outputs[1].name, "even");
  EXPECT_EQ(first.outputs[1].tensor.shape(), Shape{2});
}

}  // namespace
}  // namespace vernier
