#include "cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "vernier/format.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/typed.h"
#include "vernier/requirement.h"

namespace vernier {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

OutputFigure figure(const std::string& name, double db, double worst_db, double cosine, double top1) {
  OutputFigure out;
  out.name = name;
  out.sqnr_db = db;
  out.worst_sqnr_db = worst_db;
  out.worst_sample = 17;
  out.max_abs_error = 0.8123;
  out.mse = 0.0213;
  out.cosine = cosine;
  out.top1_agreement = top1;
  return out;
}

OutputFigure exact(const std::string& name) {
  OutputFigure out = figure(name, kInf, kInf, 1, 1);
  out.worst_sample = 0;
  out.max_abs_error = 0;
  out.mse = 0;
  return out;
}

LayerRow layer(const std::string& name, const std::string& op, double own, double effect, double share) {
  LayerRow row;
  row.name = name;
  row.op_type = op;
  row.format = Format::Int8;
  row.own_sqnr_db = own;
  row.propagated_db = own - 9.4;
  row.sqnr_db = own - 10;
  row.sensitivity_db = effect;
  row.share = share;
  row.values = 2'507'776;
  row.macs = 1'204'224;
  return row;
}

DiagnoseReport base() {
  DiagnoseReport report;
  report.command = "vernier diagnose mobilenetv2.onnx --int8 --data photos.npy --min-sqnr 24 -o out";
  report.vernier_version = "0.2.0";
  report.onnxruntime_version = "1.31.1";
  report.onnx_version = "1.23.2";
  report.machine = "Example CPU, 2 cores";
  report.model_file = "mobilenetv2.onnx";
  report.model_sha256 = "1f2e3d4c5b6a79880123456789abcdef1f2e3d4c5b6a79880123456789abcdef";
  report.data = "photos.npy, 20 samples";
  report.data_sha256 = "aa2e3d4c5b6a79880123456789abcdef1f2e3d4c5b6a79880123456789abcdbb";
  report.samples = 20;
  report.scheme =
      "int8: inputs of Conv, ConvTranspose, Gemm, MatMul symmetric per tensor, absolute maximum of the samples; "
      "weights symmetric per output channel; bias float32";
  report.runner = "trt-sim";
  report.target = Target::TensorRt;
  report.low = {Format::Int8};
  report.requirement = Requirement{Metric::MinSqnrDb, {{24, ""}}};
  report.reference.outputs = {exact("scores")};
  report.all_low.outputs = {figure("scores", 12.31, 9.12, 0.9716234, 0.85)};
  report.all_low.passed = false;
  report.all_low.damage = 14.8;
  const char* names[] = {"features.17.conv.0.0", "features.1.conv.1", "classifier.1", "features.2.conv.0.0"};
  const double shares[] = {0.412, 0.221, 0.151, 0.082};
  for (int i = 0; i < 12; ++i) {
    const std::string name = i < 4 ? names[i] : "Conv_" + std::to_string(10 * i);
    report.layers.push_back(
        layer(name, i == 2 ? "Gemm" : "Conv", 31.2 + i, 15.1 + 2.5 * i, i < 4 ? shares[i] : 0.0167 - 0.002 * (i - 4)));
  }
  report.layers[0].saturated = 1204;
  report.layers[1].saturated = 123'456;
  report.phases = {
      {"reference run", 1.21}, {"calibration", 0.84}, {"local error", 3.1}, {"sensitivity", 2.2}, {"search", 9.04}};
  return report;
}

}  // namespace

DiagnoseReport requirement_met() {
  DiagnoseReport report = base();
  KeptSetReport kept;
  kept.end = SearchEnd::Certified;
  kept.certified = true;
  kept.evaluations = 9;
  kept.kept_macs = 22'100'000;
  kept.total_macs = 300'774'272;
  for (int i = 0; i < 3; ++i) {
    LayerRow& row = report.layers[static_cast<std::size_t>(i)];
    row.kept = true;
    kept.layers.push_back(row.name);
    kept.certificate.push_back({row.name, 19.24 + i, 2.99 - 0.5 * i, i == 2});
  }
  report.kept = kept;
  report.final_figures = RunFigures{{figure("scores", 24.31, 22.9, 0.9981449, 0.982)}, true, 0.93};
  report.typed = TypedReport{"out/model.onnx", 0, 18, 3'612'004, 13'960'132, {}, {}};
  report.typed->quantized_weights = 9;
  report.latency =
      LatencyReport{12.34, 8.12, 8.4, 2, "the INT8 kernels are ONNX Runtime's own; they are not what TensorRT runs"};
  report.phases.push_back({"verify", 1.52});
  report.warnings = {
      Note("11 of 20 samples reach the absolute maximum of features.0's input: more samples may widen its range")};
  report.notes = {Note("35 BatchNormalization nodes were folded into the layers before them")};
  report.files = {{"model", "out/model.onnx"},
                  {"plan", "out/plan.json"},
                  {"report", "out/report.json"},
                  {"deploy", "out/deploy.md"}};
  return report;
}

