// What folding factors into a weight costs once that weight is rounded.
#pragma once

#include <span>

#include "model/output_channels.h"
#include "model/prepare.h"
#include "vernier/tensor.h"

namespace vernier::passes {

/// By how many dB the noise of rounding grows; never below 0.
struct FoldNoise {
  double layer_db = 0;    // of the whole weight
  double channel_db = 0;  // of the output channel that suffers most
};

/// By how many dB the noise of rounding grows, in the worst of the formats that the model is prepared for, when each
/// output channel c of `weight` is multiplied by f[c] before it is rounded rather than behind the layer:
///
///   10 log10( sum of step(f w)^2 / sum of f^2 step(w)^2 ),  over all elements, or those of a channel
///   step   integers: the largest magnitude that shares the scale, over the codes;
///          floats: 2^-m |w|, not below the step of the subnormals; infinite beyond the largest value
///
/// 0 where each channel has a scale of its own: there is nothing to lose. Which channels share one follows from
/// weight_axis() and options.weights_per_channel. Edges: 0 for a weight of zeros, and where it overflows either way.
/// Cost: two passes over the weight for each format.
FoldNoise fold_noise(const onnx::NodeProto& layer, const Tensor& weight, const OutputChannels& channels,
                     std::span<const double> factors, const PrepareOptions& options);

}  // namespace vernier::passes
