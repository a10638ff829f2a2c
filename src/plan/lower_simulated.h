// Plan + prepared model -> a float32 graph with `Round` nodes that computes what an accelerator with FP32 accumulation
// does: inputs and weights rounded, FP32 kernel, output rounded (float16, bfloat16) or left in float (int8, float8).
// Weights are rounded here, not in the graph, so that they stay constant and the runtime can prepack them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "model/layers.h"
#include "model/model.h"
#include "plan/plan.h"

namespace vernier {

/// Rounded copies of weights by (name, format), shared by all candidates of a search: one object for one set of
/// quantization parameters.
class RoundedWeights {
 public:
  /// The weight `name` of `model` on the grid of `params`.
  /// Safe from several threads.
  Tensor get(const Model& model, const std::string& name, const QuantParams& params);
  /// What rounding it did to its values.
  RoundEvents events(const Model& model, const std::string& name, const QuantParams& params);

 private:
  struct Rounded {
    Tensor values;
    RoundEvents events;
  };
  const Rounded& rounded(const Model& model, const std::string& name, const QuantParams& params);

  std::mutex mutex_;
  std::map<std::pair<std::string, Format>, Rounded> done_;
};

/// Rounding of one layer, read from the plan: which inputs, weights and outputs, on which grid. Shared by the
/// whole-graph lowering and by the one-layer shadows of the own-error pass.
struct LayerRounding {
  Format format = Format::Float32;
  std::vector<int> data_inputs;              // inputs that a Round node goes in front of
  std::map<int, QuantParams> input_params;   // their grids
  std::map<int, QuantParams> weight_params;  // inputs that are initializers, with their grids
  std::vector<int> rounded_outputs;          // outputs that are rounded (float16, bfloat16)
};

/// Errors: Input when the plan has no range for a tensor that the layer reads.
LayerRounding rounding_of(const Model& model, const Layer& layer, const onnx::NodeProto& node, Format format,
                          const Plan& plan);

/// The whole model with every layer in its planned format. Bodies of If, Loop and Scan are lowered too.
Model lower_simulated(const Model& prepared, const std::vector<Layer>& layers, const Plan& plan,
                      RoundedWeights& weights);

}  // namespace vernier
