// The report of a pipeline: through JSON and back, as a page, and as a gate.

#include "vernier/report/pipeline.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "json/json.h"
#include "report/text/pipeline_answer.h"
#include "vernier/error.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/gate.h"
#include "vernier/report/kind.h"

namespace vernier {
namespace {

PipelineReport three_stages() {
  PipelineReport report;
  report.command = "vernier pipeline --stage torch:t.npz";
  report.vernier_version = "0.2.0";
  report.data = "samples.npz, 20 samples";
  report.samples = 20;
  report.stages = {
      {"torch", "t.npz", StageKind::SavedOutputs, {}, {}, {}, {}, "", {{"top-1", 0.75, true, true}}, {}},
      {"float", "f.onnx", StageKind::Model, {}, 128.5, 128.5, 1e-6, "logits", {{"top-1", 0.75, true, true}}, {}},
      {"low",
       "l.onnx",
       StageKind::Model,
       {Format::Float16},
       -std::numeric_limits<double>::infinity(),
       3.5,
       std::numeric_limits<double>::infinity(),
       "logits",
       {{"top-1", 0.25, true, true}},
       {"boxes: another shape"}}};
  report.stages[2].on = "tensorrt";
  report.stages[2].engine = "TensorRT 11.0 on GPU";
  report.lost_at = "low";
  report.answer = "Accuracy is lost at stage 'low': values that are not finite against 'float'.";
  report.next = {"vernier verify f.onnx l.onnx"};
  report.warnings = {Note("one")};
  report.files = {{"page", "out/report.html"}};
  return report;
}

Json page_data_of(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const std::size_t start = page.find(open) + open.size();
  return parse_json(page.substr(start, page.find("</script>", start) - start), "the page");
}

TEST(PipelineReport, BlamesTheStageThatHasValuesThatAreNotFinite) {
  PipelineReport report = three_stages();
  report.stages[2].not_finite_before = 3;
  EXPECT_EQ(pipeline_answer(report), "Stage 'low' changes 3 non-finite values of stage 'float'.");
}

TEST(PipelineReport, ReadsBackEqual) {
  const PipelineReport report = three_stages();
  const PipelineReport copy = pipeline_report_from_json(report_to_json(report), "report.json");
  EXPECT_EQ(report_to_json(copy), report_to_json(report));
  EXPECT_EQ(report_to_text(copy, {}), report_to_text(report, {}));
  EXPECT_EQ(report_to_html(copy), report_to_html(report));
  EXPECT_EQ(copy.lost_at, "low");
  EXPECT_EQ(copy.stages[2].step_db, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(copy.stages[2].figures[0].value, 0.25);
  EXPECT_FALSE(copy.stages[0].step_db.has_value());
}

TEST(PipelineReport, SaysWhatWroteIt) {
  const std::string text = report_to_json(three_stages());
  EXPECT_EQ(report_kind(text, "report.json"), ReportKind::Pipeline);
  EXPECT_THROW(diagnose_report_from_json(text, "report.json"), Error);
  EXPECT_THROW(report_kind("[]", "report.json"), Error);
  EXPECT_THROW(report_kind("{}", "report.json"), Error);
}

TEST(PipelineReport, PageHasTheStagesAndTheAnswer) {
  const std::string page = report_to_html(three_stages());
  EXPECT_NE(page.find("<h1 class=\"answer missed\">Accuracy is lost at stage"), std::string::npos);
  EXPECT_NE(page.find("vernier pipeline</p>"), std::string::npos);
  EXPECT_EQ(page.find("{{"), std::string::npos);
  const Json data = page_data_of(page);
  EXPECT_EQ(data.at("report").at("stages").size(), 3U);
  EXPECT_EQ(data.at("report").at("lost_at"), "low");
}

TEST(PipelineReport, HostileNamesStayData) {
  PipelineReport report = three_stages();
  const std::string name = "</script><script>alert(1)</script>\xE2\x80\xAE'\"&{{script}}\xFF";
  report.stages[1].name = name;
  report.stages[1].file = name;
  report.warnings = {Note(name)};
  const std::string page = report_to_html(report);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("\xE2\x80\xAE"), std::string::npos);
}

TEST(PipelineReport, GateHasACaseForEachStageButTheFirst) {
  const Gate gate = gate_of(three_stages());
  ASSERT_EQ(gate.cases.size(), 2U);
  EXPECT_EQ(gate.cases[0].state, GateCase::State::Passed);
  EXPECT_EQ(gate.cases[1].state, GateCase::State::Failed);
  EXPECT_EQ(gate.cases[1].name, "stage 'low'");
  EXPECT_FALSE(gate.passed());
}

using Commands = std::vector<std::string>;

TEST(PipelineCommands, LookIntoTheStageWhereAccuracyIsLost) {
  PipelineReport report = three_stages();
  EXPECT_EQ(pipeline_answer(report), report.answer);
  EXPECT_EQ(pipeline_commands(report, "--data x.npz"),
            Commands{"vernier verify f.onnx l.onnx --data x.npz --on tensorrt"});
  report.stages[2].kind = StageKind::Engine;
  EXPECT_EQ(pipeline_commands(report, ""), Commands{"vernier inspect engine l.onnx"});
  report.stages[2].kind = StageKind::Model;
  report.stages[2].on.reset();
  EXPECT_EQ(pipeline_commands(report, "--data 'a b.npz'"),
            (Commands{"vernier verify f.onnx l.onnx --data 'a b.npz'",
                      "vernier diagnose f.onnx --data 'a b.npz' --fp16 --min-sqnr 30 -o out"}));
  report.stages[1].formats = {Format::Int8};
  EXPECT_EQ(pipeline_commands(report, ""),
            Commands{"vernier run f.onnx l.onnx --sim --onnx-outputs mark all --save-outputs stages.json"});
  report.stages[1].kind = StageKind::SavedOutputs;
  report.stages[2].formats.clear();
  EXPECT_EQ(pipeline_commands(report, ""), (Commands{"vernier check data l.onnx", "vernier check lint l.onnx"}));
}

TEST(PipelineCommands, AreNoneWhereNothingIsLost) {
  PipelineReport report = three_stages();
  report.lost_at.reset();
  EXPECT_EQ(pipeline_answer(report), "No stage falls below 30 dB, compared with the one before.");
  EXPECT_EQ(pipeline_commands(report, ""), Commands{});
}

}  // namespace
}  // namespace vernier
