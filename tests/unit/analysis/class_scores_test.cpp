// Which outputs look like class scores: small graphs of every kind.
#include "analysis/class_scores.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>

#include "tiny_networks.h"
#include "vernier/requirement.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using testing::bell;

/// Whether the only output of the network, run over two samples, looks like class scores.
bool looks_so(const std::string& text, const Shape& output, const testing::NamedTensors& weights = {},
              std::optional<Metric> wanted = {}) {
  const testing::Samples samples({});
  const Subject subject = testing::subject_of(testing::model_of(text, weights), samples);
  std::map<std::string, OutputStats> stats;
  for (std::size_t i = 0; i < 2; ++i) {
    const Tensor value = bell(output, 3);
    stats[subject.judged.front()].add_sample(i, value, value);
  }
  const Requirement requirement{wanted.value_or(Metric::MinSqnrDb), {{0.5, ""}}};
  return !class_scores(subject, stats, wanted ? &requirement : nullptr).empty();
}

const testing::NamedTensors kWeight{{"w", bell({8, 5}, 1)}, {"b", bell({5}, 2)}};

TEST(ClassScores, AreWhatASoftmaxMakesOrReads) {
  EXPECT_TRUE(
      looks_so("g (float[1,5,1,1] x) => (float[1,5] y) { s = Softmax <axis = 1> (x) y = Flatten (s) }", {1, 5}));
  EXPECT_TRUE(looks_so("g (float[1,8] x) => (float[1,5] y, float[1,5] p) { y = MatMul (x, w) p = Softmax (y) }", {1, 5},
                       kWeight));
}

// Opinion scores and landmarks look the same.
TEST(ClassScores, AreNotWhateverALinearLayerMakes) {
  EXPECT_FALSE(looks_so("g (float[1,8] x) => (float[1,5] y) { m = MatMul (x, w) y = Add (m, b) }", {1, 5}, kWeight));
  EXPECT_FALSE(looks_so("g (float[1,8] x) => (float[1,5] y) { y = Gemm (x, w, b) }", {1, 5}, kWeight));
  EXPECT_FALSE(looks_so("g (float[1,8,1,1] x) => (float[1,5,1,1] y) { y = Conv (x, w) }", {1, 5, 1, 1},
                        {{"w", bell({5, 8, 1, 1}, 1)}}));
}

TEST(ClassScores, AreNotMasksSignalsBoxesOrASingleNumber) {
  EXPECT_FALSE(looks_so("g (float[1,8] x) => (float[1,5] y) { m = MatMul (x, w) y = Sigmoid (m) }", {1, 5}, kWeight));
  EXPECT_FALSE(looks_so("g (float[1,1,8] x) => (float[1,1,5] y) { y = MatMul (x, w) }", {1, 1, 5}, kWeight));
  EXPECT_FALSE(looks_so("g (float[1,4,5] x) => (float[1,4,5] y) { y = Softmax <axis = 2> (x) }", {1, 4, 5}));
  EXPECT_FALSE(looks_so("g (float[1,8] x) => (float[1,1] y) { y = MatMul (x, w) }", {1, 1}, {{"w", bell({8, 1}, 1)}}));
  EXPECT_FALSE(looks_so("g (float[1,5] x) => (float[1,5] y) { y = Relu (x) }", {1, 5}));
  // The five largest of all scores: none belongs to a class of its own.
  EXPECT_FALSE(
      looks_so("g (float[1,8] x, int64[1] k) => (float[1,5] y) { s = Softmax (x) y, i = TopK (s, k) }", {1, 5}));
}

TEST(ClassScores, AreWhatANameOrARequirementSays) {
  EXPECT_TRUE(looks_so("g (float[1,4,8] x) => (float[1,4,5] Logits) { Logits = MatMul (x, w) }", {1, 4, 5}, kWeight));
  EXPECT_TRUE(looks_so("g (float[1,5,1,1] x) => (float[1,5,1,1] logits) { logits = Relu (x) }", {1, 5, 1, 1}));
  EXPECT_FALSE(
      looks_so("g (float[1,4,6,6] x) => (float[1,4,6,6] mask_logits) { mask_logits = Relu (x) }", {1, 4, 6, 6}));
  EXPECT_TRUE(
      looks_so("g (float[1,4,5] x) => (float[1,4,5] y) { y = Relu (x) }", {1, 4, 5}, {}, Metric::MinTop1Agreement));
}

}  // namespace
}  // namespace vernier
