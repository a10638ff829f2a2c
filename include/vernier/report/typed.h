// What a typed model that was written holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vernier/note.h"
#include "vernier/onnx_model.h"

namespace vernier {

/// One run of a file in ONNX Runtime's CPU provider, with its default optimizations.
struct RuntimeCheck {
  std::string refused{};          // why it does not run, in the runtime's words; empty: it runs
  bool runs_unoptimized = false;  // it was refused, and runs with all optimizations off
  /// Against the same file with all optimizations off, where that is below 10 dB: an optimization changes what it
  /// means.
  std::optional<double> changed_db{};
  std::string node{};  // that refuses; empty: the runtime names none
  /// Optimizers of ONNX Runtime that end the process that loads the file, which runs without them. Empty: none does.
  std::vector<std::string> crashing_optimizers{};
};

/// A weight that is stored in a float type and holds a tenth of the file's weights or more.
struct LargeFloatWeight {
  std::string name;
  std::int64_t bytes = 0;
  std::string dtype;
  std::vector<std::string> read_by;  // types of operators
};

struct TypedReport {
  std::string file;  // where it was written; empty: nowhere
  std::int64_t casts = 0;
  std::int64_t quantize_pairs = 0;
  std::int64_t weight_bytes = 0, original_weight_bytes = 0;
  std::vector<LargeFloatWeight> float_weights{};  // the largest first
  std::vector<Note> notes;
  std::optional<RuntimeCheck> onnxruntime{};  // absent: not tried
  std::optional<std::size_t> lowered{};       // layers that it has in a format below float32; absent in earlier reports
  std::size_t refused = 0;                    // layers that were to be lowered and could not be, as the notes say
  /// Of quantize_pairs, those of weights and of biases; the others are of activations. Absent in earlier reports.
  std::optional<std::int64_t> quantized_weights{}, quantized_biases{};
  OnnxModel model{};   // the result itself; not in the JSON
  std::string plan{};  // as plan.json has it; not in the JSON
};

}  // namespace vernier
