#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "report/text/values_text.h"
#include "vernier/accuracy_record.h"
#include "vernier/comparison.h"
#include "vernier/report/comparison.h"
#include "vernier/runs.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor values(std::vector<float> floats) {
  const auto count = static_cast<std::int64_t>(floats.size());
  return Tensor::of({count}, floats);
}

FunctionResult simple_result(bool passed) {
  FunctionResult result;
  result.passed = passed;
  result.atol = 1e-5;
  result.rtol = 1e-3;
  result.required_atol = 0.5;
  result.required_rtol = 0.25;
  result.absolute.count = result.relative.count = 2;
  result.absolute.max = 0.5;
  result.absolute.max_at = 1;
  if (!passed) {
    result.reason = "1 of 2 elements is above both atol 1e-05 and rtol 0.001, the first at (1,): 2.5 against 2";
    result.absolute_histogram = Histogram{0, 0.5, {1, 1}};
  }
  return result;
}

IterationComparison comparison(std::vector<FunctionResult> results) {
  IterationComparison iteration;
  OutputComparison& output = iteration.outputs.emplace_back();
  output.output = output.reference = "y";
  output.dtype = output.reference_dtype = Dtype::Float32;
  output.shape = output.reference_shape = {2};
  output.values.count = output.reference_values.count = 2;
  output.passed = true;
  for (const FunctionResult& result : results) output.passed = output.passed && result.passed;
  output.results = std::move(results);
  iteration.passed = output.passed;
  return iteration;
}

std::string text_of(const IterationComparison& iteration, const ComparisonTextOptions& options = {}) {
  const Iteration got{{{"y", values({1, 2.5F})}}, {}};
  const Iteration ref{{{"y", values({1, 2})}}, {}};
  return iteration_to_text(iteration, "low", "ref", got, ref, options);
}

const std::string kNoStats =
    "mean=0, std-dev=0, var=0, median=0, min=0 at (0,), max=0 at (0,), avg-magnitude=0, p90=0, p95=0, p99=0\n";

TEST(PairHeader, SaysWhichSideIsTheReference) {
  EXPECT_EQ(pair_header_to_text("low", "ref", {}), "[I] Accuracy Comparison | low vs. ref | Reference: ref\n");
}

TEST(IterationToText, OfAFailure) {
  EXPECT_EQ(
      text_of(comparison({simple_result(false)})),
      "[I] Iteration: 0\n"
      "[I]     simple | Comparing Output: 'y' (dtype=float32, shape=(2,)) with 'y' (dtype=float32, shape=(2,))\n"
      "[I]         Tolerance: [abs=1e-05, rel=0.001] | Checking elemwise error\n"
      "[I]         Error Metrics: y\n"
      "[I]             Minimum Required Tolerance: elemwise error | [abs=0.5] OR [rel=0.25] (requirements may be "
      "lower if both abs/rel tolerances are set)\n"
      "[I]             Absolute Difference | Stats: mean=0, std-dev=0, var=0, median=0, min=0 at (0,), max=0.5 at "
      "(1,), avg-magnitude=0, p90=0, p95=0, p99=0\n"
      "[I]                 ---- Histogram ----\n"
      "                    Bin Range    |  Num Elems | Visualization\n"
      "                    (0   , 0.25) |          1 | ########################################\n"
      "                    (0.25, 0.5 ) |          1 | ########################################\n"
      "[I]             Relative Difference | Stats: " +
          kNoStats +
          "[E]         FAILED | Output: 'y' | Difference exceeds tolerance (rel=0.001, abs=1e-05) | 1 of 2 elements "
          "is above both atol 1e-05 and rtol 0.001, the first at (1,): 2.5 against 2\n"
          "[E]     FAILED | simple | Mismatched outputs: ['y']\n"
          "[I]     low: y | Stats: " +
          kNoStats +
          "[I]         ---- Values ----\n"
          "                [  1 2.5]\n"
          "[I]     ref: y | Stats: " +
          kNoStats +
          "[I]         ---- Values ----\n"
          "                [1 2]\n");
}

