#include "analysis/automatic_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "analysis/paired_gain.h"
#include "analysis/trials.h"
#include "plan/calibrate.h"
#include "plan/scheme.h"
#include "tiny_networks.h"
#include "vernier/calibration.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/precision.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

CalibrationChoice choice_of(const char* text) { return *parse_calibration_method(text); }

Plan formats_of(const Subject& subject, Format format) {
  PrecisionOptions options;
  options.low = {format};
  return assign_formats(subject.model, subject.layers, options).plan;
}

/// y = x W: a product that reads x alone.
Model product() {
  return model_of(R"(
    g (float[64,16] x) => (float[64,8] y) {
      [product] y = MatMul (x, w)
    })",
                  {{"w", bell({16, 8}, 5)}});
}

/// Bells, in the last of which one value is enormous.
Samples with_outlier(float outlier) {
  std::vector<Sample> samples;
  for (std::uint32_t s = 0; s < 12; ++s) samples.push_back({{"x", bell({64, 16}, s + 1)}});
  std::vector<float> values(samples.back().at("x").floats().begin(), samples.back().at("x").floats().end());
  values[7] = outlier;
  samples.back()["x"] = Tensor::of({64, 16}, values);
  return Samples(std::move(samples));
}

Reference counted(const Subject& subject, const std::map<std::string, Format>& tensors) {
  std::set<std::string> names;
  for (const auto& [name, format] : tensors) names.insert(name);
  return run_reference(subject, names, names);
}

double noise_of(const Subject& subject, Plan plan, const std::map<std::string, RangeStats>& ranges,
                const Reference& reference) {
  calibrate_plan(plan, subject.model, subject.layers, ranges);
  RoundedWeights weights;
  return log_noise(
      run_trial(subject, plan, reference, weights, nullptr, all_samples(subject), false).outputs.at("y").pooled);
}

TEST(ChosenRanges, DoNotDependOnThreads) {
  const Samples samples = bell_samples("x", kConvNetInput, 9, 1.2F);
  Subject subject = subject_of(model_of(kConvNet, conv_net_weights()), samples);
  const Plan plan = formats_of(subject, Format::Int8);
  const auto tensors = formats_to_calibrate(subject.model, subject.layers, plan);
  const Reference one = counted(subject, tensors);
  subject.threads = 4;
  const Reference four = counted(subject, tensors);
  EXPECT_EQ(one.histograms, four.histograms);
  for (const char* method : {"minmax", "percentile:99", "entropy", "mse", "aciq"}) {
    EXPECT_EQ(choose_ranges(choice_of(method), tensors, one, 1).ranges,
              choose_ranges(choice_of(method), tensors, four, 4).ranges)
        << method;
  }
  EXPECT_EQ(choose_automatically(subject, plan, tensors, four).chosen.ranges,
            choose_automatically(subject, plan, tensors, one).chosen.ranges);
}

TEST(ChosenRanges, WithoutCountsAreTheSmallestAndLargestValue) {
  const Samples samples = with_outlier(9);
  const Subject subject = subject_of(product(), samples);
  const Reference reference = run_reference(subject, {"x"});
  const auto chosen = choose_ranges(choice_of("mse"), {{"x", Format::Int8}}, reference, 1);
  EXPECT_EQ(chosen.ranges.at("x"), reference.ranges.at("x"));
  EXPECT_TRUE(to_count(choice_of("minmax"), {{"x", Format::Int8}}).empty());
  EXPECT_EQ(to_count(choice_of("auto"), {{"x", Format::Int8}}).size(), 1U);
}

TEST(ChosenRanges, LeaveAMaskOutAndSaySo) {
  const Samples samples = with_outlier(-1e9F);
  const Subject subject = subject_of(product(), samples);
  const std::map<std::string, Format> tensors{{"x", Format::Int8}};
  const Reference reference = counted(subject, tensors);
  EXPECT_EQ(maybe_masked(tensors, reference.ranges), (std::set<std::string>{"x"}));
  for (const char* method : {"minmax", "percentile", "entropy", "mse", "aciq"}) {
    const ChosenRanges chosen = choose_ranges(choice_of(method), tensors, reference, 1);
    EXPECT_LT(chosen.ranges.at("x").absmax(), 10) << method;
    EXPECT_EQ(chosen.masks.at("x").count, 1) << method;
  }
}

TEST(ChosenRanges, RefuseAMethodThatMeansNothingForAFormat) {
  EXPECT_EQ(error_of([] {
              check_method(choice_of("entropy"), {{"x", Format::Float8E4M3FN}});
            }).kind(),
            ErrorKind::Usage);
  EXPECT_NO_THROW(check_method(choice_of("mse"), {{"x", Format::Float8E4M3FN}}));
}

TEST(AutomaticRanges, AreSurelyBetterThanMinmaxOrMinmax) {
  for (const float outlier : {4.0F, 30.0F}) {
    const Samples samples = with_outlier(outlier);
    const Subject subject = subject_of(product(), samples);
    const Plan plan = formats_of(subject, Format::Int8);
    const auto tensors = formats_to_calibrate(subject.model, subject.layers, plan);
    const Reference reference = counted(subject, tensors);
    const AutomaticRanges automatic = choose_automatically(subject, plan, tensors, reference);
    const double minmax =
        noise_of(subject, plan, choose_ranges(choice_of("minmax"), tensors, reference, 1).ranges, reference);
    EXPECT_LE(noise_of(subject, plan, automatic.chosen.ranges, reference), minmax) << outlier;
    EXPECT_TRUE(automatic.methods.contains("x"));
    EXPECT_NE(automatic.answer.find("on 12 samples that their ranges were not learned from"), std::string::npos)
        << automatic.answer;
  }
}

