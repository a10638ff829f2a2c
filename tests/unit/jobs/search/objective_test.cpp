// What decides a trial when it is no requirement: tolerances, labels, a script.
#include "jobs/search/objective.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "tiny_networks.h"
#include "vernier/comparison.h"
#include "vernier/error.h"
#include "vernier/samples.h"
#include "vernier/search_options.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

Tensor scores(std::vector<float> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Tensor::of({1, count}, values);
}

const std::vector<std::string> kOutputs{"y"};

Trial judged(const Objective& objective, const std::vector<std::pair<Tensor, Tensor>>& ref_and_got) {
  const std::unique_ptr<Tally> tally = objective.begin(kOutputs);
  std::size_t sample = 0;
  for (const auto& [ref, got] : ref_and_got) tally->add(sample++, {ref}, {got});
  return tally->trial();
}

SearchOptions within(double atol, double rtol) {
  SearchOptions options;
  options.compare.emplace();
  options.compare->atol.general = atol;
  options.compare->rtol.general = rtol;
  return options;
}

TEST(ComparisonObjective, PassesWithinEitherTolerance) {
  const SearchOptions options = within(0.1, 0);
  const auto objective = comparison_objective(options);
  EXPECT_EQ(judged(*objective, {{scores({1, 2}), scores({1.05F, 2})}}).verdict, Verdict::Good);
  const Trial failed = judged(*objective, {{scores({1, 2}), scores({1, 2})}, {scores({1, 2}), scores({1.2F, 2})}});
  EXPECT_EQ(failed.verdict, Verdict::Bad);
  EXPECT_NEAR(failed.damage, 4, 1e-3);
  EXPECT_NE(failed.why.find("'y': ‹atol› 0.201 or ‹rtol› 0.201"), std::string::npos) << failed.why;
}

TEST(ComparisonObjective, WhatATrialNeedsIsEnough) {
  for (const float error : {0.1234567F, 1e-4F, 3.3333333F, 77.77F}) {
    const SearchOptions strict = within(1e-9, 1e-9);
    const Trial failed = judged(*comparison_objective(strict), {{scores({1, 2}), scores({1 + error, 2})}});
    ASSERT_EQ(failed.verdict, Verdict::Bad);
    const double needed = std::stod(failed.why.substr(failed.why.find("‹atol› ") + std::string_view("‹atol› ").size()));
    const SearchOptions enough = within(needed, 0);
    EXPECT_EQ(judged(*comparison_objective(enough), {{scores({1, 2}), scores({1 + error, 2})}}).verdict, Verdict::Good)
        << failed.why;
  }
}

TEST(ComparisonObjective, DamageNeverContradictsTheVerdict) {
  // Each element is within one tolerance, none of them holds for both.
  const SearchOptions options = within(0.1, 0.1);
  const Trial passed = judged(*comparison_objective(options), {{scores({0.1F, 100}), scores({0.19F, 105})}});
  EXPECT_EQ(passed.verdict, Verdict::Good);
  EXPECT_LE(passed.damage, 1);
}

