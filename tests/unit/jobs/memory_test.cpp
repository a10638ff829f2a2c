// Jobs without a file: models and samples in memory, results as values, and two jobs that do not feel each other.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "job_files.h"
#include "vernier/calibrate.h"
#include "vernier/diagnose.h"
#include "vernier/error.h"
#include "vernier/fix.h"
#include "vernier/lint.h"
#include "vernier/onnx_model.h"
#include "vernier/quantize.h"
#include "vernier/reduce.h"
#include "vernier/run.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"
#include "vernier/surgeon.h"
#include "vernier/verify.h"

namespace vernier::testing {
namespace {

OnnxModel in_memory(const onnx::ModelProto& model) {
  return OnnxModel::of_bytes(whole_proto(adopt_model(model)).SerializeAsString(), "mine");
}

DiagnoseOptions asked(std::vector<Format> low) {
  DiagnoseOptions options;
  options.model = in_memory(network(kConvNet, conv_net_weights()));
  options.measure.data.source = std::make_shared<const Samples>(bell_samples("x", kConvNetInput, 8));
  options.measure.threads = 1;
  options.precision.low = std::move(low);
  options.latency = false;
  return options;
}

TEST(InMemory, DiagnosesAsFromFiles) {
  const NetFiles files;
  DiagnoseOptions from_files = files.diagnose_options({Format::Int8});
  DiagnoseOptions from_memory = asked({Format::Int8});
  from_files.measure.requirement = from_memory.measure.requirement = at_least_db(44);
  const DiagnoseReport one = diagnose(from_files);
  const DiagnoseReport other = diagnose(from_memory);
  ASSERT_TRUE(one.kept && other.kept);
  EXPECT_FALSE(one.kept->layers.empty());
  EXPECT_EQ(one.kept->layers, other.kept->layers);
  EXPECT_EQ(one.final_figures->outputs[0].sqnr_db, other.final_figures->outputs[0].sqnr_db);
  EXPECT_EQ(one.model_sha256, other.model_sha256);
  EXPECT_EQ(one.data_sha256, other.data_sha256);
  EXPECT_EQ(other.model_file, "mine");
  EXPECT_TRUE(other.files.empty());
  ASSERT_TRUE(other.typed && other.typed->model.in_memory());
  other.typed->model.write(files / "typed.onnx");
  const auto graph_in = [](const std::filesystem::path& file) {
    return read_model(file).proto.graph().SerializeAsString();
  };
  EXPECT_TRUE(graph_in(files / "typed.onnx") == graph_in(files / "out" / "model.onnx"));
  EXPECT_EQ(one.typed->model.file(), files / "out" / "model.onnx");
  EXPECT_NE(other.typed->plan.find("\"layers\""), std::string::npos);
}

TEST(InMemory, ResultsGoFromJobToJob) {
  const DiagnoseOptions options = asked({Format::Float16});
  QuantizeOptions to_half;
  to_half.model = options.model;
  to_half.precision = options.precision;
  to_half.measure = options.measure;
  const QuantizeResult half = quantize(to_half);
  ASSERT_TRUE(half.typed.model.in_memory());
  EXPECT_TRUE(half.typed.file.empty());
  VerifyOptions check;
  check.float_model = options.model;
  check.typed_model = half.typed.model;
  check.measure = options.measure;
  const VerifyReport checked = verify(check);
  EXPECT_GT(checked.figures.outputs[0].sqnr_db, 40);
  EXPECT_EQ(checked.typed_sha256, read_model(half.typed.model).sha256);
  LintOptions lint;
  lint.model = half.typed.model;
  EXPECT_TRUE(vernier::lint(lint).passed);

  RunOptions both;
  both.measure = options.measure;
  for (const OnnxModel& model : {half.typed.model, options.model}) {
    RunnerOptions runner;
    runner.kind = RunnerKind::Simulated;
    runner.model = model;
    both.runners.push_back(runner);
  }
  EXPECT_EQ(run(both).iterations, 8U);
  // The same with the first as a run by itself: its values are the same, however often it is asked.
  const std::shared_ptr<const vernier::Run> typed_run = open_runner(both, 0);
  EXPECT_EQ(typed_run->size(), 8U);
  EXPECT_FALSE(typed_run->is_sequence());
  EXPECT_TRUE(same_bits(typed_run->at(3).outputs[0].tensor, typed_run->at(3).outputs[0].tensor));
  RunOptions beside = both;
  beside.runners.erase(beside.runners.begin() + 1);
  beside.runs = {typed_run};
  const RunResult same = run(beside);
  EXPECT_TRUE(same.passed) << "a run compared with itself";
  EXPECT_EQ(same.iterations, 8U);
  RunOptions only_runs;
  only_runs.runs = {typed_run, typed_run};
  EXPECT_TRUE(run(only_runs).passed);

  CalibrateOptions ranges;
  ranges.model = options.model;
  ranges.measure = options.measure;
  EXPECT_FALSE(calibrate(ranges).tensors.empty());
}

TEST(InMemory, RepairsAsFromFiles) {
  FixOptions options;
  static_cast<DiagnoseOptions&>(options) = asked({Format::Int8});
  options.measure.requirement = at_least_db(44);
  const DiagnoseReport report = fix(options);
  ASSERT_TRUE(report.final_figures);
  EXPECT_EQ(report.final_figures->passed, true);
  EXPECT_TRUE(report.typed->model.in_memory());
}

TEST(InMemory, GraphsAreEditedAndCutAsValues) {
  const OnnxModel whole = asked({Format::Int8}).model;
  ExtractOptions part;
  part.model = whole;
  part.outputs = {{"r2", {}, {}}};
  const OnnxModel extracted = extract_model(part).model;
  ASSERT_TRUE(extracted.in_memory());
  EXPECT_EQ(extracted.outputs().front().name, "r2");
  SanitizeOptions sanitize;
  sanitize.model = extracted;
  sanitize.simplify = true;
  EXPECT_EQ(sanitize_model(sanitize).model.outputs().front().name, "r2");
  WeightEditOptions strip;
  strip.model = whole;
  EXPECT_LT(strip_weights(strip).model.bytes().size(), whole.bytes().size());
  part.with_data = MeasureOptions();
  EXPECT_EQ(error_of([&] { extract_model(part); }).kind(), ErrorKind::Usage);

  ReduceOptions reduce;
  reduce.model = whole;
  reduce.measure = asked({Format::Int8}).measure;
  reduce.simulated = SimulatedCheck{Format::Int8, Target::TensorRt, 300};
  const ReduceReport reduced = debug_reduce(reduce);
  ASSERT_TRUE(reduced.reproduced);
  EXPECT_LT(reduced.nodes_after, reduced.nodes_before);
  EXPECT_TRUE(reduced.model.in_memory());
  EXPECT_FALSE(reduced.model.inputs().empty());
}

TEST(InMemory, AFunctionDecides) {
  DiagnoseOptions options = asked({Format::Int8});
  std::size_t calls = 0;
  MetricFunction metric;
  metric.name = "share of equal signs";
  metric.min = 2;  // out of reach
  metric.function = [&](const std::vector<Sample>& outputs, const std::vector<Sample>& references) {
    ++calls;
    EXPECT_EQ(outputs.size(), 8U);
    EXPECT_EQ(references.size(), 8U);
    EXPECT_EQ(outputs[0].at("y").shape(), references[0].at("y").shape());
    return 1.0;
  };
  options.search.task.function = metric;
  const DiagnoseReport report = diagnose(options);
  EXPECT_GT(calls, 0U);
  ASSERT_TRUE(report.kept);
  EXPECT_EQ(report.kept->end, SearchEnd::Impossible);
  EXPECT_EQ(report.kept->objective, "share of equal signs ‹min› 2");
}

TEST(InMemory, LabelsDecide) {
  DiagnoseOptions options = asked({Format::Int8});
  LabelRequirement labels;
  const std::vector<std::int64_t> classes = {0, 1, 2, 3, 4, 0, 1, 2};
  labels.labels = Labels::of_values(Tensor::of_int64({8}, classes));
  labels.min_share = 0;
  options.search.task.labels = labels;
  const DiagnoseReport report = diagnose(options);
  EXPECT_EQ(report.kept.value().end, SearchEnd::NothingNeeded);
  labels.labels = Labels::of_values(Tensor::of_int64({7}, std::span(classes).first(7)));
  options.search.task.labels = labels;
  EXPECT_NE(std::string(error_of([&] { diagnose(options); }).what()).find("labels in memory"), std::string::npos);
}

TEST(InMemory, AnInterruptGivesWhatWasMeasured) {
  const DiagnoseOptions options = asked({Format::Int8});
  JobSinks sinks;
  std::atomic<bool> stop = false;
  sinks.interrupted = [&] { return stop.load(); };
  sinks.progress = [&](const std::string& phase, std::size_t, std::size_t) { stop = stop || phase == "local error"; };
  try {
    diagnose(options, sinks);
    FAIL() << "it went on";
  } catch (const DiagnosisInterrupted& interrupted) {
    EXPECT_EQ(interrupted.kind(), ErrorKind::Interrupted);
    EXPECT_TRUE(interrupted.report().interrupted);
    EXPECT_EQ(interrupted.report().samples, 8U);
  }
}

TEST(TwoJobs, GiveWhatEachGivesAlone) {
  DiagnoseOptions options = asked({Format::Int8});
  options.measure.requirement = at_least_db(44);
  const DiagnoseReport alone = diagnose(options);
  std::vector<DiagnoseReport> reports(3);
  {
    std::vector<std::jthread> threads;
    for (DiagnoseReport& report : reports) threads.emplace_back([&] { report = diagnose(options); });
  }
  for (const DiagnoseReport& report : reports) {
    EXPECT_EQ(report.kept.value().layers, alone.kept.value().layers);
    EXPECT_EQ(report.final_figures->outputs[0].sqnr_db, alone.final_figures->outputs[0].sqnr_db);
  }
}

TEST(TwoJobs, OneIsEndedAloneWhereItsThreadSaysSo) {
  DiagnoseOptions options = asked({Format::Int8});
  options.measure.requirement = at_least_db(44);
  std::atomic<const JobsOfThread*> mine = nullptr;
  std::atomic<bool> ended = false;
  bool interrupted = false;
  std::jthread first([&] {
    const JobsOfThread jobs;
    mine = &jobs;
    JobSinks sinks;
    sinks.interrupted = [&] { return mine.load() == nullptr; };
    try {
      for (;;) diagnose(options, sinks);
    } catch (const Error& error) {
      interrupted = error.kind() == ErrorKind::Interrupted;
    }
    ended = true;
    while (mine.load() != nullptr) std::this_thread::yield();  // `jobs` lives as long as others may call it
  });
  while (mine.load() == nullptr) std::this_thread::yield();
  std::size_t done = 0;
  std::jthread second([&] {
    for (; done < 3; ++done) diagnose(options);
  });
  while (!ended.load()) mine.load()->end_runs();
  mine = nullptr;
  first.join();
  second.join();
  EXPECT_TRUE(interrupted);
  EXPECT_EQ(done, 3U) << "the other's runs were ended too";
}

}  // namespace
}  // namespace vernier::testing
