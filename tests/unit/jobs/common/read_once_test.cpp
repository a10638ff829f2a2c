// A job reads its model once and runs its scripts of samples once, however many of its steps look at them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>

#include "job_files.h"
#include "opened_files.h"
#include "temp_files.h"
#include "vernier/calibrate.h"
#include "vernier/debug_accuracy.h"
#include "vernier/debug_loss.h"
#include "vernier/diagnose.h"
#include "vernier/eval.h"
#include "vernier/fix.h"
#include "vernier/format.h"
#include "vernier/pipeline.h"
#include "vernier/quantize.h"
#include "vernier/report/alternatives.h"
#include "vernier/report/diagnose.h"
#include "vernier/run.h"
#include "vernier/search_options.h"
#include "vernier/templates.h"
#include "vernier/verify.h"

namespace vernier::testing {
namespace {

/// net.onnx and two scripts of samples that note each of their runs.
class ReadOnce : public ::testing::Test {
 protected:
  ReadOnce() {
    for (const char* name : {"loader", "calibrator"}) {
      write_file(files_ / (std::string(name) + ".py"),
                 "import numpy as np\n"
                 "def load_data():\n"
                 "    with open('" +
                     notes(name).string() +
                     "', 'a') as notes:\n"
                     "        notes.write('run\\n')\n"
                     "    random = np.random.default_rng(1)\n"
                     "    for _ in range(4):\n"
                     "        yield {'x': random.standard_normal((1, 3, 8, 8), dtype=np.float32)}\n");
    }
    write_file(files_ / "network.py",
               "import tensorrt as trt\n"
               "def postprocess(network):\n"
               "    network[0].precision = trt.float32\n");
  }

  std::filesystem::path notes(const std::string& script) const { return files_ / (script + ".txt"); }

  std::size_t runs_of(const std::string& script) const {
    const std::string text = std::filesystem::exists(notes(script)) ? bytes_of(notes(script)) : "";
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  MeasureOptions by_script(bool calibrates = false) const {
    MeasureOptions measure;
    measure.data.location = (files_ / "loader.py").string();
    measure.data.python = VERNIER_PYTHON;
    measure.threads = 1;
    if (calibrates) {
      measure.calibration_data = measure.data;
      measure.calibration_data->location = (files_ / "calibrator.py").string();
    }
    return measure;
  }

  template <class Options>
  Options diagnosis(double db) const {
    Options options;
    static_cast<DiagnoseOptions&>(options) = files_.diagnose_options({Format::Int8});
    options.measure = by_script(/*calibrates=*/true);
    options.measure.requirement = at_least_db(db);
    return options;
  }

  void expect_once(bool calibrated) {
    EXPECT_EQ(model_.times(), 1U) << "reads of the model";
    EXPECT_EQ(runs_of("loader"), 1U) << "runs of the script of --data";
    EXPECT_EQ(runs_of("calibrator"), calibrated ? 1U : 0U) << "runs of the script of --calibration-data";
  }

  NetFiles files_;
  OpenedFile model_{files_.model_file()};
};

TEST_F(ReadOnce, Diagnose) {
  const DiagnoseReport report = diagnose(diagnosis<DiagnoseOptions>(35));
  ASSERT_TRUE(report.final_figures);
  expect_once(/*calibrated=*/true);
}

TEST_F(ReadOnce, TheOptionsOfADiagnosisHaveItsSamples) {
  DiagnoseOptions options = diagnosis<DiagnoseOptions>(60);
  options.alternatives = 2;
  const DiagnoseReport report = diagnose(options);
  ASSERT_EQ(report.alternatives.size(), 3U);
  for (const Alternative& row : report.alternatives) EXPECT_NE(row.end, AlternativeEnd::NotMeasured) << row.why;
  EXPECT_EQ(runs_of("loader"), 1U);
  EXPECT_EQ(runs_of("calibrator"), 1U);
}

TEST_F(ReadOnce, DiagnoseWithANetworkScript) {
  DiagnoseOptions options = diagnosis<DiagnoseOptions>(35);
  options.precision.network_scripts = {(files_ / "network.py").string()};
  ASSERT_TRUE(diagnose(options).final_figures);
  expect_once(/*calibrated=*/true);
}

// The claim rests on the file as it was written, whatever the search held in memory.
TEST_F(ReadOnce, DiagnoseVerifiesTheFileThatItWrote) {
  const DiagnoseOptions options = diagnosis<DiagnoseOptions>(35);
  std::filesystem::create_directories(options.output);
  OpenedFile written(options.output / "model.onnx");
  const DiagnoseReport report = diagnose(options);
  ASSERT_TRUE(report.final_figures && report.typed);
  EXPECT_GE(written.times(), 1U);
  VerifyOptions again = files_.verify_options(report.typed->file);
  again.measure = options.measure;
  EXPECT_EQ(verify(again).figures.outputs.front().sqnr_db, report.final_figures->outputs.front().sqnr_db);
}

TEST_F(ReadOnce, Fix) {
  const DiagnoseReport report = fix(diagnosis<FixOptions>(35));
  ASSERT_TRUE(report.final_figures);
  expect_once(/*calibrated=*/true);
}

TEST_F(ReadOnce, SearchPrecision) {
  DiagnoseOptions options = diagnosis<DiagnoseOptions>(35);
  options.search.mode = SearchMode::Linear;
  ASSERT_TRUE(search_precision(options).final_figures);
  expect_once(/*calibrated=*/true);
}

TEST_F(ReadOnce, ConvertWithANetworkScript) {
  QuantizeOptions options = files_.quantize_options({Format::Int8});
  options.measure = by_script();
  options.precision.network_scripts = {(files_ / "network.py").string()};
  EXPECT_EQ(quantize(options).layers_by_format.count("float32"), 1U) << "what the script set";
  expect_once(/*calibrated=*/false);
}

TEST_F(ReadOnce, ConvertByAPlan) {
  QuantizeOptions options = files_.quantize_options({Format::Float16});
  write_file(files_ / "plan.json", plan_template(options));
  options.plan = files_ / "plan.json";
  const std::size_t before = model_.times();
  quantize(options);
  EXPECT_EQ(model_.times() - before, 1U);
}

TEST_F(ReadOnce, Calibrate) {
  CalibrateOptions options;
  options.model = files_.model_file();
  options.measure = by_script();
  calibrate(options);
  expect_once(/*calibrated=*/false);
}

/// The model in int8, made of samples from a file.
class ReadOnceBesideTyped : public ReadOnce {
 protected:
  ReadOnceBesideTyped() {
    quantize(files_.quantize_options({Format::Int8}));
    before_ = model_.times();
  }

