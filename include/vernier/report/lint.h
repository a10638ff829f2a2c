// What is wrong with a model file.
#pragma once

#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/report/text.h"

namespace vernier {

struct LintEntry {
  bool error = true;   // else a warning
  std::string source;  // onnx_checker, onnx_loader, onnxruntime, onnx_graphsurgeon, in the peer's words; vernier: pairs
  std::string message;
  std::vector<std::string> nodes;  // that it is about; may be empty
  bool forbidden = false;          // by ONNX as well as by the runtime that says it; not in the JSON
  bool inferred = false;           // by the runtime's shape inference, whose messages begin with a space in the JSON
};

struct LintReport {
  std::vector<LintEntry> entries;
  std::vector<std::string> passing, failing;  // names of nodes
  bool passed = true;                         // no error
};

/// {"summary": {"passing": [], "failing": []}, "lint_entries": [{"level", "source", "message", "nodes"}]}
VERNIER_API std::string report_to_json(const LintReport& report);
VERNIER_API std::string report_to_text(const LintReport& report, const TextOptions& options);

}  // namespace vernier
