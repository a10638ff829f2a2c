#include "jobs/reduce/reducer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/text.h"
#include "jobs/reduce/shrink.h"
#include "model/type_protos.h"
#include "tiny_networks.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"
#include "vernier/verdict.h"

namespace vernier::testing {
namespace {

/// A chain of 32 nodes with residual branches: n3 adds what n0 made, and so on.
Model ladder() {
  std::string text = "g (float[1,4] x) => (float[1,4] t31) {\n";
  for (int i = 0; i < 32; ++i) {
    const std::string from = i == 0 ? "x" : fmt::format("t{}", i - 1);
    text += i % 4 == 3 ? fmt::format("t{} = Add({}, t{})\n", i, from, i - 3) : fmt::format("t{} = Relu({})\n", i, from);
  }
  return model_of(text + "}");
}

struct Judge {
  std::set<int> needed;      // bad when all of these are there
  std::set<int> unloadable;  // invalid when one of these is the first node
  int asked = 0;
  Reducer::Hooks hooks() {
    Reducer::Hooks hooks;
    hooks.judge = [this](const ReducedPart& candidate, const std::string&) {
      ++asked;
      if (unloadable.contains(candidate.nodes.front())) return Verdict::Invalid;
      const std::set<int> there(candidate.nodes.begin(), candidate.nodes.end());
      return std::includes(there.begin(), there.end(), needed.begin(), needed.end()) ? Verdict::Bad : Verdict::Good;
    };
    hooks.values = [](const std::vector<std::string>& names) {
      std::map<std::string, Tensor> values;
      for (const std::string& name : names) values[name] = Tensor::of({1, 4}, std::vector<float>{1, 2, 3, 4});
      return values;
    };
    return hooks;
  }
};

TEST(Reducer, BisectFindsASingleNodeInLogarithmicallyManyChecks) {
  for (int node = 0; node < 32; ++node) {
    Judge judge{{node}, {}};
    Reducer reducer(ladder(), infer_type_protos(ladder()), judge.hooks());
    ASSERT_EQ(reducer.reproduce(), Verdict::Bad);
    reducer.reduce_outputs(false);
    reducer.reduce_inputs(false);
    EXPECT_EQ(reducer.smallest_bad().nodes, std::vector<int>{node});
    EXPECT_LE(judge.asked, 14) << node;
  }
}

TEST(Reducer, ACandidateThatDoesNotLoadIsNeverTaken) {
  for (int node = 4; node < 32; node += 5) {
    Judge judge{{node}, {node, node - 1}};
    Reducer reducer(ladder(), infer_type_protos(ladder()), judge.hooks());
    ASSERT_EQ(reducer.reproduce(), Verdict::Bad);
    reducer.reduce_outputs(false);
    reducer.reduce_inputs(false);
    reducer.drop_nodes();
    EXPECT_TRUE(std::find(reducer.smallest_bad().nodes.begin(), reducer.smallest_bad().nodes.end(), node) !=
                reducer.smallest_bad().nodes.end());
    EXPECT_FALSE(judge.unloadable.contains(reducer.smallest_bad().nodes.front()));
  }
}

TEST(Reducer, DroppingEndsOneMinimal) {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    Judge judge;
    while (judge.needed.size() < 3) judge.needed.insert(static_cast<int>(random() % 32));
    Reducer reducer(ladder(), infer_type_protos(ladder()), judge.hooks());
    ASSERT_EQ(reducer.reproduce(), Verdict::Bad);
    reducer.reduce_outputs(false);
    reducer.reduce_inputs(false);
    reducer.drop_nodes();
    EXPECT_TRUE(reducer.is_minimal());
    const std::vector<int>& nodes = reducer.smallest_bad().nodes;
    EXPECT_EQ(std::set<int>(nodes.begin(), nodes.end()), judge.needed);
  }
}

TEST(Reducer, BranchesThatTheFirstNodeDoesNotReadAreFrozen) {
  Judge judge{{6, 7}, {}};
  Reducer reducer(ladder(), infer_type_protos(ladder()), judge.hooks());
  ASSERT_EQ(reducer.reproduce(), Verdict::Bad);
  reducer.reduce_outputs(false);
  reducer.reduce_inputs(false);
  EXPECT_EQ(reducer.smallest_bad().nodes, (std::vector<int>{6, 7}));
  EXPECT_EQ(reducer.smallest_bad().frozen, std::set<std::string>{"t4"});
  EXPECT_EQ(model_inputs(reducer.smallest_bad().model).size(), 1U);
  EXPECT_TRUE(is_initializer(reducer.smallest_bad().model, "t4"));
}

TEST(Reducer, APartThatWasSeenToBeBadIsJudgedOnlyWhenNothingSmallerIs) {
  const std::vector<std::string> outputs{"t9"};
  Judge judge{{9}, {}};
  Reducer reducer(ladder(), infer_type_protos(ladder()), judge.hooks());
  ASSERT_TRUE(reducer.start_from(reducer.ancestors(outputs), outputs));
  EXPECT_TRUE(reducer.presumed());
  EXPECT_EQ(judge.asked, 0);
  reducer.reduce_inputs(false);
  EXPECT_FALSE(reducer.presumed());
  EXPECT_TRUE(reducer.confirm());
  EXPECT_EQ(reducer.smallest_bad().nodes, std::vector<int>{9});

  Judge both{{0, 9}, {}};  // nothing shorter is bad
  Reducer whole(ladder(), infer_type_protos(ladder()), both.hooks());
  ASSERT_TRUE(whole.start_from(whole.ancestors(outputs), outputs));
  whole.reduce_inputs(false);
  EXPECT_TRUE(whole.presumed());
  EXPECT_TRUE(whole.confirm());
  EXPECT_FALSE(whole.presumed());

  Judge other{{20}, {}};  // it is not bad by itself
  Reducer wrong(ladder(), infer_type_protos(ladder()), other.hooks());
  ASSERT_TRUE(wrong.start_from(wrong.ancestors(outputs), outputs));
  EXPECT_FALSE(wrong.confirm());
  EXPECT_TRUE(wrong.smallest_bad().nodes.empty());
  EXPECT_EQ(wrong.reproduce(), Verdict::Bad);
}

TEST(Reducer, KeepsAGoodModelNearIt) {
  Judge judge{{9}, {}};
  Reducer reducer(ladder(), infer_type_protos(ladder()), judge.hooks());
  ASSERT_EQ(reducer.reproduce(), Verdict::Bad);
  reducer.reduce_outputs(false);
  reducer.reduce_inputs(false);
  const std::optional<ReducedPart> good = reducer.nearest_good();
  ASSERT_TRUE(good.has_value());
  EXPECT_FALSE(std::find(good->nodes.begin(), good->nodes.end(), 9) != good->nodes.end());
}

TEST(Reducer, AGoodModelIsNotReduced) {
  Judge judge{{99}, {}};
  Reducer reducer(ladder(), infer_type_protos(ladder()), judge.hooks());
  EXPECT_NE(reducer.reproduce(), Verdict::Bad);
}

TEST(Shrink, ConvolutionsLoseChannelsAndInputsTheirSize) {
  const Model model =
      model_of("g (float[1,8,16,16] x) => (float[1,16,14,14] y) { y = Conv(x, w) }", {{"w", bell({16, 8, 3, 3}, 1)}});
  int asked = 0;
  std::vector<std::string> notes;
  // Bad as long as the model is sound: the smallest that is left keeps a kernel's worth of input.
  const Shrunk shrunk = shrink(
      model, {{"x", {1, 8, 16, 16}}},
      [&](const Shrunk& attempt) {
        ++asked;
        const Shape weight = initializer(attempt.model, "w")->shape();
        const Shape input = model_inputs(attempt.model).front().shape;
        return weight[1] == input[1] && input[2] >= 3 && input[3] >= 3;
      },
      notes);
  EXPECT_EQ(initializer(shrunk.model, "w")->shape(), (Shape{1, 1, 3, 3}));
  EXPECT_EQ(model_inputs(shrunk.model).front().shape, (Shape{1, 1, 4, 4}));
  EXPECT_LT(asked, 40);
  const Sample sample = {{"x", bell({1, 8, 16, 16}, 2)}};
  const Tensor cropped = crop(sample, shrunk.crops).at("x");
  EXPECT_EQ(cropped.shape(), (Shape{1, 1, 4, 4}));
  EXPECT_EQ(cropped.floats()[0], sample.at("x").floats()[0]);
  EXPECT_EQ(cropped.floats()[4], sample.at("x").floats()[16]);
}

// ONNX Runtime's optimizer makes a convolution of it that reads what is not there.
TEST(Shrink, NeverAsksAboutAConvolutionWithOtherChannelsThanItsInput) {
  const Model model =
      model_of(R"(g (float[1,8,16,16] x) => (float[1,8,14,14] y) { c = Conv <group = 8> (x, w) y = Relu(c) })",
               {{"w", bell({8, 1, 3, 3}, 1)}});
  std::vector<std::string> notes;
  const Shrunk shrunk = shrink(
      model, {{"x", {1, 8, 16, 16}}}, [](const Shrunk&) { return true; }, notes);
  EXPECT_EQ(model_inputs(shrunk.model).front().shape[1], 8);
  EXPECT_LT(model_inputs(shrunk.model).front().shape[2], 16);
}

}  // namespace
}  // namespace vernier::testing
