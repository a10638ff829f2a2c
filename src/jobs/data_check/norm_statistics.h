// What BatchNormalizations remember of the data that a network was trained on, and how far samples are from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "model/model.h"
#include "vernier/report/check_data.h"
#include "vernier/tensor.h"

namespace vernier {

/// Sums of one channel.
struct ChannelMoments {
  double count = 0, sum = 0, squares = 0;
  void add(double value) { ++count, sum += value, squares += value * value; }
  double mean() const { return sum / count; }
  double deviation() const { return std::sqrt(std::max(0.0, squares / count - mean() * mean())); }
};

/// A BatchNormalization with constant statistics, one value a channel.
struct TrainedNorm {
  std::string node, tensor;
  std::vector<float> mean, variance;
  float epsilon = 1e-5F;
};

/// Those of the main graph, nearest to the input first; the first eight.
std::vector<TrainedNorm> first_norms(const Model& model);

/// Adds the elements of `tensor` to the channels along `axis`; 1 is what BatchNormalization takes. Tensors that are not
/// float32, or have no such axis, add nothing.
void fold_channels(const Tensor& tensor, std::vector<ChannelMoments>& channels, std::size_t axis = 1);

/// Means over the channels: the shift of the mean in deviations, the ratio of deviations, and the misfit in nats.
SeenNorm compared_with(const TrainedNorm& norm, const std::vector<ChannelMoments>& seen);

}  // namespace vernier