  void expect_once(std::size_t looks = 0) {
    EXPECT_EQ(model_.times() - before_, 1 + looks) << "reads of the model";
    EXPECT_EQ(runs_of("loader"), 1U) << "runs of the script of --data";
  }

  std::filesystem::path typed() const { return files_ / "converted.onnx"; }
  std::size_t before_ = 0;
};

TEST_F(ReadOnceBesideTyped, Verify) {
  VerifyOptions options = files_.verify_options(typed());
  options.measure = by_script();
  verify(options);
  expect_once();
}

TEST_F(ReadOnceBesideTyped, DebugLoss) {
  DebugLossOptions options;
  options.float_model = files_.model_file();
  options.quantized_model = typed();
  options.measure = by_script();
  debug_loss(options);
  expect_once();
}

TEST_F(ReadOnceBesideTyped, Pipeline) {
  PipelineOptions options;
  options.stages = {{"float", files_.model_file()}, {"int8", typed()}};
  options.measure = by_script();
  OpenedFile second(typed());
  pipeline(options);
  const std::size_t looks = 1;  // at the first bytes: a TensorRT engine has its own mark there
  expect_once(looks);
  EXPECT_EQ(second.times(), 1 + looks) << "reads of the second stage";
}

TEST_F(ReadOnceBesideTyped, EvalOfTwo) {
  EvalOptions options;
  options.model = typed();
  options.against = files_.model_file();
  options.task = Task::Classification;
  options.labels = files_ / "labels.txt";
  write_file(files_ / "labels.txt", "0\n1\n2\n3\n");
  options.measure = by_script();
  OpenedFile second(typed());
  evaluate(options);
  expect_once();
  EXPECT_EQ(second.times(), 1U) << "reads of the typed model";
}

TEST_F(ReadOnce, RunnersOfOneModel) {
  RunOptions options;
  RunnerOptions runner;
  runner.model = files_.model_file();
  runner.kind = RunnerKind::Simulated;
  runner.precision.low = {Format::Int8};
  runner.precision.network_scripts = {(files_ / "network.py").string()};
  options.runners = {runner};
  runner.kind = RunnerKind::OnnxRuntime;
  options.runners.push_back(runner);
  options.measure = by_script();
  run(options);
  expect_once(/*calibrated=*/false);
}

TEST_F(ReadOnce, DebugAccuracy) {
  DebugAccuracyOptions options;
  RunnerOptions runner;
  runner.model = files_.model_file();
  runner.kind = RunnerKind::Simulated;
  runner.precision.low = {Format::Int8};
  options.run.runners = {runner};
  options.run.measure = by_script();
  debug_accuracy(options);
  expect_once(/*calibrated=*/false);
}

}  // namespace
}  // namespace vernier::testing
