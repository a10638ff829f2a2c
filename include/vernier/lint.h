// The job behind `vernier check lint`: everything that is wrong with a model file, in one run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/jobs.h"

namespace vernier {

struct LintEntry {
  bool error = true;   // else a warning
  std::string source;  // onnx_checker, onnx_loader, onnxruntime, onnx_graphsurgeon, in the peer's words; vernier: pairs
  std::string message;
  std::vector<std::string> nodes;  // that it is about; may be empty
};

struct LintReport {
  std::vector<LintEntry> entries;
  std::vector<std::string> passing, failing;  // names of nodes
  bool passed = true;                         // no error
};

struct LintOptions {
  std::filesystem::path model;
};

/// Checks the file, its graph, every node alone (its operator, attributes and types), and loads it into ONNX Runtime.
/// A file that is none of a model is an entry, too. Errors: Input when the file is missing.
VERNIER_API LintReport lint_model(const LintOptions& options, const JobSinks& sinks = {});

/// {"summary": {"passing": [], "failing": []}, "lint_entries": [{"level", "source", "message", "nodes"}]}
VERNIER_API std::string report_to_json(const LintReport& report);
VERNIER_API std::string report_to_text(const LintReport& report, const TextOptions& options);

}  // namespace vernier
