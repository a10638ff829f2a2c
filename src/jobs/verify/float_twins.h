// What of the float model stands behind the constants and the quantizers of a typed file.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "analysis/match_layers.h"
#include "analysis/quantizer_loss.h"
#include "analysis/subject.h"
#include "model/model.h"
#include "vernier/tensor.h"

namespace vernier {

struct FloatWeight {
  std::string name;
  Tensor values;
  std::optional<std::size_t> match{};  // of the layer that reads it, among LayerMatches::pairs; absent inside of bodies
  bool other_form = false;             // of a product that the file writes in another form (product_twins.h)
  bool factor = false;                 // times a constant that the float model multiplies with elsewhere
  std::string instead{};               // the weight that the layer has in the float model, if it is another one
};

struct FloatWeights {
  std::map<std::string, FloatWeight> found;    // by the constant of the simulated file
  std::map<std::string, std::string> why_not;  // the others that a matched layer reads
};

/// The float weight behind each dequantized one: the same input of the matched layer, when its shape is the same. A
/// layer that the file merged with the activation behind it is in front of the matched one; its BatchNormalization is
/// folded into its weight there. Products in other forms are found by value. Of a MatMulNBits, whose codes stay packed,
/// the weight as [inputs, outputs].
FloatWeights float_weights(const Subject& subject, const Model& simulated, const LayerMatches& matches);

/// Adds those of nodes that move values: tables of a Gather, what a Concat or Pad adds.
void add_constants_of_moves(const Subject& subject, const Model& simulated, FloatWeights& weights);

/// "0 and 6" of a Clip, "0 and more" of a Relu.
std::string limits_text(const Model& model, const onnx::NodeProto& activation);

/// Quantizers that stand for a Relu or Clip of the float model, which the file dropped: what these cut off is no loss.
std::map<std::string, Bounds> dropped_activations(const Subject& subject, const Model& simulated,
                                                  const LayerMatches& matches);

}  // namespace vernier
