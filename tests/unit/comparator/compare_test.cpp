#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "comparator/align.h"
#include "comparator/pairing.h"
#include "comparator/top_k.h"
#include "options/compare_function.h"
#include "tensors.h"
#include "vernier/comparison.h"
#include "vernier/error.h"
#include "vernier/runs.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using namespace testing;

Iteration iteration(std::vector<NamedTensor> outputs) { return {std::move(outputs), {}}; }

IterationComparison compare(const Iteration& got, const Iteration& ref, const CompareOptions& options = {}) {
  return compare_iterations(0, got, ref, options, /*detail=*/false);
}

std::string message(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return std::string(error.what()) + " | " + error.hint();
  }
  return "nothing was thrown";
}

TEST(PairOutputs, ByNameThenAlikeThenPosition) {
  const Tensor value = floats({1});
  const Pairing pairing = pair_outputs(iteration({{"y", value}, {"Scores", value}, {"third", value}}),
                                       iteration({{"scores_0", value}, {"y", value}, {"z", value}}));
  ASSERT_EQ(pairing.pairs.size(), 3U);
  EXPECT_EQ(pairing.pairs[0].ref, 1U);
  EXPECT_EQ(pairing.pairs[0].how, "");
  EXPECT_EQ(pairing.pairs[1].ref, 0U);
  EXPECT_EQ(pairing.pairs[1].how, "the names are alike");
  EXPECT_EQ(pairing.pairs[2].ref, 2U);
  EXPECT_EQ(pairing.pairs[2].how, "they are at the same position");
  EXPECT_TRUE(pairing.unmatched.empty());
}

TEST(PairOutputs, SaysWhatHasNoPartner) {
  const Tensor value = floats({1});
  const Pairing pairing =
      pair_outputs(iteration({{"y", value}, {"y_1", value}, {"w", value}}), iteration({{"y", value}, {"q", value}}));
  ASSERT_EQ(pairing.pairs.size(), 1U);
  EXPECT_EQ(pairing.unmatched,
            "2 outputs have no partner in the reference: 'y_1', 'w'; 1 output of the reference has none: 'q'");
}

TEST(PairOutputs, NamesAFewOfManyWithoutPartner) {
  Iteration many = iteration({{"y", floats({1})}});
  for (int i = 0; i < 83; ++i) many.outputs.push_back({std::to_string(245 + i), floats({1})});
  const Pairing pairing = pair_outputs(many, iteration({{"y", floats({1})}}));
  EXPECT_EQ(pairing.unmatched,
            "83 outputs have no partner in the reference: '245', '246', '247', '248', '249' and 78 more");
}

TEST(AlignedTo, PermutesBeforeItReshapes) {
  const Tensor tensor = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto permuted = aligned_to(tensor, {3, 2});
  ASSERT_TRUE(permuted);
  EXPECT_EQ(permuted->how, "permuted from (2, 3) to (3, 2)");
  EXPECT_EQ(std::vector<float>(permuted->tensor.floats().begin(), permuted->tensor.floats().end()),
            (std::vector<float>{1, 4, 2, 5, 3, 6}));
  const auto reshaped = aligned_to(tensor, {6});
  ASSERT_TRUE(reshaped);
  EXPECT_EQ(reshaped->how, "reshaped from (2, 3) to (6,)");
  EXPECT_EQ(reshaped->tensor.floats()[1], 2);
  EXPECT_EQ(aligned_to(tensor, {2, 3})->how, "");
  EXPECT_FALSE(aligned_to(tensor, {5}));
}

TEST(CompareIterations, ShapesMustFit) {
  const Iteration got = iteration({{"y", floats({2, 3}, {1, 2, 3, 4, 5, 6})}});
  const Iteration ref = iteration({{"y", floats({3, 2}, {1, 4, 2, 5, 3, 6})}});
  const IterationComparison strict = compare(got, ref);
  EXPECT_FALSE(strict.passed);
  EXPECT_FALSE(strict.outputs[0].results[0].compared);
  EXPECT_EQ(strict.outputs[0].results[0].reason,
            "shapes (2, 3) and (3, 2) differ; ‹no-shape-check› compares the values anyway");
  CompareOptions loose;
  loose.shape_check = false;
  const IterationComparison aligned = compare(got, ref, loose);
  EXPECT_TRUE(aligned.passed);
  EXPECT_EQ(aligned.outputs[0].aligned, "permuted from (3, 2) to (2, 3)");
  const Iteration short_one = iteration({{"y", floats({1, 2})}});
  EXPECT_EQ(compare(short_one, ref, loose).outputs[0].results[0].reason,
            "shapes (2,) and (3, 2) hold different numbers of elements");
}