TEST(ComparisonObjective, NamesValuesThatAreNotFinite) {
  const SearchOptions options = within(1, 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Trial trial = judged(*comparison_objective(options), {{scores({1, 2}), scores({nan, 2})}});
  EXPECT_EQ(trial.verdict, Verdict::Bad);
  EXPECT_NE(trial.why.find("not finite"), std::string::npos) << trial.why;
}

TEST(ComparisonObjective, ThresholdsOfOtherFunctions) {
  SearchOptions options;
  options.compare.emplace();
  options.compare->functions = {CompareFunction::Sqnr};
  options.compare->thresholds[CompareFunction::Sqnr].general = 40;
  const Trial trial = judged(*comparison_objective(options), {{scores({10, 0}), scores({10, 1})}});
  EXPECT_EQ(trial.verdict, Verdict::Bad);
  EXPECT_NEAR(trial.damage, 100, 1);  // 20 dB short
  EXPECT_NE(trial.why.find("‹sqnr-threshold› 20"), std::string::npos) << trial.why;
}

TEST(LabelObjective, CountsTheTopK) {
  const TempFolder folder;
  std::ofstream(folder / "labels.txt") << "0\n1\n\n2\n";
  const std::vector<std::pair<Tensor, Tensor>> samples{{scores({0, 0, 0}), scores({3, 2, 1})},
                                                       {scores({0, 0, 0}), scores({3, 2, 1})},
                                                       {scores({0, 0, 0}), scores({3, 2, 1})}};
  const LabelRequirement one{Labels(folder / "labels.txt"), 0, 1, 0.5};
  const Trial first = judged(*label_objective(one, 3), samples);
  EXPECT_EQ(first.verdict, Verdict::Bad);
  EXPECT_NEAR(first.metric, 1.0 / 3, 1e-9);
  const LabelRequirement two{Labels(folder / "labels.txt"), 0, 2, 0.6};
  EXPECT_EQ(judged(*label_objective(two, 3), samples).verdict, Verdict::Good);
}

TEST(Labels, AShareOfNewSamplesNeedsRoom) {
  constexpr std::size_t kSamples = 100;
  const auto verdict_with = [](std::size_t wrong, double confidence) {
    const std::vector<std::int64_t> classes(kSamples, 1);
    LabelRequirement wanted{Labels::of_values(Tensor::of_int64({kSamples}, classes)), 0, 1, 0.9};
    wanted.confidence = confidence;
    const Tensor right = scores({0, 1});
    std::vector<std::pair<Tensor, Tensor>> samples(kSamples, {right, right});
    std::fill_n(samples.begin(), wrong, std::pair(right, scores({1, 0})));
    return judged(*label_objective(wanted, kSamples), samples).verdict;
  };
  EXPECT_EQ(verdict_with(10, 0.5), Verdict::Good);
  EXPECT_EQ(verdict_with(11, 0.5), Verdict::Bad);
  // Wilson's lower end with z = 1.2816: 0.9019 of 94 right, 0.8899 of 93.
  EXPECT_EQ(verdict_with(6, 0.9), Verdict::Good);
  EXPECT_EQ(verdict_with(7, 0.9), Verdict::Bad);
}

TEST(Labels, SamplesThatRepeatOthersSayNothingOfNewOnes) {
  const std::vector<std::int64_t> classes(100, 1);
  LabelRequirement wanted{Labels::of_values(Tensor::of_int64({100}, classes)), 0, 1, 0.9};
  wanted.confidence = 0.9;
  const Tensor right = scores({0, 1});
  std::vector<std::pair<Tensor, Tensor>> samples(100, {right, right});
  std::fill_n(samples.begin(), 5, std::pair(right, scores({1, 0})));
  EXPECT_EQ(judged(*label_objective(wanted, 100), samples).verdict, Verdict::Good);
  EXPECT_EQ(judged(*label_objective(wanted, 100, 20), samples).verdict, Verdict::Bad);
}

TEST(Labels, TooFewSamplesAreRefusedWithHowManyItTakes) {
  const std::vector<std::int64_t> classes(10, 1);
  LabelRequirement wanted{Labels::of_values(Tensor::of_int64({10}, classes)), 0, 1, 0.9};
  wanted.confidence = 0.9;
  const Error few = error_of([&] { label_objective(wanted, 10); });
  EXPECT_NE(few.hint().find("at least 15 samples"), std::string::npos) << few.hint();
  wanted.confidence = 1;
  EXPECT_THROW(label_objective(wanted, 10), Error);
}

TEST(LabelObjective, RefusesWhatDoesNotFit) {
  const TempFolder folder;
  std::ofstream(folder / "labels.txt") << "0\n7\n";
  std::ofstream(folder / "words.txt") << "cat\n";
  const LabelRequirement wanted{Labels(folder / "labels.txt"), 0, 1, 0.5};
  EXPECT_THROW(label_objective(wanted, 3), Error);
  const auto objective = label_objective(wanted, 2);
  EXPECT_THROW(judged(*objective, {{scores({0}), scores({1, 2})}, {scores({0}), scores({1, 2})}}), Error);
  const LabelRequirement words{Labels(folder / "words.txt"), 0, 1, 0.5};
  EXPECT_THROW(label_objective(words, 1), Error);
  EXPECT_THROW(objective->begin({"y", "z"}), Error);
}

TEST(LabelObjective, TakesTheFirstLabelsOfAWholeSet) {
  const TempFolder folder;
  std::ofstream(folder / "labels.txt") << "0\n1\n1\n";
  const LabelRequirement wanted{Labels(folder / "labels.txt"), 0, 1, 1};
  const Trial trial = judged(*label_objective(wanted, {1, 3}), {{scores({0, 0}), scores({3, 2})}});
  EXPECT_EQ(trial.verdict, Verdict::Good);
  EXPECT_EQ(trial.metric, 1);
  try {
    label_objective(wanted, {1, 5});
    FAIL() << "labels of another set were taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("3 labels for 1 sample of 5"), std::string::npos) << error.what();
  }
}

TEST(LabelObjective, ShiftsLabelsByTheOffset) {
  const TempFolder folder;
  std::ofstream(folder / "labels.txt") << "-1\n";
  const LabelRequirement wanted{Labels(folder / "labels.txt"), 1, 1, 1};
  EXPECT_EQ(judged(*label_objective(wanted, 1), {{scores({0}), scores({5, 2})}}).verdict, Verdict::Good);
}

TEST(MetricObjective, AsksTheScript) {
  const TempFolder folder;
  std::ofstream(folder / "score.py")
      << "def metric(outputs, references):\n"
         "    assert len(outputs) == len(references) == 2\n"
         "    return sum(abs(a['y'] - b['y']).sum() for a, b in zip(outputs, references))\n";
  const MetricScript wanted{(folder / "score.py").string(), {}, 1.5};
  SourceOptions how;
  how.python = VERNIER_PYTHON;
  const auto objective = metric_objective(wanted, how);
  const Trial trial = judged(*objective, {{scores({1, 2}), scores({1, 3})}, {scores({1, 2}), scores({1, 2})}});
  EXPECT_EQ(trial.verdict, Verdict::Good);
  EXPECT_NEAR(trial.metric, 1, 1e-6);
  const Trial bad = judged(*objective, {{scores({1, 2}), scores({1, 3})}, {scores({1, 2}), scores({0, 2})}});
  EXPECT_EQ(bad.verdict, Verdict::Bad);
  EXPECT_EQ(bad.why, "‹max› 2");
}

TEST(MetricObjective, SaysWhatTheScriptDidWrong) {
  const TempFolder folder;
  SourceOptions how;
  how.python = VERNIER_PYTHON;
  for (const char* body : {"return 'good'", "raise ValueError('no')", "return float('nan')"}) {
    std::ofstream(folder / "score.py") << "def metric(outputs, references):\n    " << body << "\n";
    const MetricScript wanted{(folder / "score.py").string(), 1, {}};
    const auto objective = metric_objective(wanted, how);
    EXPECT_THROW(judged(*objective, {{scores({1}), scores({1})}}), Error) << body;
  }
  const MetricScript none{"score.txt", 1, {}};
  EXPECT_THROW(metric_objective(none, how), Error);
}

}  // namespace
}  // namespace vernier
