// What `vernier bench` measured: a row for each model, runner and batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vernier/export.h"
#include "vernier/note.h"
#include "vernier/report/engine.h"
#include "vernier/report/text.h"

namespace vernier {

/// Milliseconds of single inferences.
struct Latency {
  double median = 0, p10 = 0, p90 = 0;
  std::vector<std::pair<double, double>> percentiles;  // those that were asked for: which, and its value
};

/// Medians against those of the first row: below 1 is faster. `low` and `high`: 10 and 90 % of the rounds, in each of
/// which both rows had their turn.
struct TimeRatio {
  double ratio = 1, low = 1, high = 1;
};

/// One kernel, or one node of ONNX Runtime's.
struct BenchLayer {
  std::string kernel, kind;         // the runner's words
  std::vector<std::string> layers;  // of the model that it computes; empty: none by name
  double ms = 0;                    // median
};

struct BenchRow {
  std::string model, sha256;  // the file; its hash where it is no built engine
  std::string runner;         // "onnxrt", "trt", "openvino"
  std::string engine;         // "ONNX Runtime 1.31.1 on CPU", "TensorRT-RTX 1.6.1.120 on NVIDIA H200"
  std::string formats;        // "int8, float16": what was asked of it; empty: the file as it is
  std::int64_t batch = 1;     // samples of one inference
  int threads = 0;            // of OnnxRuntime and OpenVino; 0: the engine's own choice
  bool cuda_graph = false;
  bool device_clock = false;  // latency by the device's own clock, inputs and outputs there; else wall time of a call
  Latency latency;
  std::optional<double> with_copies_ms;  // median wall time with inputs copied in and outputs out
  double samples_per_second = 0;         // batch / median
  std::optional<TimeRatio> ratio;        // absent in the first row
  std::size_t iterations = 0, rounds = 0;
  std::vector<double> milliseconds;   // of each, in their order; not in the document
  double build_seconds = 0;           // of the session or engine
  std::vector<BenchLayer> layers;     // slowest first; empty: not asked for
  std::size_t profiled = 0;           // runs that these are medians of
  std::optional<EngineReport> built;  // of engines: kernels and layers
};

struct BenchReport {
  int version = 1;
  std::string command, vernier_version;
  std::string machine;  // CPU model and cores
  std::string date;     // "2026-11-24"
  std::string data;     // description of the source
  bool random_data = false;
  double warm_up_ms = 0;
  std::vector<BenchRow> rows;
  std::vector<Note> warnings, notes;
};

/// `options.top`: rows of the tables of layers. `kernels`: also the list of each engine's kernels.
VERNIER_API std::string report_to_text(const BenchReport& report, const TextOptions& options, bool kernels = false);
VERNIER_API std::string report_to_json(const BenchReport& report);
/// A table for a pull request, with versions, machine and date below it.
VERNIER_API std::string bench_markdown(const BenchReport& report, std::size_t top_layers);

/// Files in the forms of trtexec: --exportTimes, --exportProfile, --exportLayerInfo.
VERNIER_API std::string times_for_trtexec(const BenchRow& row);
VERNIER_API std::string profile_for_trtexec(const BenchRow& row);
VERNIER_API std::string layers_for_trtexec(const BenchRow& row);

}  // namespace vernier