TEST(CompareIterations, StatisticsOfTheValuesCanBeLeftOut) {
  CompareOptions options;
  options.functions = {CompareFunction::Sqnr, CompareFunction::Simple};
  options.statistics = false;
  const OutputComparison output =
      compare(iteration({{"y", floats({1, 2})}}), iteration({{"y", floats({1, 3})}}), options).outputs.at(0);
  EXPECT_EQ(output.values.count, 0);
  EXPECT_FALSE(output.histogram || output.reference_histogram);
  EXPECT_EQ(output.results.at(0).value, 10);  // 10 log10(10 / 1)
  EXPECT_EQ(output.results.at(1).absolute.count, 2) << "errors are what is compared";
}

TEST(CompareIterations, TolerancesFollowTheCoarserType) {
  const auto result = [](const Tensor& got, const Tensor& ref, const CompareOptions& options = {}) {
    return compare(iteration({{"y", got}}), iteration({{"y", ref}}), options).outputs[0].results[0];
  };
  const FunctionResult half = result(float16s({0x3C00}), floats({1}));
  EXPECT_TRUE(half.default_tolerance);
  EXPECT_EQ(half.rtol, 1e-3);
  EXPECT_EQ(half.atol, 1e-5);
  EXPECT_EQ(result(floats({1}), floats({1})).rtol, 1e-5);
  EXPECT_EQ(result(doubles({1}), doubles({1})).rtol, 1e-7);
  EXPECT_EQ(result(int64s({1}), int64s({1})).atol, 0);
  EXPECT_FALSE(result(int64s({1000000}), int64s({1000001})).passed);
  CompareOptions options;
  options.atol.general = 1;
  options.rtol.own["y"] = 2;
  const FunctionResult given = result(float16s({0x3C00}), floats({1}), options);
  EXPECT_FALSE(given.default_tolerance);
  EXPECT_EQ(given.atol, 1);
  EXPECT_EQ(given.rtol, 2);
}

TEST(CompareIterations, AllFunctionsMustPass) {
  CompareOptions options;
  options.functions = {CompareFunction::CosineSimilarity, CompareFunction::L2};
  const IterationComparison result =
      compare(iteration({{"y", floats({1, 2})}}), iteration({{"y", floats({2, 4})}}), options);
  EXPECT_TRUE(result.outputs[0].results[0].passed);
  EXPECT_FALSE(result.outputs[0].results[1].passed);
  EXPECT_EQ(result.outputs[0].results[1].reason, "L2 Norm is 2.2361; 1e-05 is the most allowed");
  EXPECT_FALSE(result.passed);
}

TEST(CompareIterations, AFigureOfWhatIsLeftDoesNotPass) {
  CompareOptions options;
  options.functions = {CompareFunction::Sqnr};
  const IterationComparison result =
      compare(iteration({{"y", floats({1, kNan})}}), iteration({{"y", floats({1, 2})}}), options);
  const FunctionResult& sqnr = result.outputs[0].results[0];
  EXPECT_FALSE(sqnr.passed);
  EXPECT_TRUE(std::isinf(sqnr.value));
  EXPECT_EQ(sqnr.reason, "1 of 2 values is not finite, the first at (1,): nan against 2");
}

TEST(CompareIterations, AnUnknownOutputIsAnErrorBeforeAnythingIsCompared) {
  const Iteration run = iteration({{"scores", floats({1})}});
  CompareOptions options;
  options.atol.own["score"] = 1;
  EXPECT_EQ(message([&] { compare(run, run, options); }), "‹atol›: there is no output 'score' | nearest: scores");
  options = {};
  options.thresholds[CompareFunction::L2].own["x"] = 1;
  EXPECT_EQ(message([&] { compare(run, run, options); }), "‹l2-threshold›: there is no output 'x' | outputs: scores");
}

TEST(CompareIterations, ASettingMayNameEitherSide) {
  CompareOptions options;
  options.atol.own["Y_out"] = 5;
  EXPECT_TRUE(compare(iteration({{"y", floats({1})}}), iteration({{"Y_out", floats({5})}}), options).passed);
}

TEST(CompareIterations, NothingInCommonIsNoPass) {
  EXPECT_FALSE(compare(iteration({}), iteration({})).passed);
  const IterationComparison result = compare(iteration({}), iteration({{"y", floats({1})}}));
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.unmatched, "1 output of the reference has no partner: 'y'");
}

TEST(CompareIterations, StringsAreNoNumbers) {
  const Iteration run = iteration({{"y", Tensor(Dtype::String, {2})}});
  EXPECT_EQ(compare(run, run).outputs[0].results[0].reason, "string elements are not numbers");
}

