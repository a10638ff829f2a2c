#include "report/text/numbers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <sstream>
#include <string>

#include "base/counts.h"
#include "json/json.h"
#include "vernier/format.h"
#include "vernier/requirement.h"

namespace vernier {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

TEST(DbText, HasAWordForEachEdge) {
  EXPECT_EQ(db_text(24.34), "24.3");
  EXPECT_EQ(db_text(kInfinite), "exact");
  EXPECT_EQ(db_text(-kInfinite), "-inf");
  EXPECT_EQ(db_text(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(db_text({}), "-");
  EXPECT_EQ(db_text(-0.01), "0.0");
  EXPECT_EQ(db_text(-0.06), "-0.1");
}

TEST(MetricText, NeverRoundsAcrossTheLimit) {
  EXPECT_EQ(metric_text(Metric::MinSqnrDb, 23.96, 24), "23.96 dB");
  EXPECT_EQ(metric_text(Metric::MinSqnrDb, 23.9996, 24), "23.9996 dB");
  EXPECT_EQ(metric_text(Metric::MinSqnrDb, 24.04, 24), "24.0 dB");
  EXPECT_EQ(metric_text(Metric::MaxAbsError, 0.010004, 0.01), "0.010004");
  EXPECT_EQ(metric_text(Metric::MinTop1Agreement, 0.98496, 0.985), "98.496 %");
  EXPECT_EQ(metric_text(Metric::MinCosine, 0.99, 0.99), "0.9900");
  EXPECT_EQ(metric_text(Metric::MinCosine, 0.999993, 0.99999), "0.99999") << "1 only for no difference";
  EXPECT_EQ(metric_text(Metric::MinCosine, 1, 0.99999), "1.0000");
}

TEST(MetricText, OfNotFiniteValuesSaysSo) {
  EXPECT_EQ(metric_text(Metric::MinSqnrDb, kInfinite), "exact");
  EXPECT_EQ(metric_text(Metric::MinSqnrDb, -kInfinite, 24), "-inf dB");
  EXPECT_EQ(metric_text(Metric::MaxMse, kInfinite), "inf");
}

TEST(LimitText, IsWhatTheUserTyped) {
  EXPECT_EQ(limit_text(Metric::MinSqnrDb, 24), "24 dB");
  EXPECT_EQ(limit_text(Metric::MinTop1Agreement, 0.985), "98.5 %");
  EXPECT_EQ(limit_text(Metric::MaxAbsError, 1e-3), "0.001");
}

TEST(CountText, StaysWithinSevenColumns) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1204), "1,204");
  EXPECT_EQ(count_text(99'999), "99,999");
  EXPECT_EQ(count_text(100'000), "100 k");
  EXPECT_EQ(count_text(999'999), "1.00 M");
  EXPECT_EQ(count_text(1'234'567'890), "1.23 G");
  EXPECT_EQ(count_text(std::numeric_limits<std::int64_t>::max()), "9.22 E");
}

TEST(ShortCountText, StaysWithinFiveColumns) {
  EXPECT_EQ(short_count_text(9999), "9,999");
  EXPECT_EQ(short_count_text(10'000), "10k");
  EXPECT_EQ(short_count_text(999'999), "1.0M");
  EXPECT_EQ(short_count_text(1'234'567'890), "1.2G");
}

TEST(PercentText, ShowsThatSomethingIsThere) {
  EXPECT_EQ(percent_text(0.0735), "7.3 %");
  EXPECT_EQ(percent_text(0.0001), "<0.1 %");
  EXPECT_EQ(percent_text(0.0), "0.0 %");
  EXPECT_EQ(percent_text({}), "-");
}

/// The page writes the same numbers: tests/browser reads the same table.
TEST(Numbers, FollowTheTableThatThePageFollows) {
  const std::map<std::string, std::function<std::string(double)>> rules{
      {"decibels", [](double v) { return db_text(v); }},
      {"percent", [](double v) { return percent_text(v); }},
      {"bytes", [](double v) { return bytes_text(static_cast<std::int64_t>(v)); }},
      {"count", [](double v) { return count_text(static_cast<std::int64_t>(v)); }},
      {"milliseconds", ms_text},
      {"times", times_text},
      {"cosine", cosine_text}};
  std::ifstream file(std::string(VERNIER_GOLDEN_DIR) + "/numbers.json");
  std::ostringstream text;
  text << file.rdbuf();
  const Json table = parse_json(text.str(), "numbers.json");
  ASSERT_GT(table.size(), 20U);
  for (const Json& row : table.items()) {
    EXPECT_EQ(rules.at(row.at("rule").text())(row.at("value").number()), row.at("text").text())
        << row.at("rule").text();
  }
}

TEST(CosineText, WritesOneOnlyForOne) {
  EXPECT_EQ(cosine_text(1), "1.000000");
  EXPECT_EQ(cosine_text(0.9999999), ">0.999999");
  EXPECT_EQ(cosine_text(-1), "-1.000000");
}

TEST(BytesText, CountsInPowersOfAThousand) {
  EXPECT_EQ(bytes_text(812), "812 B");
  EXPECT_EQ(bytes_text(3'612'004), "3.6 MB");
  EXPECT_EQ(bytes_text(999'960), "1.0 MB");
}

TEST(FormatsText, ListsThem) {
  EXPECT_EQ(formats_text({Format::Int8}), "INT8");
  EXPECT_EQ(formats_text({Format::Int8, Format::BFloat16, Format::Float16}), "INT8, BF16 and FP16");
}

}  // namespace
}  // namespace vernier
