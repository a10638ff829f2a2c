// Figures of single channels and of single samples, computed inside the graph so that only one number a channel comes
// out.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/own_error.h"
#include "analysis/subject.h"
#include "model/layers.h"
#include "numerics/channel_means.h"
#include "plan/lower_simulated.h"
#include "vernier/tensor.h"

namespace vernier {

/// Figures of a graph with shadows that only one number a channel comes out for.
class ShadowFigures {
 public:
  virtual ~ShadowFigures() = default;
  /// Adds what computes them to `model`, in which tensors and shadows bear their names; the float32 tensors to give
  /// out.
  virtual std::vector<std::string> add_to(Model& model, const std::vector<Shadow>& shadows) = 0;
  /// The values of one of those tensors on the next sample.
  virtual void fold(std::size_t tensor, std::span<const float> values) = 0;
};

/// The dimension of a tensor of `rank` dimensions, read or made by `layer`, whose indices are channels: behind the
/// batch for images and what convolutions read, the last for what transformers pass on. `rank` >= 1.
std::size_t channel_axis(const Layer& layer, std::size_t rank);

/// Mean of low - float in each output channel of weighted layers that a plan runs in a format with a scale, on exact
/// inputs.
class MeanErrors final : public ShadowFigures {
 public:
  /// Those of the layers `asked` (null: of all) that have such figures.
  static std::vector<std::string> layers_of(const Subject& subject, const Plan& plan,
                                            const std::vector<std::string>* asked);
  /// `shapes`: of the tensors, as a reference run saw them (their ranks). It must outlive this.
  MeanErrors(const std::vector<std::string>& layers, const std::map<std::string, Shape>& shapes, std::size_t samples)
      : wanted_(layers.begin(), layers.end()), shapes_(shapes), samples_(static_cast<double>(samples)) {}

  std::vector<std::string> add_to(Model& model, const std::vector<Shadow>& shadows) override;
  void fold(std::size_t tensor, std::span<const float> values) override;
  /// By layer; without layers whose result is quantized behind their activation.
  std::map<std::string, ChannelMeans> take();

 private:
  const std::set<std::string> wanted_;
  const std::map<std::string, Shape>& shapes_;
  const double samples_;
  std::vector<std::string> layers_;            // by tensor given out
  std::map<std::string, ChannelMeans> means_;  // with the means of squares in place of variances
};

/// The same of all layers over the samples of `order`, by a run of its own. Cost: about 4 plain inferences a sample.
/// Memory: a number for each channel.
std::map<std::string, ChannelMeans> mean_errors(const Subject& subject, const Plan& plan, RoundedWeights& weights,
                                                const std::map<std::string, Shape>& shapes,
                                                const std::vector<std::size_t>& order);

/// Largest magnitude over the samples of a run in each channel of a tensor: along dimension 1 where a convolution reads
/// it, else along the last. Of those of `tensors` in the main graph whose shapes are known, and that have two
/// dimensions or more.
class LargestMagnitudes final : public ShadowFigures {
 public:
  /// `subject` and `shapes` must outlive this.
  LargestMagnitudes(const Subject& subject, std::set<std::string> tensors, const std::map<std::string, Shape>& shapes)
      : subject_(subject), wanted_(std::move(tensors)), shapes_(shapes) {}

  std::vector<std::string> add_to(Model& model, const std::vector<Shadow>& shadows) override;
  void fold(std::size_t tensor, std::span<const float> values) override;
  std::map<std::string, std::vector<float>> take() { return std::move(largest_); }

 private:
  const Subject& subject_;
  const std::set<std::string> wanted_;
  const std::map<std::string, Shape>& shapes_;
  std::vector<std::string> tensors_;  // by tensor given out
  std::map<std::string, std::vector<float>> largest_;
};

/// LargestMagnitudes of all tensors that weighted layers read, and of queries and keys as they are made, over the
/// samples of `order`, by a run of its own.
std::map<std::string, std::vector<float>> channel_magnitudes(const Subject& subject,
                                                             const std::map<std::string, Shape>& shapes,
                                                             const std::vector<std::size_t>& order);

}  // namespace vernier
