#include <gtest/gtest.h>

#include <string>

#include "tensors.h"
#include "vernier/accuracy_record.h"
#include "vernier/comparison.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using namespace testing;

AccuracyRecord record_of(const CompareOptions& options, const Tensor& got, const Tensor& ref) {
  AccuracyRecord record;
  record.add("low", "ref", compare_iterations(0, {{{"y", got}}, {}}, {{{"y", ref}}, {}}, options, false));
  return record;
}

bool passes(AccuracyRecord record, const AccuracyRecord::Again& again) {
  record.judge_again(again);
  return record.rows()[0].iterations[0].passed;
}

std::string refusal(AccuracyRecord record, const AccuracyRecord::Again& again) {
  try {
    record.judge_again(again);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

AccuracyRecord::Again tolerances(double atol, double rtol) {
  AccuracyRecord::Again again;
  again.atol.general = atol;
  again.rtol.general = rtol;
  return again;
}

TEST(JudgeAgain, WithoutThresholdsVerdictsStay) {
  EXPECT_FALSE(passes(record_of({}, floats({1, 2}), floats({1, 3})), {}));
  EXPECT_TRUE(passes(record_of({}, floats({1, 2}), floats({1, 2})), {}));
}

TEST(JudgeAgain, ElemwiseWhereTheLargestErrorOrTheOldVerdictDecides) {
  // Errors 1 (a quarter) and 2 (the half): passes by neither alone at atol 1, rtol 0.25.
  const AccuracyRecord record = record_of({}, floats({5, 6}), floats({4, 4}));
  EXPECT_TRUE(passes(record, tolerances(2, 0)));
  EXPECT_TRUE(passes(record, tolerances(0, 0.5)));
  EXPECT_FALSE(passes(record, tolerances(1e-6, 1e-6)));  // tighter than what failed
  EXPECT_EQ(
      refusal(record, tolerances(1, 0.25)),
      "output 'y': the largest errors, 2 and 0.5, do not show whether each element is within atol 1 or rtol 0.25");
  CompareOptions loose;
  loose.atol.general = 1;
  loose.rtol.general = 0.5;
  EXPECT_TRUE(passes(record_of(loose, floats({5, 600}), floats({4, 500})), tolerances(1.5, 0.5)));
}

TEST(JudgeAgain, AStatisticOfTheRecord) {
  const AccuracyRecord record = record_of({}, floats({5, 7}), floats({4, 4}));  // errors 1 and 3
  AccuracyRecord::Again again = tolerances(2, 0);
  again.error_stat.general = ErrorStat::Mean;
  EXPECT_TRUE(passes(record, again));
  again.error_stat.general = ErrorStat::Max;
  EXPECT_FALSE(passes(record, again));
  again.error_stat.general = ErrorStat::Quantile;
  EXPECT_EQ(refusal(record, again), "output 'y': the file holds no quantile of the errors");
}

TEST(JudgeAgain, OtherFunctions) {
  CompareOptions options;
  options.functions = {CompareFunction::L2, CompareFunction::Snr};
  const AccuracyRecord record = record_of(options, floats({5, 6}), floats({4, 4}));
  AccuracyRecord::Again again;
  again.thresholds[CompareFunction::L2].own["y"] = 3;
  EXPECT_FALSE(passes(record, again));  // snr stays failed
  again.functions = {CompareFunction::L2};
  EXPECT_TRUE(passes(record, again));
}

TEST(JudgeAgain, RefusesWhatTheFileDoesNotHold) {
  const AccuracyRecord record = record_of({}, floats({1}), floats({1}));
  AccuracyRecord::Again again;
  again.thresholds[CompareFunction::L2].general = 1;
  EXPECT_EQ(refusal(record, again), "‹l2-threshold›: the file holds no figures of l2");
  again = {};
  again.functions = {CompareFunction::Psnr};
  EXPECT_EQ(refusal(record, again), "‹compare›: the file holds no figures of psnr");
  again = {};
  again.rtol.own["x"] = 1;
  EXPECT_EQ(refusal(record, again), "‹rtol›: the file holds no output 'x'");
}

TEST(JudgeAgain, WhatWasNotComparedStaysFailed) {
  EXPECT_FALSE(passes(record_of({}, floats({1}), floats({1, 2})), tolerances(100, 100)));
}

}  // namespace
}  // namespace vernier
