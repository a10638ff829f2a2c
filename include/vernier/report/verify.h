// What verify() found.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/note.h"
#include "vernier/report/defects.h"
#include "vernier/report/engine.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/text.h"
#include "vernier/requirement.h"
#include "vernier/target.h"

namespace vernier {

/// An output of integers or Booleans, which no figure judges: how many samples give exactly what the float model gives.
struct ExactOutput {
  std::string name;
  std::string what;  // "int64 of NonMaxSuppression"
  std::size_t samples = 0, equal = 0;
};

/// What an engine makes of a file's Q/DQ pairs, by its rules of placement.
struct EnginePlacement {
  Target target = Target::TensorRt;
  std::size_t pairs = 0, not_fused = 0;  // not_fused: places that break a rule and cost something
  std::string first;                     // the first of them, with the reason
  std::string refused;                   // why the file could not be looked at; empty: it was
};

struct VerifyReport {
  int version = 1;
  std::string command;
  std::string vernier_version, onnxruntime_version, onnx_version;
  bool on_gpu = false;  // the networks ran on a GPU, which onnxruntime_version names
  std::string machine;
  std::string float_file, float_sha256;
  std::string typed_file, typed_sha256;
  std::string data;
  std::size_t samples = 0;
  bool random_data = false;
  /// The reference holds quantized values itself, and labels do not decide: its rounding errors are in the reference,
  /// so that no requirement is met by it.
  bool reference_quantized = false;
  bool nothing_low = false;                       // every layer of the typed file is in FP32, and so are its weights
  RunFigures figures;                             // near the limit of the worse of two orders of summation
  std::optional<OtherSums> other_sums;            // target tensorrt, of files with layers in float16 or bfloat16
  std::optional<SaturatedPairs> saturated_pairs;  // of files with int8 weights; absent: none saturates
  std::optional<NotSimulated> not_simulated;      // targets openvino and tensorrt
  std::vector<LayerRow> layers;                   // graph order; formats are what the file says
  std::size_t compared = 0;                       // layers compared
  std::vector<Note> not_compared;                 // each with its `layer` and `why`
  std::string objective;                          // labels or a script that decide, in words; empty: none
  std::optional<TestRow> test;                    // of the typed file, by that
  std::optional<TestRow> engine_test;             // the same on the engine, which decides where there is one
  std::optional<Requirement> requirement;
  std::vector<ExactOutput> exact_outputs;
  /// It decides. Without `on`, for target onnxruntime: what that gives on this machine with default optimizations,
  /// where it is worse for another reason than pairs that saturate.
  std::optional<EngineFigures> engine;
  std::vector<EnginePlacement> placements;  // explain_file(): one for each target; empty: not asked, or no pairs
  std::optional<EngineReport> compiled;     // explain_file(): the typed file, by an engine's own compiler
  std::size_t examined = 0;                 // samples on which pairs were measured; 0: none
  std::vector<FoundDefect> defects;         // of the file's Q/DQ pairs and of the values that it stores
  std::string doubt;  // near the limit, when kernels that sum in another order give another verdict; also a warning
  std::vector<PhaseTime> phases;
  std::vector<Note> warnings;
  std::vector<Note> notes;
  std::map<std::string, std::string> files;  // what was written, by "page", "report"
};

/// The figures that decide: of the engine where there was one, else the simulated ones.
inline const RunFigures& deciding_figures(const VerifyReport& report) {
  return report.engine ? report.engine->figures : report.figures;
}
/// An engine's own compiler was asked, and made nothing of the typed file.
inline bool compiler_refuses(const VerifyReport& report) {
  return report.compiled && !report.compiled->refused.empty();
}
/// Some engine refuses the typed file, for its Q/DQ pairs or when it compiles it: the answer is no, whatever was
/// measured.
inline bool is_refused(const VerifyReport& report) {
  return compiler_refuses(report) || std::ranges::any_of(report.defects, &FoundDefect::refused);
}
/// By labels or a script, where those were asked; null elsewhere.
inline const TestRow* deciding_test(const VerifyReport& report) {
  if (report.engine_test) return &*report.engine_test;
  return report.test ? &*report.test : nullptr;
}
VERNIER_API std::string report_to_json(const VerifyReport& report);
/// Errors: as diagnose_report_from_json().
VERNIER_API VerifyReport verify_report_from_json(const std::string& text, const std::string& where);
VERNIER_API std::string report_to_text(const VerifyReport& report, const TextOptions& options);
/// One page that opens without a network: the text with all its lists.
VERNIER_API std::string report_to_html(const VerifyReport& report);

}  // namespace vernier
