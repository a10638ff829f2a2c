// A layer and all that read it, and a factor for each channel between them: the first makes channel j divided by s[j],
// the others read it times s[j]. Nothing changes in exact arithmetic; what is between them must let a positive factor
// through.
//   y = W2 f(W1 x + b1)   =   (W2 S) f(S^-1 W1 x + S^-1 b1),   S = diag(s), s > 0
//   f: nothing, Relu, LeakyRelu; Clip with a lower end of 0, whose upper end becomes one for each channel
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "repairs/weighted_layers.h"

namespace vernier {

struct ScalablePair {
  WeightedLayer first;
  std::vector<WeightedLayer> seconds;
  const onnx::NodeProto* between = nullptr;  // null: the others read the first's result
  std::vector<float> made;                   // largest weight of the first by the channel that it makes
  std::vector<float> read;                   // largest weight of the others by the channel that they read

  const std::string& data() const { return seconds.front().data; }
  std::vector<std::string> layers() const;
};

/// Each Conv or ConvTranspose layer that only Conv layers read, with all of these.
std::vector<ScalablePair> scalable_pairs(const Network& network);

/// Applies factors to a model. Errors: Internal when a node is not there any more.
void scale_channels(Model& model, const ScalablePair& pair, const std::vector<float>& factors);

/// The same as a proposal; `what`: which of the two's values it is for.
Proposal scaling_proposal(const ScalablePair& pair, const std::vector<float>& factors, const std::string& what);

/// Multiplies element i of the initializer `name`, float32, by factor(i).
void scale_constant(Model& model, const std::string& name, const std::function<float(std::size_t)>& factor);

/// A copy of the constant that `node` alone reads. Errors: Internal when the node is not there any more.
std::string own_copy(Model& model, const std::string& constant, const std::string& node);

/// The nearest power of two: float values times it keep their bits.
float power_of_two(double factor);

}  // namespace vernier