TEST(RequireValid, AveragesNeedAFigure) {
  CompareOptions options;
  options.check_average = true;
  EXPECT_EQ(message([&] { require_valid(options); }),
            "‹check-average›: elemwise has no statistic to average | ‹check-error-stat› max, mean, median or quantile");
  options.error_stat.general = ErrorStat::Max;
  EXPECT_NO_THROW(require_valid(options));
  options.error_stat.own["y"] = ErrorStat::Elemwise;
  EXPECT_THROW(require_valid(options), Error);
  options = {};
  options.check_average = true;
  options.functions = {CompareFunction::Indices};
  EXPECT_THROW(require_valid(options), Error);
}

TEST(RequireValid, RefusesWhatIsOutOfRange) {
  CompareOptions options;
  options.atol.general = -1;
  EXPECT_THROW(require_valid(options), Error);
  options = {};
  options.error_quantile.general = 1.5;
  EXPECT_THROW(require_valid(options), Error);
  options = {};
  options.thresholds[CompareFunction::CosineSimilarity].general = 2;
  EXPECT_THROW(require_valid(options), Error);
  options = {};
  options.functions.clear();
  EXPECT_THROW(require_valid(options), Error);
}

TEST(PairTally, CountsIterations) {
  PairTally tally("a", "b", {});
  EXPECT_FALSE(tally.summary().passed);  // nothing was compared
  const Iteration run = iteration({{"y", floats({1})}});
  tally.add(compare(run, run));
  EXPECT_TRUE(tally.summary().passed);
  tally.add(compare(run, iteration({{"y", floats({2})}})));
  const PairSummary summary = tally.summary();
  EXPECT_FALSE(summary.passed);
  EXPECT_EQ(summary.passed_iterations, 1U);
  EXPECT_EQ(summary.iterations, 2U);
  EXPECT_TRUE(std::isinf(*summary.best_sqnr_db));
}

TEST(PairTally, AveragesOverIterations) {
  CompareOptions options;
  options.functions = {CompareFunction::L2, CompareFunction::Simple};
  options.check_average = true;
  options.thresholds[CompareFunction::L2].general = 2;
  options.error_stat.general = ErrorStat::Max;
  options.atol.general = 1.5;
  PairTally tally("a", "b", options);
  const Iteration ref = iteration({{"y", floats({0})}});
  for (const float error : {1.0F, 3.0F}) {
    tally.add(compare(iteration({{"y", floats({error})}}), ref, options));
  }
  const PairSummary summary = tally.summary();
  const std::vector<FunctionResult>& results = summary.averages.at("y");
  EXPECT_EQ(results[0].value, 2);
  EXPECT_TRUE(results[0].passed);
  EXPECT_EQ(results[1].absolute_figures.max, 2);
  EXPECT_FALSE(results[1].passed);
  EXPECT_FALSE(summary.passed);
}

TEST(PairTally, AnIterationWithoutFiguresFailsTheAverage) {
  CompareOptions options;
  options.functions = {CompareFunction::L2};
  options.check_average = true;
  PairTally tally("a", "b", options);
  const Iteration run = iteration({{"y", floats({1})}});
  tally.add(compare(run, run, options));
  tally.add(compare_iterations(1, iteration({{"y", floats({1, 2})}}), run, options, false));
  const FunctionResult result = tally.summary().averages.at("y")[0];
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.reason.substr(0, 26), "iteration 1: shapes (2,) a");
}

TEST(TopK, GivesTheIndicesOfTheLargest) {
  const auto indices = [](const Tensor& tensor) {
    return std::vector<std::int64_t>(tensor.int64s().begin(), tensor.int64s().end());
  };
  const Tensor values = floats({2, 3}, {1, 9, 9, 4, kNan, 5});
  EXPECT_EQ(indices(top_k(values, 2)), (std::vector<std::int64_t>{1, 2, 2, 0}));
  EXPECT_EQ(top_k(values, 2).shape(), (Shape{2, 2}));
  EXPECT_EQ(indices(top_k(values, 1, 0)), (std::vector<std::int64_t>{1, 0, 0}));
  EXPECT_EQ(top_k(values, 99).shape(), (Shape{2, 3}));
  EXPECT_EQ(indices(top_k(int64s({3, 1, 3}), 3)), (std::vector<std::int64_t>{0, 2, 1}));
  EXPECT_THROW(top_k(values, 1, 2), Error);
  EXPECT_THROW(top_k(floats(Shape{}, {1}), 1), Error);
}

TEST(Postprocess, ReplacesOutputsThatHaveASetting) {
  Iteration run = iteration({{"y", floats({1, 3, 2})}, {"z", floats({1, 3, 2})}});
  PerOutput<TopK> options;
  options.own["z"] = {1, -1};
  postprocess(run, options);
  EXPECT_EQ(run.outputs[0].tensor.dtype(), Dtype::Float32);
  EXPECT_EQ(run.outputs[1].tensor.int64s()[0], 1);
}

}  // namespace
}  // namespace vernier
