// Channels between two layers, made more than once: the first gets a row for each copy, constants on the way an
// element, and the second a column. Everything between must treat channels alike and apart.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "repairs/weighted_layers.h"
#include "vernier/tensor.h"

namespace vernier {

/// From the layer that makes the channels to the one that reads them. Holds names, so that it outlives the model.
struct ChannelPath {
  std::string first_weight, first_bias;  // bias empty: none
  std::string second_weight;
  std::size_t channels = 0;
  int first_axis = 0;                // of the channels in the first's weight
  int second_axis = 1;               // in the second's
  int result_axis = 0;               // of the results in the second's
  std::vector<std::string> copied;   // constants on the way with one value for each channel
  std::vector<std::string> scaled;   // those of them that are scaled where the channel is
  std::vector<std::string> between;  // tensors whose shape changes
  std::string why_not;               // channels cannot be copied
  std::string not_homogeneous;       // they cannot be scaled on the way

  /// Fills what belongs to the second alone.
  void of_second(const onnx::NodeProto& node, const std::string& weight, std::size_t count);
  std::size_t channel_of(const Tensor& second, std::size_t i) const { return index_along(second, i, second_axis); }
  std::size_t result_of(const Tensor& second, std::size_t i) const { return index_along(second, i, result_axis); }
  std::size_t results(const Tensor& second) const {
    return static_cast<std::size_t>(second.shape()[static_cast<std::size_t>(result_axis)]);
  }

 private:
  static std::size_t index_along(const Tensor& tensor, std::size_t i, int axis);
};

/// How many channels a Conv of one group, a Gemm or a MatMul reads; absent for other operators and weights.
std::optional<std::size_t> channels_read(const Model& model, const onnx::NodeProto& node, const std::string& weight);

/// The way back from `second` to what makes its channels.
ChannelPath channel_path(const Network& network, const WeightedLayer& second, std::size_t channels);

/// Makes channel j copies[j] times; the copies come behind all others. `scale_first`: each carries 1 / copies[j] of it.
/// Tensors that are wider now get other names: a verification compares those of equal names.
/// `part`: the value of element `i` of the second's weight, where it is copy `part` of `channel`.
void copy_channels(
    Model& model, const ChannelPath& path, const std::vector<std::size_t>& copies, bool scale_first,
    const std::function<float(const Tensor& wide, std::size_t i, std::size_t channel, std::size_t part)>& part);

}  // namespace vernier
