// What quantization costs in a file that any tool wrote: tensor by tensor, and quantizer by quantizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/format.h"
#include "vernier/note.h"
#include "vernier/report/defects.h"
#include "vernier/report/figures.h"
#include "vernier/report/text.h"

namespace vernier {

/// One layer output that both files have. All in dB; absent where it was not measured.
struct TensorLoss {
  std::string layer, op_type, tensor;   // of the float model
  std::string quantized_tensor;         // of the other file
  Format format = Format::Float32;      // that the layer computes in there
  double sqnr_db = 0;                   // at the tensor, all errors together
  std::optional<double> own_sqnr_db;    // on exact inputs
  std::optional<double> propagated_db;  // what arrives: all noise less its own
};

/// One tensor that goes through Q/DQ.
struct QuantizerLoss {
  std::string tensor, quantizer, dequantizer;  // quantizer empty: stored codes
  bool weight = false;
  Format format = Format::Int8;
  float smallest_scale = 0, largest_scale = 0;  // equal when there is one
  std::size_t scales = 1;
  int zero_point = 0;  // the first
  int axis = -1, block = 0;
  std::optional<double> sqnr_db;     // before against behind it
  std::string not_measured;          // why sqnr_db is absent, in words
  std::optional<double> clip_share;  // of that noise, 0..1; the rest is rounding
  std::optional<double> coverage;  // of the values' range by the grid's: above 1 codes are wasted, below values clipped
  std::optional<double> used_codes;  // share of the codes: weights as counted, activations from smallest to largest
  std::int64_t values = 0;
};

struct DebugLossReport {
  int version = 1;
  std::string command, float_file, quantized_file, data;
  std::size_t samples = 0;
  std::size_t examined = 0;  // samples on which defects were looked for
  RunFigures figures;
  std::optional<SaturatedPairs> saturated_pairs;  // as VerifyReport's
  std::vector<TensorLoss> tensors;                // largest loss first
  std::vector<QuantizerLoss> quantizers;          // in graph order
  std::vector<FoundDefect> defects;      // in graph order: those that the file shows, then those that the data show
  std::size_t matched_by_structure = 0;  // tensors whose names differ
  std::vector<Note> not_compared;        // each with its `layer` and `why`
  std::size_t inside_bodies = 0;         // of these
  std::vector<Note> warnings, notes;
};

VERNIER_API std::string report_to_text(const DebugLossReport& report, const TextOptions& options);
VERNIER_API std::string report_to_json(const DebugLossReport& report);
/// Two tables, tensors then quantizers, an empty line between them; fields as in JSON.
VERNIER_API std::string report_to_csv(const DebugLossReport& report);

}  // namespace vernier