/// Every sample holds `large` once among a bell's values.
Samples each_with(const std::vector<float>& large) {
  std::vector<Sample> samples;
  for (std::uint32_t s = 0; s < large.size(); ++s) {
    const Tensor x = bell({64, 16}, s + 1);
    std::vector<float> values(x.floats().begin(), x.floats().end());
    values[7] = large[s];
    samples.push_back({{"x", Tensor::of({64, 16}, values)}});
  }
  return Samples(std::move(samples));
}

TEST(AutomaticRanges, AGainThatHangsOnOneSampleIsNone) {
  const auto methods_for = [](const std::vector<float>& large) {
    const Samples samples = each_with(large);
    const Subject subject = subject_of(product(), samples);
    const Plan plan = formats_of(subject, Format::Int8);
    const auto tensors = formats_to_calibrate(subject.model, subject.layers, plan);
    return choose_automatically(subject, plan, tensors, counted(subject, tensors)).methods.at("x");
  };
  EXPECT_EQ(methods_for({9, 9, 9, 9, 9, 9, 9, 9}), "minmax") << "clipping 9 to 4 costs more than finer steps give";
  EXPECT_EQ(methods_for({1, 1, 1, 1, 1, 1, 1, 40}), "minmax") << "the half with 40 alone would gain by clipping it";
}

TEST(PairedGain, OfAllSamplesIsSureOfOneSampleIsNot) {
  const Noise before{{1, 2, 3, 4, 5, 6, 7, 8}};
  Noise after = before;
  for (double& energy : after[0]) energy *= 0.8;
  EXPECT_NEAR(gain_over(before, after).nats, std::log(1 / 0.8), 1e-12);
  EXPECT_NEAR(gain_over(before, after).scatter, 0, 1e-12);
  // An undecided sample holds nearly all the noise, and lost most of it: 2.2 nats, of which the others know nothing.
  const Gain chance = gain_over({{1, 1, 1, 1, 1, 1, 1, 500}}, {{2, 2, 2, 2, 2, 2, 2, 40}});
  EXPECT_GT(chance.nats, 2);
  EXPECT_LT(chance.sure(), 0);
  EXPECT_GT(gain_over({{1, 1}}, {{0, 0}}).sure(), 100) << "exact";
  EXPECT_LT(gain_over({{3}}, {{1}}).sure(), 0) << "one sample";
}

TEST(PairedGain, OfTheTypicalSampleTakesNoNoticeOfHowLargeOneIs) {
  const Gain gain = typical_gain({-6, -5, -7, 2}, {-6.5, -5.5, -7.5, 1.5});
  EXPECT_NEAR(gain.nats, 0.5, 1e-12);
  EXPECT_NEAR(gain.scatter, 0, 1e-12);
  // 1, 0, 0, 0: mean 1/4, and a standard error of sqrt(3/4 / 12).
  EXPECT_NEAR(typical_gain({1, 0, 0, 0}, {0, 0, 0, 0}).scatter, 0.25, 1e-12);
  EXPECT_LT(typical_gain({1}, {0}).sure(), 0) << "one sample";
}

TEST(AutomaticRanges, ASoftmaxBehindDoesNotChangeThem) {
  const Tensor some = bell({16, 8}, 5);
  std::vector<float> weights(some.floats().begin(), some.floats().end());
  std::fill_n(weights.begin() + 7L * 8, 8, 0.0F);  // what reads column 7, which alone holds large values
  const auto largest = [&](const char* text, float factor) {
    std::vector<Sample> samples;
    for (std::uint32_t s = 0; s < 12; ++s) {
      // Factor 40: all samples but one are decided beyond doubt, so that their probabilities have no error at all.
      const Tensor x = bell({64, 16}, s + 1);
      std::vector<float> values(x.floats().begin(), x.floats().end());
      for (float& value : values) value *= s == 5 ? 0.01F : factor;
      values[7] = 50 * factor;
      samples.push_back({{"x", Tensor::of({64, 16}, values)}});
    }
    const Samples source{std::move(samples)};
    const Subject subject = subject_of(model_of(text, {{"w", Tensor::of({16, 8}, weights)}}), source);
    const Plan plan = formats_of(subject, Format::Int8);
    const auto tensors = formats_to_calibrate(subject.model, subject.layers, plan);
    const AutomaticRanges chosen = choose_automatically(subject, plan, tensors, counted(subject, tensors));
    return chosen.chosen.ranges.at("x").absmax();
  };
  const char* bare = "g (float[64,16] x) => (float[64,8] y) { [product] y = MatMul (x, w) }";
  const char* decided = R"(
    g (float[64,16] x) => (float[512] y) <int64[1] all = {-1}> {
      [product] z = MatMul (x, w)
      [softmax] p = Softmax (z)
      [moved] y = Reshape (p, all)
    })";
  for (const float factor : {1.0F, 40.0F}) {
    EXPECT_LT(largest(bare, factor), 25 * factor) << "nothing reads the large values: finer steps are all gain";
    EXPECT_EQ(largest(decided, factor), largest(bare, factor)) << factor;
  }
}

TEST(AutomaticRanges, WorkForFloat8AndOneSample) {
  const Samples samples = bell_samples("x", {64, 16}, 1);
  const Subject subject = subject_of(product(), samples);
  const Plan plan = formats_of(subject, Format::Float8E4M3FN);
  const auto tensors = formats_to_calibrate(subject.model, subject.layers, plan);
  const AutomaticRanges automatic = choose_automatically(subject, plan, tensors, counted(subject, tensors));
  EXPECT_EQ(automatic.methods.at("x"), "minmax") << "one sample is no evidence against it";
}

}  // namespace
}  // namespace vernier::testing
