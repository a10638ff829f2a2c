#include <gtest/gtest.h>

#include <string>

#include "cases.h"
#include "vernier/format.h"
#include "vernier/report/diagnose.h"
#include "vernier/requirement.h"

namespace vernier {
namespace {

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Deploy, IsTheRecordOfAnInt8Result) { expect_golden("deploy_int8.md", deploy_markdown(requirement_met())); }

TEST(Deploy, ToldOneScaleForAWeightSaysSoToOtherTools) {
  DiagnoseReport report = requirement_met();
  EXPECT_TRUE(holds(deploy_markdown(report), "per_channel=True"));
  report.weights_per_tensor = true;
  EXPECT_TRUE(holds(deploy_markdown(report), "per_channel=False"));
}

TEST(Deploy, TellsTheFigureOfTheFileFromThatOnNewSamples) {
  DiagnoseReport report = requirement_met();
  report.in_sample = report.final_figures;
  report.in_sample->outputs[0].sqnr_db = 26.1;
  EXPECT_TRUE(holds(deploy_markdown(report),
                    "| verify of the output model | on these samples: 26.1 dB; on held-out samples: 24.3 dB |"));
  EXPECT_TRUE(holds(deploy_markdown(report), "| quantized | 9 activation pairs, 9 quantized weights |"));
}

TEST(Deploy, QuotesHostileNames) { expect_golden("deploy_hostile.md", deploy_markdown(hostile())); }

TEST(Deploy, OfAFloat16ResultUsesTheFloat16Tools) {
  DiagnoseReport report = requirement_met();
  report.low = {Format::Float16};
  const std::string text = deploy_markdown(report);
  EXPECT_TRUE(holds(text, "trtexec --onnx=mobilenetv2.onnx --fp16 "));
  EXPECT_TRUE(holds(text, "modelopt.onnx.autocast"));
  EXPECT_TRUE(holds(text, "node_block_list"));
  EXPECT_TRUE(holds(text, "NchwcTransformer"));
  EXPECT_FALSE(holds(text, "quantize_static"));
  EXPECT_FALSE(holds(text, "--calib="));
}

TEST(Deploy, GivesTrtexecTheShapesOfTheSamples) {
  DiagnoseReport report = requirement_met();
  report.open_inputs = {{"x", {1, 3, 8}, {1, 3, 8}, {4, 3, 9}, Shape{2, 3, 8}}, {"y:0", {1}, {1}, {1}}};
  report.usual_sample = 5;
  const std::string text = deploy_markdown(report);
  for (const char* const option :
       {"'--minShapes=x:1x3x8,'\\''y:0'\\'':1'", "'--optShapes=x:2x3x8,'\\''y:0'\\'':1'", "'--maxShapes=x:4x3x9,"}) {
    EXPECT_TRUE(holds(text, option)) << option << "\n" << text;
  }
  EXPECT_TRUE(holds(text, "that of sample 5, the median by size"));
  report.usual_sample.reset();
  EXPECT_TRUE(holds(deploy_markdown(report), "`--optShapes`, for which it is fast, is what you gave"));
  report.open_inputs = {{"x", {2, 3}, {1, 3}, {4, 3}}};
  EXPECT_TRUE(holds(deploy_markdown(report), "--minShapes=x:1x3 \\\n"));
}

TEST(Deploy, GivesPolygraphyTheLimitOfEachOutput) {
  DiagnoseReport report = requirement_met();
  report.requirement = Requirement{Metric::MaxAbsError, {{0.1, "scores"}, {0.03, "the boxes"}}};
  const std::string own = deploy_markdown(report);
  EXPECT_TRUE(holds(own, "--check-error-stat max --atol scores:0.1 'the boxes:0.03' --rtol 0\n"));
  EXPECT_FALSE(holds(own, "Polygraphy also checks"));
  report.requirement->limits.erase(report.requirement->limits.begin());
  EXPECT_TRUE(holds(deploy_markdown(report), "Polygraphy also checks `scores` by default, unlike your requirement."));
  report.requirement = Requirement{Metric::MinSqnrDb, {{30, ""}, {46, "scores"}}};
  const std::string general = deploy_markdown(report);
  EXPECT_TRUE(holds(general, "--compare snr --snr-threshold 30 scores:46\n"));
  EXPECT_FALSE(holds(general, "Polygraphy also checks"));
}

TEST(Deploy, SaysWhichRequirementPolygraphyCannotState) {
  DiagnoseReport report = requirement_met();
  report.requirement = Requirement{Metric::MaxMse, {{0.1, ""}}};
  EXPECT_TRUE(holds(deploy_markdown(report), "Polygraphy has no limit for a mean squared error"));
  report.requirement = Requirement{Metric::MinTop1Agreement, {{0.98, ""}}};
  EXPECT_TRUE(holds(deploy_markdown(report), "Polygraphy has no limit for top-1 agreement"));
}

TEST(Deploy, WarnsOfTheRuntimesCrashWhereverCastsAreWritten) {
  DiagnoseReport report = requirement_met();
  EXPECT_FALSE(holds(deploy_markdown(report), "NchwcTransformer"));
  report.high = Format::Float16;
  EXPECT_TRUE(holds(deploy_markdown(report), "NchwcTransformer"));
}

TEST(Deploy, SaysWhereFloat8HasNoWeaklyTypedWay) {
  DiagnoseReport report = requirement_met();
  report.low = {Format::Float8E4M3FN};
  const std::string text = deploy_markdown(report);
  EXPECT_TRUE(holds(text, "This way does not support FP8"));
  EXPECT_FALSE(holds(text, "--layerPrecisions"));
  EXPECT_TRUE(holds(text, "--quantize_mode=fp8"));
  EXPECT_TRUE(holds(text, "ORT_ENABLE_BASIC"));
}

TEST(Deploy, ExcludesNothingWhenNothingIsKept) {
  const std::string text = deploy_markdown(nothing_needed());
  EXPECT_FALSE(holds(text, "nodes_to_exclude"));
  EXPECT_TRUE(holds(text, "nncf.quantize("));
  EXPECT_FALSE(holds(text, "IgnoredScope"));
  EXPECT_FALSE(holds(text, "--layerPrecisions"));
  EXPECT_TRUE(holds(text, "has a Sum of one input in front of it")) << "what a reader of the file would wonder about";
  EXPECT_TRUE(holds(text, "QuantType.QUInt8")) << "the onnxruntime target quantizes activations asymmetrically";
}

TEST(Deploy, WithoutAModelHasNoCommands) {
  const std::string text = deploy_markdown(without_requirement());
  EXPECT_TRUE(holds(text, "No model was written"));
  EXPECT_FALSE(holds(text, "trtexec"));
}

TEST(Deploy, TellsThatMadeUpNamesAreUnknownElsewhere) {
  EXPECT_FALSE(holds(deploy_markdown(requirement_met()), "nodes without a name"));
  DiagnoseReport report = requirement_met();
  report.kept->layers[0] = "Conv_40";
  EXPECT_TRUE(holds(deploy_markdown(report), "nodes without a name"));
}

}  // namespace
}  // namespace vernier
