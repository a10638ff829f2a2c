
#include "vernier/report/run.h"

#include <algorithm>
#include <map>

#include "job_files.h"
#include "jobs/run/live_run.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/run.h"
#include "vernier/runs.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

RunnerOptions runner(RunnerKind kind, const NetFiles& files, std::vector<Format> low = {}) {
  RunnerOptions options;
  options.kind = kind;
  options.model = files.model_file();
  options.precision.low = std::move(low);
  return options;
}

RunOptions run_of(const NetFiles& files, std::vector<RunnerOptions> runners) {
  RunOptions options;
  options.runners = std::move(runners);
  options.measure = files.measure();
  return options;
}

std::map<std::string, Tensor> tensors_at(const Run& run, std::size_t index) {
  std::map<std::string, Tensor> tensors;
  for (const NamedTensor& output : run.at(index).outputs) tensors[output.name] = output.tensor;
  return tensors;
}

TEST(Run, OfOneModelTwiceAgrees) {
  const NetFiles files;
  const RunResult result =
      run(run_of(files, {runner(RunnerKind::OnnxRuntime, files), runner(RunnerKind::OnnxRuntime, files)}));
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(result.iterations, 8U);
  ASSERT_EQ(result.pairs.size(), 1U);
  EXPECT_EQ(result.pairs[0].passed_iterations, 8U);
}

TEST(Run, OfALowerPrecisionFailsAtTightTolerances) {
  const NetFiles files;
  std::string text;
  const RunResult result =
      run(run_of(files, {runner(RunnerKind::Simulated, files, {Format::Int8}), runner(RunnerKind::OnnxRuntime, files)}),
          {}, RunText({}, [&](const std::string& part) { text += part; }));
  EXPECT_FALSE(result.passed);
  EXPECT_NE(text.find("Accuracy Comparison"), std::string::npos);
  EXPECT_NE(text.find("FAILED"), std::string::npos);
}

// The peer's worst fault: looking at a tensor changed what was computed.
TEST(Run, MarkingChangesNothingThatIsComputed) {
  const NetFiles files;
  for (const Format format : {Format::Int8, Format::Float16, Format::Float32}) {
    RunOptions plain = run_of(files, {runner(RunnerKind::Simulated, files)});
    if (format != Format::Float32) plain.runners[0].precision.low = {format};
    RunOptions marked = plain;
    marked.onnx_outputs.names = {"*"};
    const JobSinks sinks;
    Sources sources(plain.measure, sinks);
    const auto without = make_live_run(plain, 0, "plain", sources, [](const Note&) {});
    const auto with = make_live_run(marked, 0, "marked", sources, [](const Note&) {});
    for (std::size_t i = 0; i < without->size(); ++i) {
      const auto all = tensors_at(*with, i);
      EXPECT_GT(all.size(), 1U);
      for (const auto& [name, tensor] : tensors_at(*without, i)) {
        EXPECT_TRUE(same_bits(tensor, all.at(name))) << format_name(format) << ", sample " << i << ", " << name;
      }
    }
  }
}

TEST(Run, SavedOutputsAreOneMoreRun) {
  const NetFiles files;
  RunOptions first = run_of(files, {runner(RunnerKind::OnnxRuntime, files)});
  first.save_outputs = files / "golden.json";
  first.save_inputs = files / "inputs.json";
  EXPECT_TRUE(run(first).passed);
  RunOptions second = run_of(files, {runner(RunnerKind::OnnxRuntime, files)});
  second.load_outputs = {files / "golden.json"};
  second.measure.data.location = (files / "inputs.json").string();
  const RunResult result = run(second);
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(result.runs.size(), 2U);
  EXPECT_EQ(result.iterations, 8U);
}

TEST(Run, DifferentNumbersOfIterationsAreRefused) {
  const NetFiles files;
  RunOptions first = run_of(files, {runner(RunnerKind::OnnxRuntime, files)});
  first.measure.data.limit = 3;
  first.save_outputs = files / "three.json";
  run(first);
  RunOptions second = run_of(files, {runner(RunnerKind::OnnxRuntime, files)});
  second.load_outputs = {files / "three.json"};
  EXPECT_THROW(run(second), Error);
}

RunEvents keep(std::vector<NonFiniteOutput>& found) {
  return [&found](const RunEvent& event) {
    if (const auto* output = std::get_if<NonFiniteOutput>(&event)) found.push_back(*output);
  };
}

TEST(Run, ValidateNamesTheLayerThatMadeTheFirstNonFiniteValue) {
  const NetFiles files(network(R"(g (float[1,4] x) => (float[1,4] y) {
    [square] a = Mul (x, x)
    [gone] b = Log (n)
    [negative] n = Neg (a)
    [last] y = Abs (b)
  })"),
                       {1, 4});
  RunOptions options = run_of(files, {runner(RunnerKind::OnnxRuntime, files)});
  options.validate = true;
  std::vector<NonFiniteOutput> found;
  const RunResult result = run(options, {}, keep(found));
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.nonfinite, 8U);
  ASSERT_EQ(found.size(), 8U);
  ASSERT_TRUE(found.front().origin);
  EXPECT_EQ(found.front().origin->layer, "gone");
  EXPECT_EQ(found.front().origin->op_type, "Log");
}

TEST(Run, ValidateSeesWhatRoundingMakesInfinite) {
  const NetFiles files(network(R"(g (float[1,4] x) => (float[1,4] y) {
    [square] a = Mul (x, x)
    [grow] b = Exp (a)
    [shrink] y = Sqrt (b)
  })"),
                       {1, 4});
  RunOptions options = run_of(files, {runner(RunnerKind::Simulated, files, {Format::Float16})});
  options.measure.data = {};
  options.measure.data.value_ranges["x"] = {4, 5};
  options.validate = true;
  std::vector<NonFiniteOutput> found;
  run(options, {}, keep(found));
  ASSERT_FALSE(found.empty());
  ASSERT_TRUE(found.front().origin);
  EXPECT_EQ(found.front().origin->tensor, "b");
  EXPECT_EQ(found.front().origin->layer, "grow");
}

}  // namespace
}  // namespace vernier::testing
