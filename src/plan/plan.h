// The plan: format of every layer and quantization parameters of every tensor. The one object that calibration, search
// and repair edit and that lowering reads. JSON on disk, readable and diffable.
//
// What a format means for a layer:
//   float16, bfloat16:  inputs are rounded to the format, weights are stored in it, the output is rounded to it. A
//                       tensor has the format of the layer that produces it; a consumer in a higher format reads it
//                       unchanged.
//   int8, uint8, float8: inputs and weights are quantized and dequantized with `tensors`; the output stays float, or is
//                       quantized too where the target's kernels give codes (target.h, placement.h).
//   int4, and int8 or float8 when weights alone are quantized: the layer computes in the high format, with weights that
//                       were quantized and dequantized.
//   float32:            nothing.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "numerics/round.h"
#include "plan/repaired_constants.h"
#include "vernier/arithmetic.h"
#include "vernier/format.h"
#include "vernier/quantization.h"
#include "vernier/target.h"

namespace vernier {

struct Model;

struct PlannedLayer {
  std::string name;
  Format format = Format::Float32;
  bool operator==(const PlannedLayer&) const = default;
};

struct Plan {
  std::string model_file;    // for people
  std::string model_sha256;  // of the original file
  std::string scheme;        // one line: how ranges and parameters were chosen
  Target target = Target::TensorRt;
  Format high = Format::Float32;
  QuantizationRules rules;
  Arithmetic arithmetic;  // of the target, as far as it is simulated
  /// In graph order. Layers that only move data are absent: they follow their inputs.
  std::vector<PlannedLayer> layers;
  /// Activations by tensor name, weights by initializer name; only tensors that a layer in a scaled format reads or,
  /// under a target with integer kernels, makes.
  std::map<std::string, QuantParams> tensors;
  /// Of a tensor that layers in several formats with a scale read: by the format of the layer, where the grid is not
  /// the one in `tensors`.
  std::map<std::string, std::map<Format, QuantParams>> other_grids;
  /// By layer: formats between its own and the high one that a search may give it, lowest first. Their grids are
  /// calibrated too; they are not in the file.
  std::map<std::string, std::vector<Format>> rungs;
  /// By initializer name: what the low side reads instead of the model's own.
  std::map<std::string, RepairedConstant> constants;
  bool operator==(const Plan&) const = default;

  /// The grid that a layer in `format` reads a tensor on; null: none is known.
  const QuantParams* grid(const std::string& tensor, Format format) const;
  /// Adds a grid for layers in `format`, unless there is one.
  void add_grid(const std::string& tensor, Format format, QuantParams params);

  /// float32 for a layer the plan does not name.
  Format format_of(const std::string& layer) const;

  /// True when a layer in `format` quantizes its weight and nothing else.
  bool weights_alone(Format format) const;

  /// The type of the tensors that a layer in `format` reads and makes, quantized ones dequantized: the high format
  /// where weights alone are quantized, float32 for other formats with a scale, else the format itself.
  Format computes_in(Format format) const;
};

/// Plan::format_of for whoever asks for many: that one takes time in the number of layers.
class PlannedFormats {
 public:
  explicit PlannedFormats(const Plan& plan);
  Format of(const std::string& layer) const;

 private:
  std::unordered_map<std::string, Format> formats_;
};

/// Version 1 of the file; field order is fixed, so that two plans can be compared with diff.
std::string plan_to_json(const Plan& plan);
/// JSON Schema of the same.
std::string plan_schema();
/// Errors: Input, naming the field that is missing, unknown or out of range, among them scales that no grid can have
/// (scale_defect). Their message names a layer of `model` that reads the tensor, unless it is null.
Plan plan_from_json(const std::string& text, const std::string& where, const Model* model = nullptr);

}  // namespace vernier
