// What a caller puts beside what the jobs have, to try something: a cause, a repair; a way to choose ranges is in
// calibration.h. Each belongs to the options of one job, and no other job feels it. The functions are called on threads
// of the job, one call at a time; what they throw ends the job and is thrown by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vernier/calibration.h"
#include "vernier/format.h"
#include "vernier/onnx_model.h"
#include "vernier/report/causes.h"
#include "vernier/tensor.h"

namespace vernier {

/// A tensor that an examined layer reads or makes. What was not measured is empty.
struct TensorEvidence {
  SeenValues values;
  bool constant = false;
  std::vector<float> channel_absmax;  // of a weight: of its output channels
  std::vector<float> sample_absmax;
  std::vector<float> scales;  // of its grid
};

/// What was measured of a layer. Noise is error power over signal power of a result.
struct LayerEvidence {
  std::string name, op_type;
  Format format = Format::Float32;
  std::vector<TensorEvidence> inputs, outputs;  // in the node's order
  double own_noise = 0;                         // on exact inputs
  std::optional<double> inherited_noise;        // of what arrives
  std::optional<double> effect_noise;           // of the worst output of the network with this layer alone low
  std::optional<double> weights_noise, activations_noise;                // with that side alone low
  std::int64_t overflowed = 0, flushed = 0, subnormal = 0, rounded = 0;  // of `rounded` values
  std::vector<double> mean_error;                                        // of each output channel
  double output_rms = 0;
  std::size_t terms = 0;  // that one result sums
  bool depthwise = false;
  bool first = false, last = false;           // of the layers in the low format
  std::vector<std::string> read_by, made_by;  // operators behind, and those that make each input
};

/// DiagnoseOptions::causes: asked of every examined layer, beside the causes that the library knows.
struct CauseFinder {
  std::string id;  // becomes the cause's
  /// nullopt: not this. `layer` and `id` of the cause are filled in.
  std::function<std::optional<Cause>(const LayerEvidence&)> find;
};

/// A layer of the network that a RepairMethod looks at.
struct LayerToRepair {
  std::string name, op_type;
  Format format = Format::Float32;
  std::vector<std::string> inputs, outputs;  // of its node: tensors and constants, "" for one that is left out
  std::optional<double> noise;               // of its own, on exact inputs
  std::vector<double> mean_error;            // low - float of each output channel, where it is weighted
};

struct NetworkToRepair {
  OnnxModel model;  // float, as the job prepared it
  std::vector<LayerToRepair> layers;
  std::map<std::string, SeenValues> values;                  // of activations that are quantized
  std::map<std::string, std::pair<float, float>> ranges;     // that the grids of activations cover now
  std::map<std::string, std::vector<float>> channel_absmax;  // of activations that weighted layers read
};

/// One change that stands or falls as a whole: ranges and constants, or a model.
struct RepairIdea {
  std::vector<std::string> layers;                        // those whose error it changes, and is judged by
  std::map<std::string, std::pair<float, float>> ranges;  // of activations
  /// Float32 values that the low side reads in the place of an initializer's. Errors of the job: Input, where the model
  /// has none of this name and shape, or several layers read it.
  std::map<std::string, Tensor> constants;
  OnnxModel model;      // equal to the float model in exact arithmetic, which a run proves; the only idea of the call
  std::string what;     // in words: "step 0.0344 in place of 0.0404"
  std::string why_not;  // does not apply to these layers, and why; nothing else is filled then
};

/// RepairOptions::own: tried as the library's repairs are, before those that correct biases.
struct RepairMethod {
  std::string id;
  std::string text;  // one line for people
  std::function<std::vector<RepairIdea>(const NetworkToRepair&)> propose;
};

}  // namespace vernier
