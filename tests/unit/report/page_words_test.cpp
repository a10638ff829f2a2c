#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cases.h"
#include "json/json.h"
#include "report/html/words.h"
#include "vernier/report/causes.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/text.h"
#include "vernier/requirement.h"
#include "vernier/verdict.h"

namespace vernier {
namespace {

TestRow test(std::size_t kept, Verdict verdict, double metric, double damage) {
  TestRow row;
  row.layers.assign(kept, "a layer");
  row.verdict = verdict;
  row.metric = metric;
  row.damage = damage;
  return row;
}

TEST(PageWords, AResultThatJustMissesHasTheDigitsThatSaySo) {
  DiagnoseReport report = requirement_met();
  CertificateRow& row = report.kept.value().certificate.front();
  row.metric = 23.9991;
  EXPECT_EQ(page_words(report).at("without").at(row.layer).at("result"), "23.999 dB")
      << "not 24.0 dB, which would be enough";
}

TEST(FirstSentence, EndsWhereAnotherCanBegin) {
  using Parts = std::pair<std::string, std::string>;
  EXPECT_EQ(first_sentence("It is met. 95 % confidence: 21.5 to 22.7 dB. More."),
            (Parts{"It is met.", "95 % confidence: 21.5 to 22.7 dB. More."}));
  EXPECT_EQ(first_sentence("Only one, of 'a. b' and 22.1 dB."), (Parts{"Only one, of 'a. b' and 22.1 dB.", ""}));
  EXPECT_EQ(first_sentence(""), (Parts{"", ""}));
}

Cause cause(const std::string& id, const std::string& layer, double confidence, double share) {
  Cause made;
  made.id = id;
  made.layer = layer;
  made.confidence = confidence;
  made.share = share;
  made.sentence = "so it is";
  made.repairs = {"keep-high"};
  return made;
}

// The kinds of causes, their layers and their shares are those of the terminal, in the order that the JSON has them.
TEST(PageWords, CausesAreThoseOfTheTextInTheOrderOfTheJson) {
  DiagnoseReport report = requirement_met();
  Explanation explanation;
  explanation.examined = {"a", "b", "c"};
  explanation.causes = {cause("clipping", "a", 0.9, 0.4), cause("clipping", "b", 0.6, 0.2),
                        cause("bias-shift", "a", 0.85, 0.4), cause("diffuse", "a", 0.5, 0.4),
                        cause("weight-grid", "c", 0.3, 0.1)};
  report.explanation = explanation;
  report.layers.front().name = "a";
  report.layers.front().share = 0.01;  // in the network that was repaired: the causes are of the one before
  const DiagnoseReport read = diagnose_report_from_json(report_to_json(report), "report.json");
  const std::string text = report_to_text(read, {.width = 200});
  std::vector<std::string> page, in_json;
  std::size_t at = 0;
  const Json words = page_words(read);
  for (const Json& group : words.at("causes").items()) {
    const Cause& first = read.explanation->causes[static_cast<std::size_t>(group.at("first").number())];
    page.push_back(first.id);
    const std::size_t layers = group.at("layers").items().size();
    const std::string line = fmt::format("  {}{}: {}, {}", first.id, group.at("sure").boolean() ? "" : " (possible)",
                                         layers == 1 ? "1 layer" : "2 layers", group.at("damage").text());
    const std::size_t found = text.find(line, at);
    ASSERT_NE(found, std::string::npos) << line << " is not behind the one before in\n" << text;
    at = found;
  }
  EXPECT_EQ(page, (std::vector<std::string>{"clipping", "bias-shift", "weight-grid"}))
      << "another cause of 'a' is much less sure";
  for (const Cause& one : read.explanation->causes) {
    if (std::ranges::find(page, one.id) != page.end() && (in_json.empty() || in_json.back() != one.id)) {
      in_json.push_back(one.id);
    }
  }
  EXPECT_EQ(page, in_json);
}

TEST(PageWords, CausesThatNobodyIsSureOfAreCalledPossible) {
  DiagnoseReport report = requirement_met();
  Explanation explanation;
  explanation.examined = {"a"};
  explanation.causes = {cause("weight-grid", "a", 0.3, 0.1)};
  report.explanation = explanation;
  EXPECT_NE(report_to_text(report, {}).find("\nPossible causes\n"), std::string::npos);
  const Json words = page_words(report);
  EXPECT_FALSE(words.at("causes").items().front().at("sure").boolean());
}

TEST(KeptCurve, HasTheBestSetOfEachSize) {
  DiagnoseReport report = requirement_met();
  report.kept->tests = {test(0, Verdict::Bad, 4.9, 32),
                        test(2, Verdict::Bad, 15, 3),
                        test(2, Verdict::Bad, 17, 2),
                        test(3, Verdict::Good, 24, 0.4),
                        test(3, Verdict::Bad, 26, 0.2),
                        test(3, Verdict::Invalid, 99, 0),
                        test(9, Verdict::Good, std::numeric_limits<double>::infinity(), 0)};
  const Json curve = kept_curve(report);
  std::vector<std::pair<double, double>> points;
  for (const Json& point : curve.at("points").items()) {
    points.emplace_back(point.at("kept").number(), point.at("damage").number());
  }
  EXPECT_EQ(points, (std::vector<std::pair<double, double>>{{0, 32}, {2, 2}, {3, 0.4}, {9, 0}}));
  EXPECT_EQ(curve.at("answer"), report.kept->layers.size());
  EXPECT_EQ(curve.at("limit"), report.requirement->limits.front().value);
}

TEST(KeptCurve, HasNoLimitWhereOutputsDiffer) {
  DiagnoseReport report = requirement_met();
  report.requirement->limits.push_back({46, "scores"});
  EXPECT_EQ(kept_curve(report).find("limit"), nullptr);
  report.kept.reset();
  EXPECT_TRUE(kept_curve(report).is_null());
}

TEST(PageWords, TellTheMargin) {
  DiagnoseReport report = requirement_met();  // 24.3 dB of 24
  EXPECT_EQ(page_words(report).at("margins").at("final"), "0.3 dB above the required 24 dB");
  report.requirement->metric = Metric::MinTop1Agreement;
  report.requirement->limits = {{0.95, ""}};
  report.final_figures->outputs[0].top1_agreement = 0.93;
  EXPECT_EQ(page_words(report).at("margins").at("final"), "2.0 points below the required 95 %");
}

// A cross that stands beside "7.2 dB above" would contradict itself.
TEST(PageWords, TellWhyAFigureAboveTheLimitMisses) {
  DiagnoseReport report = requirement_met();
  report.all_low.outputs[0].sqnr_db = 31.2;
  report.all_low.outputs[0].sqnr_above = 21.04;
  report.all_low.passed = false;
  EXPECT_EQ(page_words(report).at("margins").at("all_low"), "21.0 dB on new samples, below the required 24 dB");
}

TEST(PageWords, ExplainTheNamesThatTheReportUses) {
  DiagnoseReport report = requirement_met();
  report.explanation.emplace();
  report.explanation->causes.push_back(
      {"weight-grid", "conv", "", 0.9, {}, "", {"smooth", "keep-high", "of a caller"}});
  const Json words = page_words(report);
  const Json& explained = words.at("explained");
  EXPECT_EQ(explained.at("repairs").at("smooth").text().find("SmoothQuant"), 0U);
  EXPECT_NE(explained.at("repairs").at("keep-high").text().find("stays in the high format"), std::string::npos);
  EXPECT_FALSE(explained.at("causes").at("weight-grid").text().empty());
  EXPECT_EQ(explained.at("repairs").find("of a caller"), nullptr);
}

TEST(PageWords, OfAMetAndOfAMissedRequirement) {
  DiagnoseReport report = requirement_met();
  EXPECT_EQ(verdict_words(report), "\u2713 Requirement met");
  EXPECT_STREQ(outcome_class(report), "met");
  report.final_figures->passed = false;
  EXPECT_EQ(verdict_words(report), "\u2715 Requirement missed");
  report.final_figures.reset();
  report.interrupted = true;
  EXPECT_EQ(verdict_words(report), "Not verified");
  report.requirement.reset();
  report.kept.reset();
  EXPECT_EQ(verdict_words(report), "No verdict");
}

}  // namespace
}  // namespace vernier
