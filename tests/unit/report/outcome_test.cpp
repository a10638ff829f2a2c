#include "vernier/report/outcome.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cases.h"
#include "json/json.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/diff.h"
#include "vernier/report/gate.h"
#include "vernier/report/verify.h"

namespace vernier {
namespace {

/// What a search by a requirement ended with; `file`: what the written file says, nothing where there is none.
DiagnoseReport ended(SearchEnd end, std::optional<bool> file) {
  DiagnoseReport report = end == SearchEnd::NothingNeeded ? nothing_needed()
                          : end == SearchEnd::Impossible  ? impossible()
                                                          : requirement_met();
  report.kept->end = end;
  if (!file) {
    report.final_figures.reset();
    return report;
  }
  if (!report.final_figures) report.final_figures = report.all_low;
  report.final_figures->passed = file;
  if (!*file) report.final_figures->outputs[0].sqnr_db = report.final_figures->outputs[0].top1_agreement.emplace(0.1);
  return report;
}

/// The same, where labels decided.
DiagnoseReport ended_by_task(SearchEnd end, std::optional<bool> file) {
  DiagnoseReport report = ended(end, std::nullopt);
  report.requirement.reset();
  report.kept->decided_by = DecidedBy::Labels;
  report.kept->objective = "the labels";
  if (file) {
    report.kept->file_test.emplace();
    report.kept->file_test->verdict = *file ? Verdict::Good : Verdict::Bad;
  }
  return report;
}

bool page_is(const DiagnoseReport& report, const std::string& word) {
  return report_to_html(report).find("class=\"answer " + word) != std::string::npos;
}

/// What everybody who asks must agree on.
void expect(const DiagnoseReport& report, Outcome outcome, bool is_met) {
  EXPECT_EQ(outcome_of(report), outcome);
  const std::string json = report_to_json(report);
  EXPECT_EQ(parse_json(json, "report.json").at("outcome"), Json(word_of(outcome)));
  EXPECT_EQ(outcome_of(diagnose_report_from_json(json, "report.json")), outcome);
  EXPECT_EQ(met(report), is_met);
  EXPECT_EQ(exit_code_of(report), is_met ? 0 : 1);
  EXPECT_EQ(gate_of(report).passed(), is_met) << gate_to_junit(gate_of(report));
  EXPECT_EQ(page_is(report, "met"), is_met);
  const std::vector<std::string> worse = diff_reports(requirement_met(), report, 1e9).worse;
  const bool known = outcome == Outcome::FileMisses || outcome == Outcome::Impossible;
  const bool fell =
      !worse.empty() &&
      worse.front() == std::string(known ? "the requirement was met and is now missed"
                                         : "the requirement was met, and the later build did not measure it");
  EXPECT_EQ(fell, !is_met);
}

struct Case {
  SearchEnd end;
  std::optional<bool> file;
  Outcome outcome;
  bool is_met;
};

const std::vector<Case> kCases{{SearchEnd::Certified, {}, Outcome::Met, true},
                               {SearchEnd::Certified, true, Outcome::Met, true},
                               {SearchEnd::Certified, false, Outcome::FileMisses, false},
                               {SearchEnd::Found, {}, Outcome::Met, true},
                               {SearchEnd::Found, true, Outcome::Met, true},
                               {SearchEnd::Found, false, Outcome::FileMisses, false},
                               {SearchEnd::NothingNeeded, {}, Outcome::NothingNeeded, true},
                               {SearchEnd::NothingNeeded, true, Outcome::NothingNeeded, true},
                               {SearchEnd::NothingNeeded, false, Outcome::FileMisses, false},
                               {SearchEnd::Impossible, {}, Outcome::Impossible, false},
                               {SearchEnd::Impossible, false, Outcome::Impossible, false},
                               {SearchEnd::Stopped, {}, Outcome::Stopped, false},
                               {SearchEnd::Stopped, true, Outcome::Stopped, true},
                               {SearchEnd::Stopped, false, Outcome::FileMisses, false},
                               {SearchEnd::Unstable, {}, Outcome::Unstable, false},
                               {SearchEnd::Unstable, true, Outcome::Unstable, true},
                               {SearchEnd::Unstable, false, Outcome::FileMisses, false}};

std::string name_of(const Case& one) {
  return std::string(word_of(one.end)) + (!one.file   ? ", no file"
                                          : *one.file ? ", the file meets"
                                                      : ", the file misses");
}

TEST(Outcome, IsOneForAllWhoAskAboutARequirement) {
  for (const Case& one : kCases) {
    SCOPED_TRACE(name_of(one));
    expect(ended(one.end, one.file), one.outcome, one.is_met);
  }
}

TEST(Outcome, IsOneForAllWhoAskAboutATask) {
  for (const Case& one : kCases) {
    SCOPED_TRACE(name_of(one));
    expect(ended_by_task(one.end, one.file), one.outcome, one.is_met);
  }
}

TEST(Outcome, WhatWasInterruptedBeforeTheFileWasMeasuredIsNotMet) {
  for (const Case& one : kCases) {
    if (one.file || one.end == SearchEnd::Impossible) continue;
    SCOPED_TRACE(name_of(one));
    for (DiagnoseReport report : {ended(one.end, one.file), ended_by_task(one.end, one.file)}) {
      report.interrupted = true;
      expect(report, Outcome::NotVerified, false);
      const std::string text = report_to_text(report, {});
      EXPECT_EQ(text.find("Not verified: "), 0U);
      EXPECT_EQ(text.find("trtexec"), std::string::npos) << "nothing to deploy";
      EXPECT_EQ(text.find("which the output model meets"), std::string::npos);
      EXPECT_NE(debug_precision_to_text(report, {}).find("not verified: "), std::string::npos);
    }
  }
}

TEST(Outcome, AFileThatItsTargetDoesNotRunIsNeverMet) {
  for (DiagnoseReport report : {nothing_needed(), requirement_met()}) {
    report.target = Target::OnnxRuntime;
    if (!report.typed) report.typed.emplace();
    report.typed->onnxruntime = RuntimeCheck{"Missing required weight", /*runs_unoptimized=*/true, {}};
    EXPECT_EQ(outcome_of(report), Outcome::Refused);
    EXPECT_FALSE(met(report));
    EXPECT_EQ(exit_code_of(report), 4);
    EXPECT_FALSE(gate_of(report).passed());
    EXPECT_TRUE(page_is(report, "missed"));
    EXPECT_EQ(report_to_text(report, {}).find("ONNX Runtime"), 0U);
    EXPECT_NE(report_to_text(report, {}).find("Missing required weight"), std::string::npos);
    EXPECT_NE(debug_precision_to_text(report, {}).find("refuses"), std::string::npos);
    EXPECT_EQ(diff_reports(requirement_met(), report, 1e9).worse.front(), "the engine refuses the output model");
    report.target = Target::TensorRt;
    EXPECT_TRUE(met(report)) << "it is not for ONNX Runtime";
  }
}

DiagnoseReport keeping_everything(SearchEnd end) {
  DiagnoseReport report = ended(end, true);
  report.kept->layers.clear();
  for (const LayerRow& row : report.layers) {
    if (row.format != report.high) report.kept->layers.push_back(row.name);
  }
  return report;
}

TEST(Outcome, WhatKeepsEveryLayerIsNoPlainSuccess) {
  const DiagnoseReport report = keeping_everything(SearchEnd::Certified);
  EXPECT_EQ(outcome_of(report), Outcome::NothingLeft);
  EXPECT_EQ(exit_code_of(report), 5);
  EXPECT_FALSE(gate_of(report).passed());
  EXPECT_TRUE(page_is(report, "open"));
  EXPECT_EQ(diff_reports(requirement_met(), report, 1e9).worse.front(),
            "the requirement is met with nothing left in low precision");
  EXPECT_TRUE(diff_reports(report, report).worse.empty());
}

TEST(Outcome, WhatKeepsEveryLayerIsNoPlainSuccessHoweverItWasFound) {
  for (const SearchEnd end : {SearchEnd::Stopped, SearchEnd::Unstable, SearchEnd::Found}) {
    DiagnoseReport report = keeping_everything(end);
    if (end == SearchEnd::Found) report.kept->mode = SearchMode::Bisect;
    EXPECT_EQ(outcome_of(report), Outcome::NothingLeft);
    EXPECT_EQ(exit_code_of(report), 5);
    EXPECT_FALSE(gate_of(report).passed());
    EXPECT_TRUE(page_is(report, "open"));
    EXPECT_FALSE(diff_reports(requirement_met(), report, 1e9).worse.empty());
    const std::string text = report_to_text(report, {});
    EXPECT_EQ(text.starts_with("Stopped early"), end == SearchEnd::Stopped) << text.substr(0, 200);
    EXPECT_NE(text.find("Nothing is left"), std::string::npos) << text.substr(0, 300);
  }
}

TEST(Outcome, AFileWithNoLowLayerIsNoSuccessOfALowFormat) {
  DiagnoseReport report = nothing_needed();
  report.typed.emplace();
  report.typed->lowered = 0;
  report.typed->refused = lowered_layers(report);
  EXPECT_TRUE(wholly_float32(report));
  EXPECT_EQ(outcome_of(report), Outcome::NothingLeft);
  EXPECT_EQ(exit_code_of(report), 5);
  const std::string text = report_to_text(report, {});
  EXPECT_EQ(text.find("Nothing is in "), 0U) << text.substr(0, 200);
  EXPECT_EQ(text.find("trtexec"), std::string::npos) << "nothing to deploy";
  report.typed->lowered = 1;
  report.typed->refused = 1;
  EXPECT_EQ(outcome_of(report), Outcome::NothingNeeded);
  std::string wrapped = report_to_text(report, {});
  std::ranges::replace(wrapped, '\n', ' ');
  EXPECT_NE(wrapped.find("1 layer could not be lowered"), std::string::npos) << wrapped.substr(0, 200);
}

TEST(Outcome, TheAnswerNamesTheShareOfTheWorkWhenMostOfItStaysHigh) {
  DiagnoseReport report = nothing_needed();
  const auto answer = [&] {
    std::string text = report_to_text(report, {});
    text.resize(text.find("\n\n"));
    std::ranges::replace(text, '\n', ' ');
    return text;
  };
  report.work = LoweredWork{.macs = 95, .total_macs = 100, .recurrent = 1};
  EXPECT_EQ(answer().find("No layer needs"), 0U);
  EXPECT_EQ(answer().find("of the multiply-accumulates"), std::string::npos);
  report.work = LoweredWork{
      .macs = 3, .total_macs = 1000, .weight_bytes = 20, .total_weight_bytes = 1000, .recurrent = 2, .others = 1};
  const std::string sentence = answer();
  EXPECT_EQ(sentence.find("No layer needs"), std::string::npos) << sentence;
  for (const char* words : {"0.3 % of", "2.0 %", "2 recurrent layers and 1 other layer"}) {
    EXPECT_NE(sentence.find(words), std::string::npos) << sentence;
  }
}

TEST(Outcome, WithoutAFloatModelNothingIsMet) {
  for (const Case& one : kCases) {
    SCOPED_TRACE(name_of(one));
    DiagnoseReport report = ended(one.end, one.file);
    report.reference_from_file = true;
    const bool missed = one.outcome == Outcome::FileMisses || one.outcome == Outcome::Impossible;
    expect(report, missed ? one.outcome : Outcome::NoFloatModel, false);
    if (missed) continue;
    report.command = "vernier diagnose q.onnx --int8";
    const std::string text = report_to_text(report, {});
    EXPECT_EQ(text.find(" met"), std::string::npos) << text;
    EXPECT_NE(text.find("vernier diagnose q.onnx --int8 --float FLOAT.onnx"), std::string::npos);
  }
}

TEST(Outcome, AFileThatVerifyMeasuredIsMissed) {
  const VerifyReport report = verified();
  EXPECT_EQ(outcome_of(report), Outcome::Missed);
  EXPECT_EQ(word_of(outcome_of(report)), "missed");
  EXPECT_EQ(exit_code_of(report), 1);
}

TEST(Outcome, WhatOverflowsInsideIsNotPlainlyMet) {
  DiagnoseReport report = ended(SearchEnd::Certified, true);
  report.final_figures->nonfinite_inside = HiddenNonfinite{2, "grown", "Exp"};
  EXPECT_EQ(outcome_of(report), Outcome::Met);
  EXPECT_TRUE(page_is(report, "open"));
  EXPECT_NE(report_to_text(report, {}).find(", but 'grown' (Exp) overflows inside"), std::string::npos);
  EXPECT_TRUE(diagnose_report_from_json(report_to_json(report), "r").final_figures->nonfinite_inside.has_value());
}

TEST(Outcome, WhatTheEngineComputesOtherwiseIsNotPlainlyMet) {
  DiagnoseReport report = ended(SearchEnd::Certified, true);
  report.not_simulated = NotSimulated{Target::OpenVino, 2, "product", "it rounds", "do not"};
  EXPECT_EQ(outcome_of(report), Outcome::Met);
  EXPECT_TRUE(page_is(report, "open"));
  EXPECT_NE(report_to_text(report, {}).find("OpenVINO computes 2 nodes differently"), std::string::npos);
  EXPECT_EQ(diagnose_report_from_json(report_to_json(report), "r").not_simulated->first, "product");
  report.not_simulated = NotSimulated{Target::TensorRt, 1, "layer", "one block", "do not", true};
  EXPECT_TRUE(page_is(report, "open"));
  EXPECT_NE(report_to_text(report, {}).find("TensorRT-RTX rejects 1 node"), std::string::npos);
  report.engine.emplace().figures = *report.final_figures;
  EXPECT_TRUE(page_is(report, "met")) << "the engine's own figure decides";
}

TEST(Outcome, WhatACheckJudgedWasMeasured) {
  DiagnoseReport report = ended_by_task(SearchEnd::Stopped, std::nullopt);
  report.kept->decided_by = DecidedBy::Program;
  report.interrupted = true;
  EXPECT_EQ(outcome_of(report), Outcome::Stopped);
  EXPECT_EQ(debug_precision_to_text(report, {}).find("not verified"), std::string::npos);
}

TEST(Outcome, AModelThatTheEngineRefusesIsNotCalledMissed) {
  DiagnoseReport report = requirement_met();
  report.compiled.emplace().refused = "no such type";
  EXPECT_TRUE(met(report));
  EXPECT_EQ(exit_code_of(report), 4);
  EXPECT_EQ(diff_reports(requirement_met(), report, 1e9).worse.front(), "the engine refuses the output model");
}

TEST(Outcome, WithoutARequirementThereIsNothingToMiss) {
  const DiagnoseReport report = without_requirement();
  EXPECT_EQ(outcome_of(report), Outcome::NoRequirement);
  EXPECT_FALSE(met(report));
  EXPECT_EQ(exit_code_of(report), 0);
  EXPECT_TRUE(gate_of(report).passed());
  EXPECT_TRUE(page_is(report, "open"));
}

TEST(Outcome, AnInterruptedRunSaysWhatItMeasured) {
  DiagnoseReport report = requirement_met();
  report.kept.reset();
  report.final_figures.reset();
  report.all_low.passed = false;
  report.interrupted = true;
  expect(report, Outcome::NotSearched, false);
  report = nothing_needed();
  report.kept.reset();
  report.final_figures.reset();
  report.interrupted = true;
  expect(report, Outcome::NotVerified, false);
}

}  // namespace
}  // namespace vernier
