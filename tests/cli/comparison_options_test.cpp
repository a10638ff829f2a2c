#include "options/comparison_options.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "vernier/comparison.h"
#include "vernier/error.h"

namespace vernier::cli {
namespace {

/// The group after `arguments`.
struct Parsed {
  CLI::App app;
  ComparisonGroup group;
  explicit Parsed(std::vector<std::string> arguments) {
    group.add(app);
    std::reverse(arguments.begin(), arguments.end());
    app.parse(std::move(arguments));
  }
};

std::string refusal(const std::vector<std::string>& arguments) {
  try {
    const Parsed parsed(arguments);
    parsed.group.values();
    parsed.group.postprocess();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(ComparisonGroup, Defaults) {
  const CompareOptions options = Parsed({}).group.values();
  EXPECT_EQ(options.functions, std::vector<CompareFunction>{CompareFunction::Simple});
  EXPECT_FALSE(options.atol.general || options.rtol.general || options.error_stat.general);
  EXPECT_TRUE(options.shape_check);
  EXPECT_TRUE(options.thresholds.empty());
}

TEST(ComparisonGroup, TheLastColonSeparatesTheOutput) {
  const CompareOptions options =
      Parsed({"--atol", "1", "y:2", "model/y:0:3", "--check-error-stat", "max", "y:0:mean"}).group.values();
  EXPECT_EQ(options.atol.general, 1);
  EXPECT_EQ(options.atol.own.at("y"), 2);
  EXPECT_EQ(options.atol.own.at("model/y:0"), 3);
  EXPECT_EQ(options.error_stat.general, ErrorStat::Max);
  EXPECT_EQ(options.error_stat.own.at("y:0"), ErrorStat::Mean);
}

TEST(ComparisonGroup, TakesEverySpellingOfThePeer) {
  const Parsed parsed({"--abs-tol",
                       "1",
                       "--rel-tol",
                       "2",
                       "--l2-tolerance",
                       "3",
                       "--psnr-tolerance",
                       "4",
                       "--snr-tolerance",
                       "5",
                       "--cosine-similarity-threshold",
                       "0.5",
                       "--index-tolerance",
                       "6",
                       "--compare-func",
                       "simple",
                       "distance_metrics",
                       "quality_metrics",
                       "indices",
                       "--no-shape-check",
                       "--infinities-compare-equal",
                       "--validate",
                       "--fail-fast",
                       "--save-accuracy-results",
                       "a.json",
                       "--error-quantile",
                       "0.5",
                       "--postprocess-func",
                       "top-3"});
  const CompareOptions options = parsed.group.values();
  EXPECT_EQ(options.functions.size(), 6U);
  EXPECT_EQ(options.thresholds.at(CompareFunction::L2).general, 3);
  EXPECT_EQ(options.thresholds.at(CompareFunction::Indices).general, 6);
  EXPECT_EQ(options.error_quantile.general, 0.5);
  EXPECT_FALSE(options.shape_check);
  EXPECT_TRUE(options.infinities_compare_equal);
  EXPECT_TRUE(parsed.group.validate && parsed.group.fail_fast);
  EXPECT_EQ(parsed.group.save_accuracy, "a.json");
  EXPECT_TRUE(parsed.group.without_effect().empty());
}

TEST(ComparisonGroup, ReadsTopK) {
  const PerOutput<TopK> top = Parsed({"--postprocess", "top-5", "y:0:top-1,axis=-2"}).group.postprocess();
  EXPECT_EQ(top.general->k, 5);
  EXPECT_EQ(top.general->axis, -1);
  EXPECT_EQ(top.own.at("y:0").k, 1);
  EXPECT_EQ(top.own.at("y:0").axis, -2);
  for (const char* wrong : {"top5", "top-", "top-0", "top-5,1", "top-5,axis=", "top-5,axis=x", "topk-5"}) {
    EXPECT_EQ(refusal({"--postprocess", wrong}).substr(0, 13), "--postprocess") << wrong;
  }
}

TEST(ComparisonGroup, RefusesWithWords) {
  EXPECT_EQ(refusal({"--atol", "-1"}), "--atol: -1 is below 0");
  EXPECT_EQ(refusal({"--cosine-similarity-threshold", "1.5"}), "--cosine-similarity-threshold: 1.5 is not in [-1, 1]");
  EXPECT_EQ(refusal({"--error-quantile", "2"}), "--error-quantile: 2 is not in [0, 1]");
  EXPECT_EQ(refusal({"--rtol", "y:1", "y:2"}), "--rtol: two values are given for output 'y'");
  EXPECT_EQ(refusal({"--compare", "simpel"}), "--compare: 'simpel' is not a comparison function");
  EXPECT_EQ(refusal({"--compare", "perceptual_metrics"}),
            "--compare: perceptual_metrics: LPIPS needs its own network, which vernier does not have");
  EXPECT_EQ(refusal({"--compare-func-script", "f.py", "--check-average", "--compare", "l2"}),
            "--check-average needs figures, but a script returns verdicts");
  EXPECT_EQ(refusal({"--lpips-threshold"}),
            "--lpips-threshold: LPIPS needs its own network, which vernier does not have");
  EXPECT_EQ(refusal({"--check-average"}), "‹check-average›: elemwise has no statistic to average");
  EXPECT_EQ(refusal({"--check-average", "--fail-fast", "--compare", "l2"}),
            "--check-average needs all iterations, but --fail-fast stops early");
}

TEST(ComparisonGroup, SaysWhatHasNoEffect) {
  EXPECT_EQ(Parsed({"--compare", "psnr", "--atol", "1", "--l2-threshold", "1"}).group.without_effect(),
            (std::vector<std::string>{"--l2-threshold has no effect: l2 is not among the functions of --compare",
                                      "--atol has no effect: simple is not among the functions of --compare"}));
}

}  // namespace
}  // namespace vernier::cli
