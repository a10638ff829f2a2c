// "Someone gave me a quantized model": one command, one verdict.
#pragma once

#include <filesystem>
#include <optional>

#include "vernier/engine.h"
#include "vernier/export.h"
#include "vernier/report/verify.h"
#include "vernier/sinks.h"
#include "vernier/verify.h"

namespace vernier {

struct ExplainFileOptions : VerifyOptions {
  bool explain = true;           // what is wrong with the Q/DQ pairs, and what engines make of them
  std::filesystem::path output;  // folder: report.json and report.html; empty: nothing is written
  /// Also the typed file, by the compiler of an engine of `target`; open dimensions as in the first sample. That it is
  /// refused, or that the engine crashes or takes too long, is a value.
  std::optional<CompileOptions> compile;
};

/// verify(), then what is wrong with the Q/DQ pairs of the typed model, and what engines make of them: `placements` and
/// `defects` of the report. The pairs are measured where the requirement is missed, or where there is none, on at most
/// 32 samples; what the file alone shows is always looked at. Of a file without pairs, and against a reference that is
/// quantized itself, there is nothing to explain. What cannot be looked at is a note, never an error: the figures
/// stand. Cost: of verify(), of debug_loss() on those samples, of check_placement() for each target, and of `compile`.
/// Errors: those of verify(), Usage when an input would be replaced, or no engine that compiles is one of `target`,
/// Input when a file cannot be written, Backend when the engine to compile with is not there.
VERNIER_API VerifyReport explain_file(const ExplainFileOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
