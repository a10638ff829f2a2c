// What quantize() wrote.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/note.h"
#include "vernier/report/engine.h"
#include "vernier/report/text.h"
#include "vernier/report/typed.h"

namespace vernier {

/// Layers that do not run in the lowest format asked for, by the one reason they share.
struct SkippedLayers {
  std::string reason;
  std::string runs_in;     // a format, or the type that the file has: "float32", "float64"
  std::string instead_of;  // the low format that they cannot take, where they run in another one; else empty
  bool chosen = false;     // by the user: a selection or an exception
  std::vector<std::string> op_types;
  std::vector<std::string> layers;  // parallel
};

struct QuantizeResult {
  std::string scheme;
  TypedReport typed;
  std::vector<Note> notes;
  std::vector<Note> warnings;  // exceptions not honoured, random data: told to the sink as well
  std::map<std::string, std::size_t> layers_by_format;
  std::vector<SkippedLayers> skipped;       // in the order of their first layers
  std::optional<RuntimeCheck> onnxruntime;  // of the file, on samples or random inputs; absent: not tried
  std::optional<EngineReport> compiled;
  bool is_engine = false;  // the file is the engine that was compiled, not ONNX
};

/// What was written, for people; without the warnings. As JSON: every field, skipped layers by name.
VERNIER_API std::string result_to_text(const QuantizeResult& result, const TextOptions& options);
VERNIER_API std::string result_to_json(const QuantizeResult& result);

/// 4 where an engine was asked to compile what was written and refuses it, else 0.
VERNIER_API int exit_code_of(const QuantizeResult& result);

}  // namespace vernier
