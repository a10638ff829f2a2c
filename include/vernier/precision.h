// In which formats layers shall run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vernier/arithmetic.h"
#include "vernier/calibration.h"
#include "vernier/export.h"
#include "vernier/format.h"
#include "vernier/quantization.h"
#include "vernier/target.h"
#include "vernier/words.h"

namespace vernier {

/// What a network script says of one layer.
struct LayerSetting {
  std::string layer;                 // its name, never a pattern
  std::optional<Format> precision;   // layer.precision
  std::vector<Format> output_types;  // layer.set_output_type()
  bool operator==(const LayerSetting&) const = default;
};

/// What holds for layers that were given a format by name. Obey: it is taken, or an error. Prefer: taken where the
/// layer can. None: ignored. "obey", "prefer", "none".
enum class PrecisionConstraints { Obey, Prefer, None };
VERNIER_API std::span<const std::string_view> words_of(PrecisionConstraints which);

struct PrecisionOptions {
  std::vector<Format> low;  // --int8 --fp16 ...: the lowest that a layer can take wins
  Format high = Format::Float32;
  Target target = Target::TensorRt;
  CalibrationChoice calibration;                                 // how ranges of activations are chosen
  std::vector<std::pair<std::string, Format>> layer_precisions;  // wildcards allowed, later ones win
  PrecisionConstraints constraints = PrecisionConstraints::Prefer;
  /// Scripts that set precisions on a TensorRT network, file.py:function, in this order; Python and its time as for
  /// data loader scripts (SourceOptions).
  std::vector<std::string> network_scripts;
  std::vector<LayerSetting> layer_settings;  // what scripts have set; wins over layer_precisions
  QuantizationRules rules;
  Arithmetic arithmetic;     // of the target; anything but the default: target tensorrt
  LayerSelection selection;  // who may take a format with a scale; exceptions above win
  /// Layers that a quantized file, whose choices are taken over, has in low precision: they take a format with a scale
  /// also where the target runs them so only if they are named, as a residual Add, or where that gains no time.
  std::vector<std::string> low_in_file{};
  /// Target onnxruntime: layers take int8 also where its kernels on codes gain no time by the table of measured kernel
  /// times. Operators and layers that are named in `selection` or `layer_precisions` do so anyway.
  bool even_if_slower = false;
  /// Set by SearchOptions::ladder: `low` and `high` are its rungs, lowest first, and a search may give a layer any of
  /// them that it takes.
  bool ladder = false;
};

}  // namespace vernier
