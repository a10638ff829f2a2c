// Plan + prepared model -> a float32 graph with `Round` nodes that computes what an accelerator with FP32 accumulation
// does: inputs and weights rounded, FP32 kernel, output rounded (float16, bfloat16, int8 under a target with integer
// kernels) or left in float (int8 elsewhere, float8).
// Weights are rounded here, not in the graph, so that they stay constant and the runtime can prepack them. Those of a
// network that is large are rounded in the graph, each in front of the layer that reads it, and dropped behind it: a
// run then takes the memory of one.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "model/layers.h"
#include "model/model.h"
#include "plan/integer_bias.h"
#include "plan/one_copy.h"
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
  /// `exact`: nothing is rounded, so that what is measured is the activations' part alone. `most_kept`: bytes of a
  /// network's weights beyond which no rounded copies are kept.
  explicit RoundedWeights(bool exact = false, std::size_t most_kept = kOneCopyAbove)
      : exact_(exact), most_kept_(most_kept) {}

  /// Forgets all: the grids, or the constants, are others now.
  void clear();
  /// Adds the weight `name` of `source` on `grid` to the main graph of `model`, a copy or part of it, as `low_name`: an
  /// initializer, or a node that rounds it in each run, behind the tensor `after`. A node then stands at the end of the
  /// graph, where its reader is to follow.
  void add_to(Model& model, const Model& source, const std::string& name, const WeightGrid& grid,
              const std::string& low_name, const std::string& after);
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
  bool keeps(const Model& model) const { return exact_ || bytes_beside(model) <= most_kept_; }
  Rounded rounded(const Model& model, const std::string& name, const WeightGrid& grid);

  bool exact_;
  std::size_t most_kept_;
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
