// In which formats layers shall run.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vernier/calibration.h"
#include "vernier/format.h"
#include "vernier/quantization.h"

namespace vernier {

/// What a network script says of one layer.
struct LayerSetting {
  std::string layer;                 // its name, never a pattern
  std::optional<Format> precision;   // layer.precision
  std::vector<Format> output_types;  // layer.set_output_type()
};

struct PrecisionOptions {
  std::vector<Format> low;  // --int8 --fp16 ...: the lowest that a layer can take wins
  Format high = Format::Float32;
  std::string target = "tensorrt";                               // tensorrt, onnxruntime, openvino
  CalibrationChoice calibration;                                 // how ranges of activations are chosen
  std::vector<std::pair<std::string, Format>> layer_precisions;  // wildcards allowed, later ones win
  std::string constraints = "prefer";                            // obey, prefer, none
  /// Scripts that set precisions on a TensorRT network, file.py:function, in this order; Python and its time as for
  /// data loader scripts (SourceOptions).
  std::vector<std::string> network_scripts;
  std::vector<LayerSetting> layer_settings;  // what scripts have set; wins over layer_precisions
  QuantizationRules rules;
  LayerSelection selection;  // who may take a format with a scale; exceptions above win
};

}  // namespace vernier
