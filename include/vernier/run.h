// The job behind `vernier run`: one or more runners over the same samples, their outputs saved, and each run compared
// with the next one in line. The last run is the reference.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "vernier/accuracy_record.h"
#include "vernier/comparison.h"
#include "vernier/engine.h"
#include "vernier/export.h"
#include "vernier/graph_optimization.h"
#include "vernier/measure.h"
#include "vernier/onnx_model.h"
#include "vernier/precision.h"
#include "vernier/report/run.h"
#include "vernier/sinks.h"

namespace vernier {

enum class RunnerKind {
  OnnxRuntime,  // --onnxrt: ONNX Runtime as it is, all its optimizations and integer kernels
  Simulated,    // --sim: float32 kernels with our rounding behind them
  TensorRt,     // --trt: TensorRT itself where it can run; elsewhere its documented rules, simulated
  OpenVino,     // --openvino: OpenVINO as it is
  Program,      // --exec: any program, started for each sample
};

/// Whether a runner of TensorRT is its engine: where one can run, always (else the job fails), or never.
enum class EngineUse { IfThere, Always, Never };

struct RunnerOptions {
  RunnerKind kind = RunnerKind::OnnxRuntime;
  OnnxModel model;
  /// Simulated, TensorRt and OpenVino. A typed model says its own formats; options that say others are refused for it.
  /// An engine gets the file that `convert` would write.
  PrecisionOptions precision;
  /// Program: the command line for a shell, with {model}, {inputs} and {outputs}, which become quoted paths: of the
  /// model, of a .npz with one array an input, and of the .npz that the program writes, one array an output.
  std::string command;
  EngineUse use = EngineUse::IfThere;  // of TensorRt
  /// Of TensorRt up to release 10, where it runs: the engine gets the file as it is, and the formats of `precision` as
  /// flags, ranges of a calibration cache, constraints and network scripts, among which its builder chooses.
  bool weakly_typed = false;
  std::string device;  // of OpenVino; empty: CPU
};

/// Which tensors a runner gives. All empty: the model's outputs.
struct OutputChoice {
  std::vector<std::string> names;     // wildcards; they replace the model's outputs. "*", or "mark" "all": every tensor
  std::vector<std::string> excluded;  // wildcards, taken off what was chosen
  std::vector<std::string> op_types;  // outputs of nodes of these types, added
};

struct RunOptions {
  std::vector<RunnerOptions> runners;
  std::vector<std::filesystem::path> load_outputs;                // runs from files, behind the runners
  std::vector<std::shared_ptr<const Run>> runs;                   // of the caller's, behind these
  MeasureOptions measure;                                         // data, carries, threads; no requirement
  OutputChoice onnx_outputs;                                      // of all runners but Program
  OutputChoice trt_outputs;                                       // of TensorRt, in its place; empty: onnx_outputs
  std::vector<std::string> providers;                             // of OnnxRuntime, best first; empty: CPU
  GraphOptimization optimization = GraphOptimization::EnableAll;  // of OnnxRuntime
  /// Simulations are fused as well: quicker, and sums may have other last bits than beside tensors that are marked.
  bool optimize_simulations = false;
  /// Of runners on engines: settings, shapes, the engine file. Python and time are those of `measure.data`.
  EngineRunOptions engine;
  std::filesystem::path save_inputs, save_outputs, save_accuracy;  // empty: not saved
  /// A folder for the values of the inputs without shape and type: DIR/0000000000/NAME.bin, a folder each sample.
  std::filesystem::path save_input_blobs;
  CompareOptions compare;
  /// Python files of the user, file.py[:function], run in measure.data.python; empty: none. Both are called once an
  /// iteration and pair or run, in order, and see outputs as numpy arrays by name.
  std::string postprocess_script;  // postprocess_outputs(outputs) gives what is compared; not what is saved
  std::string compare_script;      // compare_outputs(got, ref) gives {output: verdict}, in place of `compare`
  /// Pictures of what differs, for each output of each iteration and pair: SVG files in these folders; empty: none.
  std::filesystem::path save_heatmaps, save_error_plots;
  bool show_heatmaps = false, show_error_plots = false;  // and as events
  PerOutput<TopK> postprocess;  // applied to all runs before they are compared, not to what is saved
  bool validate = false;        // a value that is not finite fails the job
  bool fail_fast = false;       // ends at the first output that fails
  bool each_iteration = true;   // events of single comparisons
  bool statistics = true;       // of the values, in these events
  bool detail = false;          // histograms also of what passed
};

struct RunResult {
  std::size_t iterations = 0;
  std::vector<std::string> runs;
  std::vector<PairSummary> pairs;
  std::size_t nonfinite = 0;  // outputs with such values, when validated
  AccuracyRecord accuracy;
  bool passed = true;  // no pair failed, and nothing that was validated
};

/// One of the runners as a run by itself: what it gives for a sample is computed when it is asked for. Of `options` the
/// runners, `measure`, the choice of outputs and the settings of the runners count. Errors: as run().
VERNIER_API std::unique_ptr<Run> open_runner(const RunOptions& options, std::size_t runner = 0,
                                             const JobSinks& sinks = {});

/// Memory: one iteration a thread, whatever the number of samples. `events` gets what happens while the job goes on;
/// without it the comparisons of all iterations are kept in the result's `accuracy`.
/// Errors: Usage when there is nothing to run or to compare; Input, Backend.
VERNIER_API RunResult run(const RunOptions& options, const JobSinks& sinks = {}, const RunEvents& events = {});

}  // namespace vernier
