#include "vernier/report/gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "cases.h"
#include "json/json.h"
#include "vernier/error.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/diff.h"
#include "vernier/report/figures.h"
#include "vernier/report/verify.h"
#include "vernier/requirement.h"

namespace vernier {
namespace {

using State = GateCase::State;

TEST(Gate, PassesWhatIsMetAndSaysByHowMuch) {
  const Gate gate = gate_of(requirement_met());
  ASSERT_EQ(gate.cases.size(), 1U);
  EXPECT_EQ(gate.cases[0].state, State::Passed);
  EXPECT_EQ(gate.cases[0].message, "24.3 dB, 24 dB required");
  EXPECT_TRUE(gate.passed());
}

TEST(Gate, IsCalledWhatTheReportsCommandWas) {
  DiagnoseReport report = requirement_met();
  EXPECT_EQ(gate_of(report).suite, "vernier diagnose");
  report.job = DiagnosisJob::Fix;
  EXPECT_EQ(gate_of(report).suite, "vernier fix");
}

TEST(Gate, FailsWhatIsMissed) {
  EXPECT_FALSE(gate_of(impossible()).passed());
  VerifyReport report = verified();
  report.requirement = Requirement{Metric::MinSqnrDb, {{500, ""}}};
  EXPECT_FALSE(gate_of(report).passed());
}

TEST(Gate, SkipsWithoutARequirement) {
  const Gate gate = gate_of(without_requirement());
  ASSERT_FALSE(gate.cases.empty());
  EXPECT_EQ(gate.cases[0].state, State::Skipped);
  EXPECT_TRUE(gate.passed());
}

TEST(Gate, TakesTheLimitOfTheOutputBeforeTheOneForAll) {
  DiagnoseReport report = hostile();  // 24 dB for all, 30 dB for its second output
  report.final_figures->outputs[1].sqnr_db = 27;
  const Gate gate = gate_of(report);
  EXPECT_EQ(gate.cases[0].state, State::Passed);
  EXPECT_EQ(gate.cases[1].state, State::Failed);
}

TEST(Gate, JunitHoldsHostileNamesAsText) {
  DiagnoseReport report = hostile();
  report.warnings = {Note("]]></system-err><testcase/>&\x01")};
  const std::string xml = gate_to_junit(gate_of(report));
  EXPECT_EQ(xml.find("<testcase/>"), std::string::npos);
  EXPECT_EQ(xml.find('\x01'), std::string::npos);
  EXPECT_NE(xml.find("tests=\"2\" failures=\"0\""), std::string::npos) << xml;
}

TEST(Gate, GithubCommandsStayOnOneLine) {
  Gate gate{"vernier, diagnose:", "an\nanswer 100%", 1, {{"output 'x'", State::Failed, "no\r\n::warning::mine"}}, {}};
  EXPECT_EQ(gate_to_github(gate),
            "::error title=vernier%2C diagnose%3A::output 'x': no%0D%0A::warning::mine\n"
            "::notice title=vernier%2C diagnose%3A::an%0Aanswer 100%25\n");
}

TEST(ReportDiff, OfAReportAndItselfIsNothing) {
  const ReportDiff diff = diff_reports(hostile(), hostile());
  EXPECT_TRUE(diff.worse.empty());
  EXPECT_TRUE(diff.settings.empty());
  EXPECT_TRUE(diff.layers.empty());
  EXPECT_TRUE(diff.newly_kept.empty());
}

TEST(ReportDiff, NamesWhatGotWorse) {
  const DiagnoseReport before = requirement_met();
  DiagnoseReport after = before;
  after.all_low.outputs[0].sqnr_db -= 3;
  after.final_figures->passed = false;
  after.kept->layers.push_back("Conv_50");
  *after.layers[4].own_sqnr_db -= 7;
  after.layers[5].name = "another";
  const ReportDiff diff = diff_reports(before, after);
  ASSERT_EQ(diff.worse.size(), 3U);
  EXPECT_EQ(diff.worse[0], "the requirement was met and is now missed");
  EXPECT_EQ(diff.worse[1], "all low, SQNR of 'scores': 12.3 dB -> 9.3 dB");
  EXPECT_EQ(diff.worse[2], "kept layers: 3 -> 4");
  DiagnoseReport exact = before;
  exact.all_low.outputs[0].sqnr_db = std::numeric_limits<double>::infinity();
  EXPECT_EQ(diff_reports(exact, before).worse.front(), "all low, SQNR of 'scores': exact -> 12.3 dB");
  EXPECT_EQ(diff.newly_kept, std::vector<std::string>{"Conv_50"});
  ASSERT_EQ(diff.layers.size(), 1U);
  EXPECT_EQ(diff.layers[0].name, before.layers[4].name);
  EXPECT_EQ(diff.new_layers, std::vector<std::string>{"another"});
  EXPECT_FALSE(gate_of(diff).passed());
  const std::string text = diff_to_text(diff, {});
  EXPECT_NE(text.find("The later build is worse"), std::string::npos);
  EXPECT_TRUE(parse_json(report_to_json(diff), "diff").at("worse").is_array());
}

TEST(ReportDiff, NamesTheUnitsOfLayersThatMoved) {
  const DiagnoseReport before = requirement_met();
  DiagnoseReport after = before;
  *after.layers[4].own_sqnr_db -= 7;
  const std::string text = diff_to_text(diff_reports(before, after), {});
  EXPECT_NE(text.find("local dB before  local dB after  share before  share after"), std::string::npos) << text;
}

TEST(ReportDiff, RefusesReportsOfTwoNetworks) {
  const DiagnoseReport before = requirement_met();
  DiagnoseReport after = before;
  for (OutputFigure& output : after.all_low.outputs) output.name += "_of_another";
  EXPECT_NO_THROW(diff_reports(before, after));  // the same file: an output was renamed
  after.model_sha256 = "another";
  try {
    diff_reports(before, after);
    FAIL() << "was compared";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    EXPECT_NE(std::string(error.what()).find("of different networks"), std::string::npos);
  }
}

TEST(ReportDiff, CallsNoBuildWorseForTheLayersThatAnotherRequirementTakes) {
  const DiagnoseReport before = requirement_met();
  DiagnoseReport after = before;
  after.kept->layers.push_back("Conv_50");
  after.requirement->limits[0].value += 5;
  ReportDiff diff = diff_reports(before, after);
  EXPECT_EQ(diff.worse, std::vector<std::string>{});
  EXPECT_EQ(diff.newly_kept, std::vector<std::string>{"Conv_50"});
  EXPECT_EQ(diff.settings, std::vector<std::string>{"requirement: --min-sqnr 24 dB -> --min-sqnr 29 dB"});
  after.requirement = before.requirement;
  after.requirement->confidence = 0.9;
  diff = diff_reports(before, after);
  EXPECT_EQ(diff.worse, std::vector<std::string>{}) << "to be sure of new samples takes more layers";
  EXPECT_EQ(diff.settings, std::vector<std::string>{"requirement: --min-sqnr 24 dB -> --min-sqnr 24 dB, 90 % sure"});
  after.requirement = before.requirement;
  after.kept->decided_by = DecidedBy::Labels;
  after.kept->objective = "labels";
  diff = diff_reports(before, after);
  EXPECT_EQ(std::ranges::count(diff.worse, "kept layers: 3 -> 4"), 0);
  EXPECT_EQ(diff.settings, std::vector<std::string>{"decided by: the requirement -> labels"});
}

TEST(ReportDiff, ForgivesWhatTheToleranceAllows) {
  DiagnoseReport after = requirement_met();
  after.all_low.outputs[0].sqnr_db -= 0.4;
  EXPECT_TRUE(diff_reports(requirement_met(), after).worse.empty());
  EXPECT_FALSE(diff_reports(requirement_met(), after, 0.1).worse.empty());
}

}  // namespace
}  // namespace vernier
