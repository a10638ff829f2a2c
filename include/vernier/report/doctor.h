// What was found on this machine, and what was tried.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vernier/export.h"
#include "vernier/report/engine.h"

namespace vernier {

struct DoctorReport {
  std::string vernier_version, onnx_version, machine;
  std::vector<std::string> simd;                              // instruction sets that this program may take
  std::optional<std::string> onnxruntime_version;             // absent: none that works
  std::vector<std::pair<std::string, std::string>> attempts;  // places where it was looked for, and what came of each
  std::string problem, hint;                                  // where there is none
  /// What --device cuda needs: parts, each found or with what is missing; and what to do where something is.
  struct Gpu {
    std::vector<std::pair<std::string, std::string>> parts;
    bool complete = false;
    std::string hint;
  };
  Gpu gpu;
  /// Engines in the user's Python: each is there, or says why not. None is needed.
  struct Engine {
    EngineAbout about;
    std::string missing;  // why it is not there
  };
  std::vector<Engine> engines;
  /// False when something needed is missing.
  bool healthy() const { return onnxruntime_version.has_value(); }
};
VERNIER_API std::string report_to_text(const DoctorReport& report);
VERNIER_API std::string report_to_json(const DoctorReport& report);

}  // namespace vernier
