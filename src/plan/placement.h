// Where the tensors of a graph are quantized under a scheme with integer kernels (target.h): behind the operator that
// makes them, so that an engine fuses DequantizeLinear, operator and QuantizeLinear into one kernel.
//
// - The result of a low layer: its output, or that of the Relu or Clip behind it when nothing else reads the output.
//   A QuantizeLinear behind that clips to the calibrated range, which the activation cannot leave.
// - The outputs of a carrier, a node that moves values (Reshape, MaxPool, Concat, nearest Resize ...), when all its
// data
//   inputs are quantized and a low layer reads one of the outputs, directly or through other carriers.
//
// Everything else reads and makes float; a low layer quantizes each input that is not quantized where it is made. The
// one rule behind both lowerings, own errors and calibration. Works on one graph: what comes from outside is float.
#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/layers.h"
#include "plan/plan.h"
#include "plan/target.h"

namespace vernier {

/// Whether a Resize picks the nearest value, so that it only moves values.
bool picks_nearest(const onnx::NodeProto& node);

class Placement {
 public:
  /// Is this node a layer that runs in the scheme of integer kernels? Plans differ in nothing else.
  using IsLow = std::function<bool(const onnx::NodeProto&)>;

  /// An activation that `plan` puts in a format of its own, other than the high one, stays a layer by itself.
  /// `layers` by name, those of other graphs included. What returns nodes needs `graph` unchanged; questions by name do
  /// not.
  Placement(const Model& model, const onnx::GraphProto& graph, const std::map<std::string, const Layer*>& layers,
            const Plan& plan, const IsLow& is_low);

  /// The tensor is quantized behind the node that makes it, and all its readers read it dequantized.
  bool quantized(const std::string& tensor) const { return quantized_.contains(tensor); }
  const std::set<std::string>& quantized() const { return quantized_; }

  /// The node is an absorbed activation or a carrier: it computes on the values it is given, whatever its own format.
  bool passes_codes(const std::string& node) const { return passing_.contains(node); }

  /// Carriers whose outputs are quantized, in graph order.
  const std::vector<const onnx::NodeProto*>& carriers() const { return carriers_; }

  /// An engine would quantize the weights of `node`, which is not low, by itself: see ScaledScheme::requantized.
  bool would_requantize(const onnx::NodeProto& node) const;

  /// True when nothing reads the tensor but one node of this graph.
  bool read_once(const std::string& tensor) const;

  /// The Relu or Clip that belongs to `node`; null when its output is its result.
  const onnx::NodeProto* activation_of(const onnx::NodeProto& node) const;

 private:
  void mark_needed(const IsLow& is_low);
  void place(const IsLow& is_low);
  bool is_carrier(const onnx::NodeProto& node) const;
  bool bounds_are_constant(const onnx::NodeProto& clip) const;

  const Model& model_;
  const onnx::GraphProto& graph_;
  const std::map<std::string, const Layer*>& layers_;
  const Plan& plan_;
  const ScaledScheme& scheme_;
  std::map<std::string, std::vector<const onnx::NodeProto*>> readers_;  // null: a graph output or a body
  std::set<std::string> needed_;      // tensors that a low layer reads as codes, directly or through carriers
  std::set<std::string> from_codes_;  // tensors whose values are codes that were dequantized, and moved at most
  std::set<std::string> quantized_;
  std::set<std::string> passing_;
  std::vector<const onnx::NodeProto*> carriers_;
};

/// The layers of the main graph and of bodies that `plan` runs in a scheme with integer kernels.
Placement::IsLow runs_on_codes(const std::map<std::string, const Layer*>& layers, const Plan& plan);

/// Input indices of a layer that a scaled format quantizes: activation and weight of a weighted operator, never its
/// bias; every float input of the others.
std::vector<int> quantized_inputs(const Layer& layer, const onnx::NodeProto& node);

/// The same under a plan: of an Add in int8 or float8 under target tensorrt, which quantizes weighted operators else,
/// its skip branch alone (skip_branch.h).
std::vector<int> quantized_inputs(const Model& model, const Layer& layer, const onnx::NodeProto& node,
                                  const Plan& plan);

}  // namespace vernier