DiagnoseReport without_requirement() {
  DiagnoseReport report = base();
  report.command = "vernier diagnose digits.onnx --fp16 --data test.npz";
  report.model_file = "digits.onnx";
  report.data = "test.npz, 500 samples";
  report.samples = 500;
  report.scheme = "float16: inputs, weights and outputs rounded to nearest even, computed in float32";
  report.low = {Format::Float16};
  report.requirement.reset();
  report.all_low.passed.reset();
  report.all_low.damage.reset();
  report.all_low.outputs[0].sqnr_db = -kInf;
  report.all_low.outputs[0].worst_sqnr_db = -kInf;
  report.all_low.outputs[0].nonfinite = 1520;
  for (LayerRow& row : report.layers) {
    row.format = Format::Float16;
    row.saturated = 0;
  }
  report.layers[0].flushed = 4096;
  report.layers[0].sensitivity_db = -kInf;
  report.layers[0].nan = 152;
  report.layers[5].values = 0;
  report.layers[5].share.reset();
  for (std::size_t i = 0; i <= 12; ++i) {
    CurvePoint point{i, i == 0 ? -kInf : 20.4 + 3.5 * static_cast<double>(i), {}};
    if (i == 0) point.measured_sqnr_db = -kInf;
    report.curve.push_back(point);
  }
  return report;
}

DiagnoseReport impossible() {
  DiagnoseReport report = base();
  report.high = Format::Float16;
  report.random_data = true;
  report.data = "random, [0,1], seed 1, 1 sample";
  report.all_high = RunFigures{{figure("scores", 23.97, 23.97, 0.9979, 1)}, false, 1.007};
  report.kept = KeptSetReport{};
  report.kept->end = SearchEnd::Impossible;
  report.kept->evaluations = 2;
  report.warnings = {Note("the inputs are random: use ‹data› to measure what matters")};
  return report;
}

DiagnoseReport nothing_needed() {
  DiagnoseReport report = requirement_met();
  report.requirement = Requirement{Metric::MinTop1Agreement, {{0.85, ""}}};
  report.calibrated_on_evaluation_samples = false;
  for (LayerRow& row : report.layers) row.kept = false;
  report.kept = KeptSetReport{};
  report.kept->end = SearchEnd::NothingNeeded;
  report.kept->certified = true;
  report.kept->evaluations = 2;
  report.kept->total_macs = 300'774'272;
  report.all_low.passed = true;
  report.final_figures = report.all_low;
  report.target = Target::OnnxRuntime;
  report.latency.reset();
  report.warnings.clear();
  return report;
}

DiagnoseReport hostile() {
  DiagnoseReport report = requirement_met();
  const std::string names[] = {
      "encoder/" + std::string(400, 'x') + "/attention: 'q', \"k\" & $(v)",
      "\x1b[2J\x1b[31mred\nnext line",
      "\xe2\x80\xae"
      "backwards `ticks``` | <b> * [x](y)",
      "\xe5\x8d\xb7\xe7\xa9\x8d\xe5\xb1\xa4/\xe7\xac\xac\xe4\xb8\x80/\xe5\x8d\xb7\xe7\xa9\x8d\xe5\xb1\xa4/"
      "\xe7\xac\xac\xe4\xba\x8c",
      "broken \xff\xc3 bytes",
  };
  for (std::size_t i = 0; i < std::size(names); ++i) report.layers[i].name = names[i];
  report.layers[1].op_type = "com.example.custom.AVeryLongOperatorNameOfSomebodyElse";
  report.layers[3].graph = "then_branch of If_3";
  for (std::size_t i = 0; i < 3; ++i) {
    report.kept->layers[i] = names[i];
    report.kept->certificate[i].layer = names[i];
  }
  report.requirement = Requirement{Metric::MinSqnrDb, {{24, ""}, {30, "boxes\ttab"}}};
  report.final_figures->outputs.push_back(figure("boxes\ttab", 30.02, 29.4, 0.9997, 0));
  report.final_figures->outputs.back().top1_agreement.reset();
  report.model_file = "my models/it's \"mine\".onnx";
  report.files["model"] = "out dir/model.onnx";
  report.warnings = {Note("layer " + names[0] + " has a long name")};
  for (LayerRow& row : report.layers) {
    row.overflowed = 1'234'567'890;
    row.saturated = 99'999;
    row.subnormal = 100'000;
    row.flushed = 5;
    row.nan = 1;
  }
  return report;
}

VerifyReport verified() {
  const DiagnoseReport diagnosed = requirement_met();
  VerifyReport report;
  report.command = "vernier verify mobilenetv2.onnx out/model.onnx --data photos.npy --min-sqnr 24.32";
  report.vernier_version = "0.2.0";
  report.float_file = "mobilenetv2.onnx";
  report.float_sha256 = diagnosed.model_sha256;
  report.typed_file = "out/model.onnx";
  report.typed_sha256 = diagnosed.data_sha256;
  report.data = "photos.npy, 20 samples";
  report.samples = 20;
  report.figures = *diagnosed.final_figures;
  report.figures.passed = false;
  report.requirement = Requirement{Metric::MinSqnrDb, {{24.32, ""}}};
  report.layers = diagnosed.layers;
  for (std::size_t i = 0; i < 3; ++i) {
    report.layers[i].format = Format::Float32;
    report.layers[i].own_sqnr_db = kInf;
  }
  std::reverse(report.layers.begin(), report.layers.end());
  report.compared = 12;
  report.not_compared = {
      {"layer-not-compared", {{"layer", "If_3"}, {"why", "its branches differ between the files"}}},
      {"layer-not-compared", {{"layer", "Conv_7"}, {"why", "no node of this name in the typed file"}}}};
  report.phases = {{"load", 1.2}, {"lock-step comparison", 2.25}};
  return report;
}

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(VERNIER_GOLDEN_DIR) + "/" + name;
  if (std::getenv("VERNIER_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path << " is missing: write it with VERNIER_UPDATE_GOLDEN=1 and read what it says";
  std::ostringstream wanted;
  wanted << file.rdbuf();
  EXPECT_EQ(text, wanted.str()) << "if the change is meant, update " << path << " with VERNIER_UPDATE_GOLDEN=1";
}

}  // namespace vernier
