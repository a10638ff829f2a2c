// Constants that the layer of a quantized file holds differently: other values, values beyond its format, a bias that
// is lost or added, the weight of another layer.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jobs/debug/wiring.h"
#include "jobs/verify/float_twins.h"
#include "model/model.h"
#include "vernier/tensor.h"

namespace vernier {

/// SQNR from which on values, and what a layer makes of exact inputs, count as the same.
inline constexpr double kSameDb = 30;

/// What was found at a layer, and what a measurement has to say first.
struct OtherLayer {
  Difference difference;
  bool counts_if_undone = false;  // it is named though the outputs agree
  std::string constant{};         // of the file: named if `values` in its place leave no more than
  std::optional<Tensor> values{};
  std::optional<onnx::NodeProto> instead{};  // the same of a node with other numbers in its attributes
  double most_left = 1;                      // of the outputs' noise
  std::string cure = "export both files from the same network, or write the layer as in the float model";
};

/// The node of the file that stands for a layer, among those that compute it, the last first: no rounding, no Reshape.
std::string node_of_layer(const std::vector<const onnx::NodeProto*>& lows);

/// All arguments must outlive it.
class OtherConstants {
 public:
  using Nodes = std::vector<const onnx::NodeProto*>;

  /// `stored`: constants of the file behind a DequantizeLinear, which are compared elsewhere.
  OtherConstants(const Model& float_model, const Model& file, const FloatWeights& weights,
                 const std::set<std::string>& stored)
      : float_model_(float_model), file_(file), weights_(weights), stored_(stored) {}

  /// Float constants that nodes of the file read. `lows`: all nodes of the file that compute a layer.
  std::optional<OtherLayer> other_values(const Nodes& lows) const { return other_values(lows, /*any=*/false); }
  /// The same of constants of which any value differs by more than a rounding.
  std::optional<OtherLayer> any_other_value(const Nodes& lows) const { return other_values(lows, /*any=*/true); }

  /// `refs`: all nodes of the float model that compute the layer.
  std::optional<OtherLayer> other_bias(const Nodes& refs, const Nodes& lows) const;

  /// What a normalization scales or shifts by, if one of both writes it in pieces.
  std::optional<OtherLayer> other_norm(const Nodes& refs, const Nodes& lows) const;

  /// A product that has the weight of another layer.
  std::optional<OtherLayer> other_weight(const Nodes& lows) const;

 private:
  std::optional<OtherLayer> other_values(const Nodes& lows, bool any) const;

  const Model& float_model_;
  const Model& file_;
  const FloatWeights& weights_;
  const std::set<std::string>& stored_;
};

}  // namespace vernier
