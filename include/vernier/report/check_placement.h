// Q/DQ pairs that an engine cannot fuse, and layers that it computes otherwise than the file says.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/export.h"
#include "vernier/note.h"
#include "vernier/report/engine.h"
#include "vernier/report/text.h"
#include "vernier/target.h"

namespace vernier {

struct PlacementFinding {
  std::string rule;  // "conv-without-quantizer-behind"
  std::string node;  // where it shows
  std::string why;
  std::string change;  // what would let the engine fuse it
  /// tensorrt: what TensorRT-RTX makes of such a place, where it was compiled both ways: compiled, not run. TensorRT is
  /// another product. Empty: not compiled.
  std::string compiled{};
  /// The engine computes something else there than the file says.
  bool computes_otherwise = false;
  /// The engine's documentation advises against it, and TensorRT-RTX compiles as few kernels: a note, no fault.
  bool costs_nothing = false;
  /// The engine takes no file with it.
  bool refused = false;
};

/// The rule of operators on quantized values that the engine's published list does not have.
inline constexpr std::string_view kOperatorNotListed = "operator-not-listed";

struct CheckPlacementReport {
  int version = 1;
  std::string file;
  Target target = Target::TensorRt;
  std::size_t quantizers = 0, dequantizers = 0;  // in the file, of activations; those of constants apart
  std::size_t stored_constants = 0;
  std::vector<PlacementFinding> findings;  // in graph order
  /// onnxruntime: what is left in its optimized graph, and operators that run on codes there.
  bool ran = false;
  std::size_t quantizers_left = 0, dequantizers_left = 0, integer_kernels = 0;
  std::optional<EngineReport> compiled;  // this file, by the engine's own compiler
  std::vector<Note> notes;               // what is no matter of single places
};

VERNIER_API std::string report_to_text(const CheckPlacementReport& report, const TextOptions& options);
VERNIER_API std::string report_to_json(const CheckPlacementReport& report);

}  // namespace vernier