TEST(IterationToText, OfASuccessIsShorter) {
  const std::string text = text_of(comparison({simple_result(true)}));
  EXPECT_EQ(text.find("----"), std::string::npos);
  EXPECT_NE(text.find("[I]         PASSED | Output: 'y' | Difference is within tolerance (rel=0.001, abs=1e-05)\n"
                      "[I]     PASSED | simple | All outputs matched | Outputs: ['y']\n"),
            std::string::npos);
  ComparisonTextOptions detail;
  detail.detail = true;
  EXPECT_NE(text_of(comparison({simple_result(true)}), detail).find("---- Values ----"), std::string::npos);
}

TEST(IterationToText, NamesADefaultTolerance) {
  FunctionResult result = simple_result(true);
  result.default_tolerance = true;
  IterationComparison iteration = comparison({result});
  iteration.outputs[0].dtype = Dtype::Float16;
  EXPECT_NE(text_of(iteration).find("| Checking elemwise error | default for float16\n"), std::string::npos);
}

TEST(IterationToText, OfOneFigure) {
  FunctionResult psnr;
  psnr.function = CompareFunction::Psnr;
  psnr.value = 29.999999;
  psnr.threshold = 30;
  psnr.left_out = "3 of 256 values are not finite, the first at (0,): nan against 1";
  const std::string text = text_of(comparison({psnr}));
  EXPECT_NE(text.find("[I]     PSNR | Comparing Output: 'y'"), std::string::npos);
  EXPECT_NE(text.find("[W]         3 of 256 values are not finite, the first at (0,): nan against 1: left out of the "
                      "figures\n"
                      "[E]         PSNR: 29.999999 dB (min required: 30 dB) | FAILED\n"
                      "[E]     FAILED | PSNR | Mismatched outputs: ['y']\n"),
            std::string::npos)
      << text;
}

