// Which nodes an engine takes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/note.h"
#include "vernier/report/text.h"
#include "vernier/target.h"

namespace vernier {

/// Nodes of one operator that one thing is to be said of.
struct CapabilityGroup {
  std::string op_type;  // "domain::Operator" outside of ONNX's own domain
  std::string why;      // the reason, or the condition
  std::vector<std::string> nodes;
};

/// A part of the main graph that one engine can run as a whole: no path leaves it and comes back.
struct CapabilityPart {
  bool taken = false;
  std::vector<std::string> nodes;
  std::string file;  // empty: not written
};

struct CapabilityReport {
  int version = 1;
  std::string file;
  Target target = Target::TensorRt;
  std::string engine;           // "TensorRT 10.15", "ONNX Runtime 1.31.1"
  std::string evidence;         // "documented, not run", or what was done
  std::string source;           // where the list is published
  std::size_t nodes = 0;        // of the main graph
  std::size_t inner_nodes = 0;  // inside the bodies of these
  std::size_t taken = 0;
  std::vector<CapabilityGroup> refused;     // in graph order of their first nodes
  std::vector<CapabilityGroup> conditions;  // taken as far as the file shows
  std::vector<CapabilityPart> parts;        // in an order in which they can run
  std::vector<std::string> differences;     // where the engine and the list that is published of it disagree
  std::vector<Note> notes;                  // told to the sink as warnings, too
};

VERNIER_API std::string report_to_text(const CapabilityReport& report, const TextOptions& options);
VERNIER_API std::string report_to_json(const CapabilityReport& report);

}  // namespace vernier
