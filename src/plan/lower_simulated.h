// Plan + prepared model -> a float32 graph with `Round` nodes that computes what an accelerator with FP32 accumulation
// does: inputs and weights rounded, FP32 kernel, output rounded (float16, bfloat16, int8 under a target with integer
// kernels) or left in float (int8 elsewhere, float8).
// Weights are rounded here, not in the graph, so that they stay constant and the runtime can prepack them.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "model/layers.h"
#include "model/model.h"
#include "plan/integer_bias.h"
#include "plan/plan.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {

/// A weight's grid, and the format that a DequantizeLinear then gives its values in.
struct WeightGrid {
  QuantParams params;
  Format values = Format::Float32;

  /// For names of rounded copies: "int8", "int4.float16".
  std::string suffix() const;
};

/// Rounded copies of weights by (name, formats), shared by all candidates of a search: one object for one set of
/// quantization parameters.
class RoundedWeights {
 public:
  /// `exact`: nothing is rounded, so that what is measured is the activations' part alone.
  explicit RoundedWeights(bool exact = false) : exact_(exact) {}

  /// Forgets all: the grids, or the constants, are others now.
  void clear();
  /// The weight `name` of `model` on `grid`. Safe from several threads.
  Tensor get(const Model& model, const std::string& name, const WeightGrid& grid);
  /// What rounding it did to its values.
  RoundEvents events(const Model& model, const std::string& name, const WeightGrid& grid);
  /// The bias `name` as whole multiples of `scales`, which belong to `layer`. Safe from several threads.
  Tensor get_bias(const Model& model, const std::string& name, const std::string& layer,
                  const std::vector<float>& scales);

 private:
  struct Rounded {
    Tensor values;
    RoundEvents events;
  };
  const Rounded& rounded(const Model& model, const std::string& name, const WeightGrid& grid);

  bool exact_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Rounded> done_;   // by name and suffix of the grid
  std::map<std::pair<std::string, std::string>, Tensor> biases_;  // by name and layer
};

/// Rounding of one layer, read from the plan: which inputs, weights and outputs, on which grid. Shared by the
/// whole-graph lowering and by the one-layer shadows of the own-error pass.
struct LayerRounding {
  Format format = Format::Float32;          // of the outputs that are rounded
  std::vector<int> data_inputs;             // inputs that a Round node goes in front of
  std::map<int, QuantParams> input_params;  // their grids
  std::map<int, WeightGrid> weight_grids;   // inputs that are initializers
  std::optional<IntegerBias> bias;          // integer kernels only
  std::vector<int> rounded_outputs;         // outputs that are rounded (float16, bfloat16); codes: see Placement
};

/// Errors: Input when the plan has no range for a tensor that the layer reads.
LayerRounding rounding_of(const Model& model, const Layer& layer, const onnx::NodeProto& node, Format format,
                          const Plan& plan);

/// The whole model with every layer in its planned format. Bodies of If, Loop and Scan are lowered too.
Model lower_simulated(const Model& prepared, const std::vector<Layer>& layers, const Plan& plan,
                      RoundedWeights& weights);

}  // namespace vernier
