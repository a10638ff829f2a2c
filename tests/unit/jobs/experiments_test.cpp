// A caller's way to choose ranges, cause and repair.
#include "vernier/experiments.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "job_files.h"
#include "vernier/calibration.h"
#include "vernier/error.h"
#include "vernier/fix.h"
#include "vernier/onnx_model.h"

namespace vernier::testing {
namespace {

FixOptions asked() {
  FixOptions options;
  options.model =
      OnnxModel::of_bytes(whole_proto(adopt_model(network(kConvNet, conv_net_weights()))).SerializeAsString(), "mine");
  options.measure.data.source = std::make_shared<const Samples>(bell_samples("x", kConvNetInput, 8));
  options.measure.threads = 1;
  options.precision.low = {Format::Int8};
  options.latency = false;
  return options;
}

CalibrationChoice wider(float times) {
  return calibration_by({"wider", [times](const SeenValues& values) {
                           EXPECT_FALSE(values.bins.empty()) << values.tensor;
                           EXPECT_EQ(values.format, Format::Int8);
                           return std::pair(times * values.min, times * values.max);
                         }});
}

TEST(Experiments, AWayToChooseRangesDecidesTheGrid) {
  FixOptions options = asked();
  const double plain_db = diagnose(options).all_low.outputs[0].sqnr_db;
  options.precision.calibration = wider(1);
  EXPECT_EQ(diagnose(options).all_low.outputs[0].sqnr_db, plain_db);
  options.precision.calibration = wider(16);
  const DiagnoseReport report = diagnose(options);
  EXPECT_LT(report.all_low.outputs[0].sqnr_db, plain_db - 10);
  EXPECT_NE(report.scheme.find("wider"), std::string::npos);
  options.precision.calibration = wider(std::numeric_limits<float>::infinity());
  EXPECT_EQ(error_of([&] { diagnose(options); }).kind(), ErrorKind::Usage);
}

TEST(Experiments, ACauseStandsBesideTheOthers) {
  FixOptions options = asked();
  options.measure.requirement = at_least_db(200);
  std::atomic<int> asked_of = 0;
  options.causes.push_back({"mine", [&](const LayerEvidence& layer) -> std::optional<Cause> {
                              ++asked_of;
                              EXPECT_FALSE(layer.name.empty());
                              EXPECT_FALSE(layer.inputs.empty() || layer.outputs.empty());
                              if (layer.op_type != "Conv") return std::nullopt;
                              Cause cause;
                              cause.sentence = "it is a convolution";
                              cause.confidence = 1;
                              return cause;
                            }});
  const DiagnoseReport report = diagnose(options);
  EXPECT_GT(asked_of, 0);
  int found = 0;
  for (const Cause& cause : report.explanation.value().causes) {
    if (cause.id != "mine") continue;
    ++found;
    EXPECT_FALSE(cause.layer.empty());
    EXPECT_EQ(cause.repairs, std::vector<std::string>{"keep-high"});
  }
  EXPECT_GT(found, 0);
}

TEST(Experiments, ARepairIsTriedAndJudgedAsTheOthersAre) {
  FixOptions options = asked();
  options.precision.calibration = wider(16);
  options.repair.allow = {"narrow", "wild"};
  options.repair.own.push_back({"narrow", "ranges as the values have them", [](const NetworkToRepair& network) {
                                  std::vector<RepairIdea> ideas;
                                  for (const LayerToRepair& layer : network.layers) {
                                    for (const std::string& tensor : layer.inputs) {
                                      const auto seen = network.values.find(tensor);
                                      if (seen == network.values.end()) continue;
                                      RepairIdea& idea = ideas.emplace_back();
                                      idea.layers = {layer.name};
                                      idea.ranges[tensor] = {seen->second.min, seen->second.max};
                                      idea.what = "narrow";
                                    }
                                  }
                                  EXPECT_FALSE(ideas.empty());
                                  return ideas;
                                }});
  options.repair.own.push_back({"wild", "ranges that hold nothing", [](const NetworkToRepair& network) {
                                  RepairIdea idea;
                                  idea.layers = {network.layers.front().name};
                                  idea.ranges[network.ranges.begin()->first] = {0, 1e-6F};
                                  return std::vector<RepairIdea>{idea};
                                }});
  const DiagnoseReport report = fix(options);
  bool narrowed = false;
  for (const RepairTried& tried : report.explanation.value().repairs) {
    EXPECT_FALSE(tried.id == "wild" && tried.accepted);
    narrowed = narrowed || (tried.id == "narrow" && tried.accepted);
  }
  EXPECT_TRUE(narrowed);
}

TEST(Experiments, WhatAFunctionThrowsEndsTheJob) {
  FixOptions options = asked();
  options.repair.own.push_back(
      {"mine", "", [](const NetworkToRepair&) -> std::vector<RepairIdea> { throw std::runtime_error("mine"); }});
  EXPECT_THROW(fix(options), std::runtime_error);
}

}  // namespace
}  // namespace vernier::testing
