// Figures of single channels and of single samples, computed inside the graph so that only one number a channel comes
// out.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/subject.h"
#include "model/layers.h"
#include "plan/lower_simulated.h"
#include "vernier/tensor.h"

namespace vernier {

/// The dimension of a tensor of `rank` dimensions, read or made by `layer`, whose indices are channels: behind the
/// batch for images and what convolutions read, the last for what transformers pass on. `rank` >= 1.
std::size_t channel_axis(const Layer& layer, std::size_t rank);

/// Mean of low - float in each output channel of the weighted layers of `layers` (null: of all) that `plan` runs in a
/// format with a scale, on exact inputs, over the samples of `order`. `shapes`: of the tensors, as a reference run saw
/// them (their ranks). Cost: about 4 plain inferences a sample. Memory: a number for each channel.
std::map<std::string, std::vector<double>> mean_errors(const Subject& subject, const Plan& plan,
                                                       RoundedWeights& weights,
                                                       const std::map<std::string, Shape>& shapes,
                                                       const std::vector<std::size_t>& order,
                                                       const std::vector<std::string>* layers = nullptr);

/// Largest magnitudes of a tensor over the samples of a run.
struct Magnitudes {
  /// In each channel: along dimension 1 where a convolution reads it, else along the last. Empty for a tensor that no
  /// weighted layer reads, or of one dimension.
  std::vector<float> channels;
  std::vector<float> samples;  // in each, in their order
};

/// Of those of `tensors` in the main graph whose shapes are known, over the samples of `order`.
std::map<std::string, Magnitudes> magnitudes(const Subject& subject, const std::set<std::string>& tensors,
                                             const std::map<std::string, Shape>& shapes,
                                             const std::vector<std::size_t>& order);

/// Magnitudes::channels of all tensors that weighted layers read.
std::map<std::string, std::vector<float>> channel_magnitudes(const Subject& subject,
                                                             const std::map<std::string, Shape>& shapes,
                                                             const std::vector<std::size_t>& order);

}  // namespace vernier
