// The options table and which of its rows is best.
#include "vernier/report/alternatives.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cases.h"
#include "report/text/alternatives_text.h"
#include "vernier/format.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"

namespace vernier {
namespace {

Alternative row(std::string change, AlternativeEnd end, std::size_t kept, std::int64_t macs) {
  Alternative row;
  row.change = std::move(change);
  if (row.change == "‹target› openvino") row.target = Target::OpenVino;
  row.low = {row.change == "‹fp16›" ? Format::Float16 : Format::Int8};
  row.end = end;
  row.kept = kept;
  row.lowered = 12;
  row.kept_macs = macs;
  row.total_macs = 1000;
  row.cost = static_cast<double>(kept);
  OutputFigure figure;
  figure.name = "scores";
  figure.sqnr_db = 24.5;
  figure.top1_agreement = 0.95;
  row.figures = RunFigures{{figure}, end != AlternativeEnd::Missed, 0.9};
  return row;
}

DiagnoseReport with(std::vector<Alternative> rows) {
  DiagnoseReport report = requirement_met();
  report.command = "vernier diagnose 'a net.onnx' --int8 --target tensorrt --min-sqnr 24";
  report.alternatives = std::move(rows);
  return report;
}

std::string best(const DiagnoseReport& report) {
  const Alternative* found = best_alternative(report);
  return found == nullptr ? "" : found->change;
}

TEST(Alternatives, TheBestKeepsTheLeastWork) {
  DiagnoseReport report = with({row("keep", AlternativeEnd::Met, 3, 400), row("fix", AlternativeEnd::Met, 2, 100),
                                row("‹target› openvino", AlternativeEnd::Unfinished, 1, 200)});
  EXPECT_EQ(best(report), "fix") << "fewer layers of the third, but twice the work";
  report.alternatives[1].end = AlternativeEnd::Missed;
  EXPECT_EQ(best(report), "‹target› openvino");
  report.alternatives[2].end = AlternativeEnd::NotMeasured;
  EXPECT_EQ(best(report), "keep");
  report.alternatives[0].end = AlternativeEnd::Missed;
  EXPECT_EQ(best(report), "");
}

TEST(Alternatives, EqualOnesLeaveWhatWasFound) {
  EXPECT_EQ(best(with({row("keep", AlternativeEnd::Met, 2, 100), row("fix", AlternativeEnd::Met, 2, 100)})), "keep");
}

// Another engine counts other layers: fewer of them are no gain where the work is the same.
TEST(Alternatives, AnotherEngineIsNoBetterForFewerLayersOfTheSameWork) {
  EXPECT_EQ(
      best(with({row("keep", AlternativeEnd::Met, 3, 1000), row("‹target› openvino", AlternativeEnd::Met, 2, 1000)})),
      "keep");
  EXPECT_EQ(
      best(with({row("keep", AlternativeEnd::Met, 3, 900), row("‹target› openvino", AlternativeEnd::Met, 2, 890)})),
      "‹target› openvino");
}

TEST(Alternatives, AWiderFormatCostsItsBits) {
  // 30 % in float32 and the rest in int8 has 15.2 bits an operation; everything in float16 has 16.
  EXPECT_EQ(best(with({row("keep", AlternativeEnd::Met, 3, 300), row("‹fp16›", AlternativeEnd::Met, 0, 0)})), "keep");
  EXPECT_EQ(best(with({row("keep", AlternativeEnd::Met, 3, 400), row("‹fp16›", AlternativeEnd::Met, 0, 0)})), "‹fp16›");
}

TEST(Alternatives, AnotherCostDecidesWhereItWasAskedFor) {
  DiagnoseReport report = with({row("keep", AlternativeEnd::Met, 3, 400), row("fix", AlternativeEnd::Met, 2, 100)});
  report.kept->cost_unit = CostUnit::Bytes;
  report.alternatives[0].cost = 10;
  report.alternatives[1].cost = 20;
  EXPECT_EQ(best(report), "keep");
}

TEST(Alternatives, TheCommandIsTheReportsWithWhatChanges) {
  const std::string command = "vernier diagnose 'a net --int8 .onnx' --int8 --target tensorrt --min-sqnr 24";
  EXPECT_EQ(command_with(command, "fix", false),
            "vernier fix 'a net --int8 .onnx' --int8 --target tensorrt --min-sqnr 24");
  EXPECT_EQ(command_with(command, "--target openvino", true),
            "vernier diagnose 'a net --int8 .onnx' --int8 --min-sqnr 24 --target openvino");
  EXPECT_EQ(command_with(command, "--fp16", false),
            "vernier diagnose 'a net --int8 .onnx' --target tensorrt --min-sqnr 24 --fp16");
  EXPECT_EQ(command_with("vernier diagnose m --low int8", "--fp16", false), "vernier diagnose m --fp16");
}

TEST(Alternatives, TheCommandOfAnotherEngineLeavesOutWhatThatRefuses) {
  EXPECT_EQ(
      command_with("vernier diagnose m --int8 --target onnxruntime --even-if-slower -q", "--target openvino", true),
      "vernier diagnose m --int8 -q --target openvino");
  EXPECT_EQ(command_with("vernier diagnose m --int8 --accumulate float16 --tf32", "--target openvino", true),
            "vernier diagnose m --int8 --target openvino");
  EXPECT_EQ(command_with("vernier diagnose m --int8 --accumulate=float16 --target=tensorrt", "--target openvino", true),
            "vernier diagnose m --int8 --target openvino");
  EXPECT_EQ(command_with("vernier diagnose m --low=int8 --accumulate float16", "--fp16", false),
            "vernier diagnose m --accumulate float16 --fp16");
}

TEST(Alternatives, HaveAFolderOfTheirOwn) {
  EXPECT_EQ(command_with("vernier diagnose m --int8 -o out", "fix", false), "vernier fix m --int8 -o out-fix");
  EXPECT_EQ(command_with("vernier diagnose m --int8 -o out/", "--target openvino", true),
            "vernier diagnose m --int8 -o out-openvino --target openvino");
  EXPECT_EQ(command_with("vernier diagnose m --int8 --output='my out'", "--fp16", false),
            "vernier diagnose m --output='my out-fp16' --fp16");
}

// The report is about the adopted one: it is no advice, and the former answer is a row.
TEST(Alternatives, TheAdoptedOneIsTheAnswer) {
  DiagnoseReport report = with({row("keep", AlternativeEnd::Met, 9, 460), row("fix", AlternativeEnd::Met, 3, 120)});
  report.alternatives[1].adopted = true;
  report.alternatives[1].repairs = 2;
  EXPECT_EQ(answer_of_alternatives(report)->change, "fix");
  const std::string text = report_to_text(report, {.width = 1000});
  EXPECT_NE(text.find("The network was repaired first (2 repairs): without that, 9 of 12 layers would stay in FP32 "
                      "(46.0 % of the multiply-accumulates)."),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("keep, no repairs"), std::string::npos) << text;
  EXPECT_NE(text.find("repaired (this answer)"), std::string::npos) << text;
  EXPECT_EQ(text.find("vernier fix"), std::string::npos) << text;

  report.alternatives[0].end = AlternativeEnd::Missed;
  EXPECT_NE(report_to_text(report, {.width = 1000}).find("without that, the requirement is missed"), std::string::npos);

  const std::string json = report_to_json(report);
  const DiagnoseReport again = diagnose_report_from_json(json, "report.json");
  EXPECT_FALSE(again.alternatives[0].adopted);
  EXPECT_TRUE(again.alternatives[1].adopted);
  EXPECT_EQ(report_to_json(again), json);
}

TEST(Alternatives, ARowSaysWhyItIsNotTheAnswer) {
  DiagnoseReport report = with({row("keep", AlternativeEnd::Met, 9, 460), row("fix", AlternativeEnd::Met, 3, 120)});
  report.alternatives[1].worse = WorseFigure{"scores", /*top1=*/true, 0.95, 0.875};
  EXPECT_EQ(alternative_words(report)[1].why,
            "not adopted, because the top-1 agreement of 'scores' falls from 95.0 % to 87.5 %");
  EXPECT_EQ(alternative_words(report)[1].worse, "the top-1 agreement of 'scores' falls from 95.0 % to 87.5 %");
  report.command = "vernier diagnose m.onnx --int8 -o out";
  EXPECT_NE(
      report_to_text(report, {.width = 1000}).find("falls from 95.0 % to 87.5 %:\n              $ vernier fix m.onnx"),
      std::string::npos)
      << "who follows the advice knows what it costs: " << report_to_text(report, {.width = 1000});
  const std::string json = report_to_json(report);
  EXPECT_EQ(report_to_json(diagnose_report_from_json(json, "report.json")), json);
  report.alternatives[1].worse = WorseFigure{"boxes", /*top1=*/false, 30, 25};
  EXPECT_EQ(alternative_words(report)[1].why, "not adopted, because the SQNR of 'boxes' falls from 30.0 dB to 25.0 dB");
}

TEST(Alternatives, AreNotDeniedWhereNothingElseIsLeft) {
  DiagnoseReport report = with({row("keep", AlternativeEnd::Met, 12, 1000)});
  report.kept->layers.clear();
  for (const LayerRow& layer : report.layers) report.kept->layers.push_back(layer.name);
  EXPECT_NE(report_to_text(report, {.width = 1000}).find("low precision gains nothing"), std::string::npos);
  report.alternatives.push_back(row("‹bf16›", AlternativeEnd::Met, 0, 0));
  const std::string text = report_to_text(report, {.width = 1000});
  EXPECT_EQ(text.find("low precision gains nothing"), std::string::npos) << text;
  EXPECT_NE(text.find("--bf16 meets the requirement"), std::string::npos) << text;
}

TEST(Alternatives, AreATableAndWhatToDoNext) {
  Alternative late = row("‹target› openvino", AlternativeEnd::NotMeasured, 0, 0);
  late.why = "its search used up its evaluations";
  const DiagnoseReport report =
      with({row("keep", AlternativeEnd::Met, 3, 73), row("fix", AlternativeEnd::Met, 2, 20), std::move(late)});
  expect_golden("diagnose_alternatives.txt", report_to_text(report, {}));
}

}  // namespace
}  // namespace vernier
