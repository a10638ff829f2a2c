// The main job: which layers break in low precision, and which must be kept so that a requirement is met.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vernier/engine.h"
#include "vernier/error.h"
#include "vernier/experiments.h"
#include "vernier/export.h"
#include "vernier/external_data.h"
#include "vernier/measure.h"
#include "vernier/onnx_model.h"
#include "vernier/precision.h"
#include "vernier/report/diagnose.h"
#include "vernier/search_options.h"
#include "vernier/sinks.h"

namespace vernier {

struct DiagnoseOptions {
  OnnxModel model;
  /// A quantized file of `model`: its tensors keep the ranges of that file where the target takes such ranges, and
  /// layers that it has in float32 stay there.
  std::optional<OnnxModel> from;
  std::filesystem::path output;  // folder; empty: nothing is written
  MeasureOptions measure;
  PrecisionOptions precision;
  std::string command;  // for the record
  /// Times the models. Unset: only with Target::OnnxRuntime or `confirm_on`, as times of another engine's placement
  /// tell nothing.
  std::optional<bool> latency;
  /// Measures sensitivities also where everything low meets the requirement. Time: about that of twelve passes more.
  bool rank = false;
  /// Stops at the answer and its file: no own errors where nothing has to be kept, no causes, no alternatives, no
  /// times, no pictures, no run in ONNX Runtime of a file for another engine.
  bool quick = false;
  SearchOptions search;
  ExternalDataOptions external_data;  // of the typed model
  /// Where measurements are kept for later jobs on the same network and samples, found by content, of one build of the
  /// library on one machine: own errors, sensitivities, outcomes of trials. At most 256 MiB; empty: nothing is kept.
  std::filesystem::path cache_folder;
  /// The typed model, by an engine's own compiler; open dimensions as in the first sample. That it is refused, or that
  /// the engine crashes, is told in the report.
  std::optional<CompileOptions> compile;
  /// The written file must meet the requirement there, too: what misses on the engine is searched again with less
  /// allowance. Its figures are in the report.
  std::optional<MeasureOn> confirm_on;
  EngineRunOptions engine;  // of `confirm_on`
  /// Every trial of the search runs on `confirm_on`, in the place of the simulation, which then only ranks layers; the
  /// engine alone decides. Cost: one build of the engine and its runs of all samples a trial.
  bool trials_on_engine = false;
  /// How many other ways to meet the requirement are measured when something has to be kept: the repairs, another
  /// target, another format, in this order. They are in the report's `alternatives`. If the repaired network meets the
  /// requirement at the least cost of them all, the report is about that one, and it is what is written. Cost: at most
  /// three times the evaluations of the search, twice for the repairs and once for the others together (never less than
  /// 60 and 30 each), and never by the clock. Of diagnose() alone.
  std::size_t alternatives = 0;
  /// Puts pictures of the worst samples' image inputs into the report. Whoever gets the report sees them.
  bool sample_pictures = false;
  std::vector<CauseFinder> causes{};  // of the caller's, beside the library's
  /// How values of the worst layers lie on their grids, in the report, without an `output` too: with one it always has
  /// them. Time: two runs of four samples.
  bool pictures = false;
};

/// diagnose() or fix() was ended before a search could give its best set so far: by JobSinks::interrupted
/// (ErrorKind::Interrupted), or because a file of its output could not be written (ErrorKind::Input).
class VERNIER_API DiagnosisInterrupted : public Error {
 public:
  DiagnosisInterrupted(const Error& error, DiagnoseReport report)
      : Error(error.code(), error.what(), error.hint()),
        report_(std::make_shared<const DiagnoseReport>(std::move(report))) {}
  /// What was measured by then.
  const DiagnoseReport& report() const noexcept { return *report_; }

 private:
  std::shared_ptr<const DiagnoseReport> report_;
};

/// The whole flow: reference, calibration, own errors, all-low, sensitivities, search, typed model, verify of that
/// file. Steps that a search mode other than Minimal has no use for are left out. Errors: Input, Backend, Usage;
/// DiagnosisInterrupted; a missed requirement is a value (final_figures->passed == false or kept->end).
VERNIER_API DiagnoseReport diagnose(const DiagnoseOptions& options, const JobSinks& sinks = {});

/// The flow of diagnose() without its causes: for a search alone.
VERNIER_API DiagnoseReport search_precision(const DiagnoseOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