TEST(IterationToText, SaysWhyNothingWasCompared) {
  FunctionResult result;
  result.compared = false;
  result.reason = "shapes (2,) and (3,) differ";
  IterationComparison iteration = comparison({result});
  iteration.outputs[0].matched = "the names are alike";
  iteration.outputs[0].reference = "y_1";
  iteration.unmatched = "1 output of the reference has no partner: 'z'";
  const std::string text = text_of(iteration);
  EXPECT_NE(text.find("[W]     1 output of the reference has no partner: 'z'\n"), std::string::npos);
  EXPECT_NE(
      text.find("[W]         Output names did not match exactly: 'y' is compared with 'y_1', because the names are "
                "alike\n"
                "[E]         FAILED | Output: 'y' | shapes (2,) and (3,) differ\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text_of(IterationComparison{}).find("[E]     FAILED | Nothing was compared"), std::string::npos);
}

TEST(IterationToText, ColoursWholeLinesOnlyWhenAsked) {
  ComparisonTextOptions options;
  EXPECT_EQ(text_of(comparison({simple_result(false)}), options).find('\x1b'), std::string::npos);
  options.color = true;
  EXPECT_NE(text_of(comparison({simple_result(false)}), options).find("\x1b["), std::string::npos);
}

TEST(SummaryToText, CountsIterations) {
  PairSummary summary;
  summary.run = "low";
  summary.reference = "ref";
  summary.iterations = 4;
  summary.passed_iterations = 3;
  summary.best_sqnr_db = 40;
  EXPECT_EQ(summary_to_text(summary, {}),
            "[E] Accuracy Summary | low vs. ref | Passed: 3/4 iterations | Pass Rate: 75.00%\n");
  summary.iterations = 0;
  EXPECT_EQ(summary_to_text(summary, {}),
            "[E] Accuracy Summary | low vs. ref | Nothing was compared: there was no iteration\n");
}

TEST(SummaryToText, AdvisesWhereEverythingIsWrong) {
  PairSummary summary;
  summary.run = "low";
  summary.reference = "ref";
  summary.iterations = 1;
  summary.best_sqnr_db = -1.25;
  EXPECT_EQ(summary_to_text(summary, {}),
            "[E] Accuracy Summary | low vs. ref | Passed: 0/1 iterations | Pass Rate: 0.00%\n"
            "[W] All outputs are wrong: in no output and no iteration is the SQNR above -1.2 dB. Look at "
            "preprocessing before layers, and at calibration data where a run is quantized\n");
}

TEST(SummaryToText, OfAverages) {
  PairSummary summary;
  summary.run = "low";
  summary.reference = "ref";
  summary.iterations = 2;
  summary.check_average = true;
  FunctionResult l2;
  l2.function = CompareFunction::L2;
  l2.value = 2;
  l2.threshold = 1;
  FunctionResult simple = simple_result(true);
  simple.stat = ErrorStat::Max;
  simple.absolute_figures.max = 0.5;
  summary.averages["y"] = {l2, simple};
  EXPECT_EQ(summary_to_text(summary, {}),
            "[E] Accuracy Summary | low vs. ref | Passed: 0/1 outputs\n"
            "[E]     y | FAILED:\n"
            "[E]         L2 Norm: 2 (tolerance: 1) | FAILED\n"
            "[I]         max error: [abs=0.5] OR [rel=0] (tolerance: abs=1e-05, rel=0.001) | PASSED\n");
}

TEST(ValuesToText, LooksLikeNumpy) {
  EXPECT_EQ(values_to_text(Tensor::of({2, 2}, std::vector<float>{1, -2, 0.5F, 3})), "[[  1  -2]\n [0.5   3]]");
  EXPECT_EQ(values_to_text(Tensor::of({2, 1, 1}, std::vector<float>{1, 2})), "[[[1]]\n\n [[2]]]");
  EXPECT_EQ(values_to_text(Tensor::of({}, std::vector<float>{1.5F})), "1.5");
  EXPECT_EQ(values_to_text(Tensor::of({0}, {})), "[]");
  Tensor bools(Dtype::Bool, {2});
  bools.mutable_bytes()[1] = std::byte{1};
  EXPECT_EQ(values_to_text(bools), "[False  True]");
  EXPECT_EQ(values_to_text(Tensor(Dtype::String, {2})), "(strings)");
  EXPECT_EQ(values_to_text(Tensor(Dtype::Int8, {60})).find('\n'), 75U - 1);
}

TEST(AccuracyRecord, SurvivesItsFile) {
  FunctionResult l2;
  l2.function = CompareFunction::L2;
  l2.value = kInfinity;
  l2.threshold = 1;
  l2.reason = "L2 Norm is inf; 1 is the most allowed";
  FunctionResult ulp;
  ulp.function = CompareFunction::Ulp;
  ulp.value = 7;
  ulp.threshold = 4;
  ulp.not_finite = 2;
  ulp.left_out = "2 of 4 values are not finite";
  ulp.reason = "a \"quoted\" reason";
  FunctionResult simple = simple_result(false);
  simple.absolute_figures = {0.5, std::numeric_limits<double>::quiet_NaN(), 0.25, 0.125};
  AccuracyRecord record;
  record.add("low", "ref", comparison({simple, l2, ulp}));
  const std::string json = record.to_json({});
  EXPECT_NE(json.find("\"mean_absdiff\": NaN"), std::string::npos);
  EXPECT_NE(json.find("\"l2_norm\": Infinity"), std::string::npos);
  EXPECT_NE(json.find("\"atol\": 1e-05"), std::string::npos);

  const AccuracyRecord read = AccuracyRecord::from_json(json, "a.json");
  ASSERT_EQ(read.rows().size(), 1U);
  const OutputComparison& output = read.rows()[0].iterations.at(0).outputs.at(0);
  EXPECT_FALSE(output.passed);
  ASSERT_EQ(output.results.size(), 3U);
  EXPECT_EQ(output.results[0].atol, 1e-5);
  EXPECT_EQ(output.results[0].reason, simple.reason);
  EXPECT_EQ(*output.results[0].absolute_figures.quantile, 0.125);
  EXPECT_EQ(output.results[1].value, kInfinity);
  EXPECT_EQ(output.results[2].function, CompareFunction::Ulp);
  EXPECT_EQ(output.results[2].value, 7);
  EXPECT_EQ(output.results[2].reason, ulp.reason);
  EXPECT_EQ(read.to_json({}), json);
}

}  // namespace
}  // namespace vernier
