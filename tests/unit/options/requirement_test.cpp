#include "vernier/requirement.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "vernier/error.h"

namespace vernier {
namespace {

TEST(RequireValid, RefusesWhatNoMetricCanBe) {
  const auto said = [](Metric metric, std::vector<Limit> limits) {
    try {
      require_valid({metric, std::move(limits)});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Usage);
      return std::string(error.what());
    }
    return std::string("valid");
  };
  EXPECT_EQ(said(Metric::MinSqnrDb, {{-3, ""}, {20, "y"}}), "valid");
  EXPECT_EQ(said(Metric::MinCosine, {{-1, ""}}), "valid");
  EXPECT_EQ(said(Metric::MinCosine, {{2, ""}}), "‹min-cosine›: 2 is not in [-1, 1]");
  EXPECT_EQ(said(Metric::MinSqnrDb, {{std::nan(""), ""}}), "‹min-sqnr›: nan is not a number");
  EXPECT_EQ(said(Metric::MaxAbsError, {{INFINITY, ""}}), "‹max-abs-error›: inf is not a number");
  EXPECT_EQ(said(Metric::MaxMse, {{-1, "y"}}), "‹max-mse›: -1 is below 0");
  EXPECT_EQ(said(Metric::MinTop1Agreement, {{90, ""}}), "‹min-top1-agreement›: 90 is not in [0, 1]");
  EXPECT_EQ(said(Metric::MinSqnrDb, {}), "‹min-sqnr›: no limit");
  EXPECT_EQ(said(Metric::MinSqnrDb, {{1, "y"}, {2, "y"}}), "‹min-sqnr›: two limits for output 'y'");
}

TEST(ParseLimit, TheLastColonSeparatesTheOutput) {
  EXPECT_EQ(parse_limit("24").value, 24);
  EXPECT_EQ(parse_limit("24").output, "");
  EXPECT_EQ(parse_limit("scores:0:46").output, "scores:0");
  EXPECT_EQ(parse_limit("scores:0:46").value, 46);
}

TEST(ParseLimit, RefusesWhatIsNoNumber) {
  for (const char* text : {"", "scores", "24dB", "nan", "scores:", "inf"}) {
    EXPECT_THROW(parse_limit(text), Error) << text;
  }
}

TEST(Requirement, AnOutputsOwnLimitGoesBeforeTheGeneralOne) {
  const Requirement requirement{Metric::MinSqnrDb, {{24, ""}, {46, "scores"}}};
  EXPECT_EQ(requirement.limit_for("scores"), 46);
  EXPECT_EQ(requirement.limit_for("boxes"), 24);
  EXPECT_EQ((Requirement{Metric::MinSqnrDb, {{46, "scores"}}, 0}).limit_for("boxes"), std::nullopt);
}

TEST(Requirement, AMarginIsOfErrorPower) {
  const auto limit = [](Metric metric, double value, double db) {
    return with_margin(Requirement{metric, {{value, ""}}}, db).limits.front().value;
  };
  EXPECT_DOUBLE_EQ(limit(Metric::MinSqnrDb, 20, 1.5), 21.5);
  EXPECT_DOUBLE_EQ(limit(Metric::MaxMse, 0.4, 10), 0.04);
  EXPECT_DOUBLE_EQ(limit(Metric::MaxAbsError, 0.4, 20), 0.04);
  EXPECT_DOUBLE_EQ(limit(Metric::MinCosine, 0.9, 10), 0.99);
  EXPECT_EQ(with_margin(Requirement{Metric::MinSqnrDb, {{20, ""}}}, 1.5).margin_db, 1.5);
  EXPECT_THROW(limit(Metric::MinTop1Agreement, 0.9, 1), Error);
  EXPECT_THROW(limit(Metric::MinSqnrDb, 20, -1), Error);
}

TEST(Metric, EveryOneHasAnArgumentAndSomeAUnit) {
  EXPECT_EQ(word_of(Metric::MinTop1Agreement), "min-top1-agreement");
  for (const Metric metric : all_metrics()) EXPECT_EQ(parse_word<Metric>(word_of(metric)), metric);
  EXPECT_EQ(metric_unit(Metric::MinSqnrDb), "dB");
}

}  // namespace
}  // namespace vernier
