#include "report/text/explanation_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <tuple>

#include "cases.h"
#include "report/text/diagnosis_words.h"
#include "report/text/first_screen.h"
#include "vernier/report/causes.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/text.h"

namespace vernier {
namespace {

Cause cause_of(const std::string& layer) {
  Cause cause;
  cause.id = "weight-grid";
  cause.layer = layer;
  cause.confidence = 0.9;
  cause.sentence = "its weights lie on another grid";
  return cause;
}

DiagnoseReport with(const Explanation& explanation) {
  DiagnoseReport report = requirement_met();
  report.files.clear();
  report.explanation = explanation;
  return report;
}

TEST(ExplanationText, GroupsLayersThatBreakForOneReason) {
  Explanation explanation;
  for (const char* layer : {"a", "b", "c"}) {
    explanation.examined.emplace_back(layer);
    explanation.causes.push_back(cause_of(layer));
  }
  explanation.causes[1].sentence = "of its own";
  explanation.causes.front().repairs = {"weight-grid", "keep-high"};
  explanation.causes[1].repairs = explanation.causes[2].repairs = {"keep-high"};
  DiagnoseReport report = with(explanation);
  report.layers.clear();
  for (const char* layer : {"a", "b"}) {
    report.layers.emplace_back().name = layer;
    report.layers.back().share = 0.25;
  }
  const std::string text = explanation_section(report, {});
  EXPECT_NE(
      text.find("  weight-grid: 3 layers, 50.0 % of the damage; repairs: keep-high; at some of them: weight-grid\n"
                "    a: its weights lie on another grid\n"
                "    also b, c\n"),
      std::string::npos)
      << text;
  EXPECT_EQ(text.find("of its own"), std::string::npos) << text;
}

TEST(ExplanationText, NoShareSaysWhatALayerDoesThatBreaksTheOutputs) {
  Explanation explanation;
  for (const char* layer : {"a", "b"}) {
    explanation.examined.emplace_back(layer);
    explanation.causes.push_back(cause_of(layer));
  }
  explanation.causes.front().share = std::numeric_limits<double>::infinity();
  explanation.causes.back().share = 0.005;
  const std::string text = explanation_section(with(explanation), {});
  EXPECT_NE(text.find("weight-grid: 2 layers, at least one makes outputs infinite or NaN\n"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("of the damage"), std::string::npos) << text;
}

TEST(ExplanationText, TheDamageOfALayerCountsOnce) {
  const auto of = [](const char* id, const char* layer, double share) {
    Cause cause = cause_of(layer);
    cause.id = id;
    cause.share = share;
    return cause;
  };
  Explanation explanation;
  explanation.examined = {"a", "b", "c"};
  // 'c' reads the errors of both, and has more than its own part.
  explanation.causes = {of("one", "a", 0.5), of("two", "a", 0.5), of("two", "b", 0.3), of("three", "b", 0.3),
                        of("four", "c", 0.9)};
  const std::string text = explanation_section(with(explanation), {.width = 200});
  EXPECT_NE(text.find("one: 1 layer, 50.0 % of the damage\n"), std::string::npos) << text;
  EXPECT_NE(text.find("two: 2 layers, 80.0 % of the damage (30.0 % not counted above)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("three: 1 layer, 30.0 % of the damage, counted above\n"), std::string::npos) << text;
  EXPECT_NE(text.find("four: 1 layer, 90.0 % of the damage (20.0 % not counted above)\n"), std::string::npos) << text;
  double counted = 0;
  for (const CauseGroup& group : cause_groups(with(explanation))) counted += group.share - group.told;
  EXPECT_NEAR(counted, 1, 1e-12);
}

TEST(ExplanationText, WhatRepairsCuredIsNotHarmless) {
  Explanation explanation;
  explanation.examined = {"a"};
  explanation.causes = {cause_of("a")};
  DiagnoseReport report = with(explanation);
  report.kept->end = SearchEnd::NothingNeeded;
  EXPECT_NE(explanation_section(report, {}).find("Found, but harmless in this model"), std::string::npos);
  report.repaired = report.all_low;
  const std::string text = explanation_section(report, {});
  EXPECT_NE(text.find("Causes before the repairs"), std::string::npos) << text;
  EXPECT_EQ(text.find("harmless"), std::string::npos) << text;
  EXPECT_EQ(text.find("of the damage"), std::string::npos) << "shares of layers are of the repaired network: " << text;
}

TEST(ExplanationText, NamesTheRepairOfACause) {
  Explanation explanation;
  explanation.examined = {"a", "b"};
  explanation.causes = {cause_of("a"), cause_of("b")};
  explanation.causes.front().repairs = {"weight-grid", "keep-high"};
  RepairTried row;
  row.id = "weight-grid";
  row.layers = {"b", "a"};
  row.accepted = true;
  explanation.repairs = {row};
  DiagnoseReport report = with(explanation);
  const std::vector<CauseGroup> groups = cause_groups(report);
  EXPECT_TRUE(cause_sentence(groups.front()).ends_with(" Repaired by weight-grid. 1 more layer has the same cause."))
      << cause_sentence(groups.front());
  EXPECT_NE(explanation_section(report, {}).find("repaired by weight-grid; at some of them: keep-high\n"),
            std::string::npos)
      << explanation_section(report, {});
  // It is not offered again at the layer that it left alone.
  report.explanation->repairs.front().layers = {"a"};
  EXPECT_NE(explanation_section(report, {}).find("repaired by weight-grid in 1 of them; at some of them: keep-high\n"),
            std::string::npos)
      << explanation_section(report, {});
  report.explanation->repairs.front().layers = {"b", "a"};

  // Before the repairs no output was finite: no layer had a share.
  report.layers.resize(2);
  report.layers[0].name = "a";
  report.layers[0].share = 1;
  report.layers[1].name = "b";
  report.repaired = report.all_low;
  EXPECT_EQ(main_causes(report).size(), 1U);
  report.explanation->repairs.front().accepted = false;
  EXPECT_TRUE(main_causes(report).empty());
  EXPECT_EQ(cause_sentence(cause_groups(report).front()).find("Repaired"), std::string::npos);
}

TEST(ExplanationText, TheFirstScreenHasTheOrderOfTheCauses) {
  Explanation explanation;
  explanation.examined = {"a", "b"};
  explanation.causes = {cause_of("a"), cause_of("b")};
  explanation.causes[0].share = 0.3;
  explanation.causes[1].id = "bias-shift";
  explanation.causes[1].share = 0.6;
  const DiagnoseReport report = with(explanation);
  ASSERT_EQ(main_causes(report).size(), 2U);
  EXPECT_EQ(main_causes(report).front().first->layer, "a");
}

TEST(ExplanationText, ACauseThatIsHardlySureSaysSo) {
  Explanation explanation;
  explanation.examined = {"a"};
  explanation.causes = {cause_of("a")};
  explanation.causes.front().confidence = 0.3;
  EXPECT_NE(explanation_section(with(explanation), {}).find("weight-grid (possible): 1 layer"), std::string::npos);
}

TEST(ExplanationText, ACauseOfTheNetworkIsOneOfEachLayer) {
  Explanation explanation;
  explanation.examined = {"a", "b"};
  explanation.causes = {cause_of("a")};
  EXPECT_NE(explanation_section(with(explanation), {}).find("No cause found for 1 of 2 layers"), std::string::npos);
  explanation.causes.push_back(cause_of(""));
  EXPECT_EQ(explanation_section(with(explanation), {}).find("No cause found"), std::string::npos);
}

TEST(ExplanationText, LayersThatLoseWhatTheFormatCostsAreNotWithoutACause) {
  Explanation explanation;
  explanation.examined = {"a", "b", "c"};
  explanation.ordinary = {"b"};
  explanation.causes = {cause_of("a")};
  const std::string text = explanation_section(with(explanation), {});
  EXPECT_NE(text.find("1 of 3 layers examined has only the rounding error of the format"), std::string::npos) << text;
  EXPECT_NE(text.find("No cause found for 1 of 3 layers"), std::string::npos) << text;
  explanation.ordinary = {"b", "c"};
  EXPECT_EQ(explanation_section(with(explanation), {}).find("No cause found"), std::string::npos);
}

TEST(ExplanationText, WithoutACauseTheRoundingIsTheAnswer) {
  Explanation explanation;
  explanation.examined = {"a", "b"};
  explanation.ordinary = {"a", "b"};
  DiagnoseReport report = with(explanation);
  const std::string sentence = fmt::format(
      "The rounding of {} is the only cause in all 2 layers examined. A wider format reduces it.", low_text(report));
  EXPECT_EQ(only_rounding(report), sentence);
  EXPECT_NE(report_to_text(report, {}).find("\nWhy           The rounding of"), std::string::npos)
      << report_to_text(report, {});
  explanation.causes = {cause_of("a")};
  EXPECT_EQ(only_rounding(with(explanation)), "");
}

TEST(ExplanationText, ARepairThatWasAcceptedReducesTheRoundingToo) {
  Explanation explanation;
  explanation.examined = explanation.ordinary = {"a", "b"};
  explanation.repairs = {{"bias-correction", {"a"}, 30, 40, {}, true, ""}, {"range", {"b"}, 30, 30, {}, false, ""}};
  EXPECT_TRUE(only_rounding(with(explanation)).ends_with("Accepted repairs reduce it in 1 of these 2 layers."))
      << only_rounding(with(explanation));
  explanation.ordinary = {"a"};
  explanation.causes = {cause_of("b")};
  const std::string text = explanation_section(with(explanation), {});
  EXPECT_EQ(text.find("wider format"), std::string::npos) << text;
}

TEST(ExplanationText, CountsTheLayersThatHaveACauseBehindASurerOne) {
  Explanation explanation;
  explanation.examined = {"a", "b", "c"};
  explanation.causes = {cause_of("a"), cause_of("b"), cause_of("c")};
  Cause lesser = cause_of("b");
  lesser.id = "other";
  lesser.confidence = explanation.causes[0].confidence - 0.3;
  explanation.causes.push_back(lesser);
  Cause main = lesser;
  main.layer = "d";
  explanation.causes.push_back(main);
  const std::string text = explanation_section(with(explanation), {});
  EXPECT_NE(text.find("other: main cause of 1 layer, secondary in 1"), std::string::npos) << text;
}

TEST(ExplanationText, LeavesOutLessSureCausesOfALayer) {
  Explanation explanation;
  explanation.examined = {"a"};
  explanation.causes = {cause_of("a"), cause_of("a"), cause_of("a")};
  explanation.causes[1].id = "nearly-as-sure";
  explanation.causes[1].confidence = 0.85;
  explanation.causes[2].id = "less-sure";
  explanation.causes[2].confidence = 0.5;
  const std::string text = explanation_section(with(explanation), {});
  EXPECT_NE(text.find("weight-grid: 1 layer"), std::string::npos) << text;
  EXPECT_NE(text.find("nearly-as-sure: 1 layer"), std::string::npos) << text;
  EXPECT_EQ(text.find("less-sure:"), std::string::npos) << text;
}

TEST(ExplanationText, SaysHowManyCausesTopLeavesOut) {
  Explanation explanation;
  for (const char* id : {"weight-grid", "depthwise", "overflow"}) {
    explanation.examined.emplace_back(id);
    explanation.causes.push_back(cause_of(id));
    explanation.causes.back().id = id;
  }
  DiagnoseReport report = with(explanation);
  TextOptions options;
  options.top = 1;
  std::string text = explanation_section(report, options);
  EXPECT_NE(text.find("  ... and 2 more causes (--top 0 shows all)\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("depthwise"), std::string::npos) << text;
  options.top = 3;
  EXPECT_EQ(explanation_section(report, options).find("more cause"), std::string::npos);
}

TEST(ExplanationText, ShowsAnAcceptedRepairWhereThereIsOne) {
  Explanation explanation;
  double after_db = 30;
  for (const auto& [layer, accepted, why] : {std::tuple{"a", false, "fell by 0 percent"},
                                             std::tuple{"b", true, "moved"}, std::tuple{"c", true, "gains most"}}) {
    RepairTried row;
    row.id = "smooth";
    row.layers = {layer};
    row.before_db = 20;
    row.after_db = after_db += 2;
    row.accepted = accepted;
    row.why = why;
    explanation.repairs.push_back(row);
  }
  const std::string text = explanation_section(with(explanation), {});
  EXPECT_NE(text.find("accepted 2 of 3 tried, median SQNR of these 20.0 dB to 35.0 dB"), std::string::npos) << text;
  EXPECT_NE(text.find("(c: gains most)"), std::string::npos) << text;
  for (RepairTried& row : explanation.repairs) row.before_db = row.after_db = {};
  EXPECT_NE(explanation_section(with(explanation), {.width = 200})
                .find("accepted 2 of 2 tried (b: moved); not applicable to 1 place\n"),
            std::string::npos);
  for (const char* id : {"fuse-gelu", "clip-cube"}) {
    RepairTried row;
    row.id = id;
    explanation.repairs.push_back(row);
  }
  EXPECT_NE(explanation_section(with(explanation), {}).find("  not applicable: fuse-gelu, clip-cube\n"),
            std::string::npos);
}

}  // namespace
}  // namespace vernier
