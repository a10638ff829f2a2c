// What the files of causes share: the signature of a cause, and small helpers to write one down.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "causes/cause_texts.h"
#include "causes/causes.h"
#include "numerics/metrics.h"
#include "vernier/format.h"
#include "vernier/report/causes.h"

namespace vernier::causes {

using Finding = std::optional<Cause>;

inline Cause of(const LayerFacts& layer, std::string tensor, double confidence, std::vector<CauseFigure> figures,
                std::string sentence, std::vector<std::string> repairs) {
  repairs.emplace_back("keep-high");
  return {{}, layer.name, std::move(tensor), confidence, std::move(figures), std::move(sentence), std::move(repairs)};
}

/// `repairs` of a tensor that `layer` reads, without the rotation of a stream that it does not come from.
std::vector<std::string> on_stream(const LayerFacts& layer, std::vector<std::string> repairs);

/// 20 dB: noise over signal from which on a layer, or what one of its tensors does to it, is poor.
inline constexpr double kPoorNoise = 1e-2;
inline constexpr double kSmallestNormal = 0x1p-14;  // of float16
/// Confidence from which on a cause is likely.
inline constexpr double kLikely = 0.5;

inline bool is_float16(const LayerFacts& layer) { return layer.format == Format::Float16; }
inline bool is_narrow_float(const LayerFacts& layer) {
  return layer.format == Format::Float16 || layer.format == Format::BFloat16;
}
/// Finite values became infinite: what is computed from them says nothing more of digits that were lost.
inline bool overflows(const LayerFacts& layer) { return layer.overflowed > 0 && !std::isfinite(layer.own_noise); }
inline bool is_scaled(const LayerFacts& layer) { return needs_scale(layer.format); }

/// The largest finite value of the format; float16's 65504.
double largest_of(Format format);
/// Distance of 1 to the next value: 2^-10, 2^-7.
double epsilon_of(Format format);

/// The activation that a weighted layer quantizes, and its weight; null: none.
const TensorFacts* activation_of(const LayerFacts& layer);
const TensorFacts* weight_of(const LayerFacts& layer);

/// Activations, or weights, do a fair part of the layer's damage, or it was not measured.
bool activations_to_blame(const LayerFacts& layer);
bool weights_to_blame(const LayerFacts& layer);

/// The quantized activation with the larger noise (a MatMul may have two); null: none is quantized.
const TensorFacts* quantized(const LayerFacts& layer);
/// Noise of rounding beside values of an ordinary size: large ones, which have most of the energy, do not hide it.
double ordinary_noise(const TensorFacts& tensor, double ordinary_magnitude);

/// Magnitude below which a share of all values lies.
double magnitude_at(const Distribution& values, double share);
double energy_of(const Distribution& values);
/// Noise over signal of a layer that rounds well-behaved data, with a few bits to spare: what the format costs
/// anywhere.
double usual_noise(Format format);
/// Distance of neighbouring values of a grid at a magnitude; at 0 the least. Floats have wider steps further out.
double step_at(Format format, double scale, double magnitude);
/// Noise over signal of rounding values of that magnitude, 1 at most; 0: the magnitude is 0.
double noise_at(Format format, double scale, double magnitude);
/// max^2 over mean square that `count` Gaussian values have, on average.
double gaussian_peak(std::size_t count);
/// Noise of `values` on the grid, clipped and rounded values apart, over their energy.
struct GridNoise {
  double clipping = 0;
  double rounding = 0;
  double clipped_share = 0;  // of the values
};
GridNoise grid_noise(const TensorFacts& tensor);

// float_events.cpp
Finding overflow(const LayerFacts&);
Finding overflow_read(const LayerFacts&);
Finding overflow_inside(const LayerFacts&);
Finding subnormal_loss(const LayerFacts&);
Finding large_integers(const LayerFacts&);
Finding large_phase(const LayerFacts&);
// float_constants.cpp
Finding lost_epsilon(const LayerFacts&);
Finding mask_constant(const LayerFacts&);
Finding added_masks(const LayerFacts&);
Finding masked_scores(const LayerFacts&);
Finding all_masked_softmax(const LayerFacts&);
// engines.cpp
std::vector<Cause> engine_loss(const NetworkFacts&);
std::vector<Cause> lost_limits(const NetworkFacts&);
// float_sums.cpp
Finding absorption(const LayerFacts&);
Finding cancellation(const LayerFacts&);
Finding large_mean(const LayerFacts&);
Finding long_accumulation(const LayerFacts&);
// integer_sums.cpp
inline constexpr const char* kPairSaturation = "pair-saturation";
Finding pair_saturation(const LayerFacts&);
// grid_of_data.cpp
Finding calibration_unrepresentative(const LayerFacts&);
Finding over_saturation(const LayerFacts&);
Finding activation_outliers(const LayerFacts&);
Finding outlier_channels(const LayerFacts&);
/// The same, whether or not a cause that says more of these outliers holds as well.
Finding outliers_of_channels(const LayerFacts&);
Finding channel_spread(const LayerFacts&);
Finding unused_levels(const LayerFacts&);
Finding one_sided_data(const LayerFacts&);
Finding small_negative_tail(const LayerFacts&);
Finding range_per_sample(const LayerFacts&);
Finding concat_scales(const LayerFacts&);
// grid_of_weights.cpp
Finding weight_grid(const LayerFacts&);
Finding weight_channel_spread(const LayerFacts&);
Finding weight_outliers(const LayerFacts&);
Finding bias_shift(const LayerFacts&);
Finding bias_clip(const LayerFacts&);
// transformers.cpp
/// Fills LayerFacts::alike_outliers.
void count_alike_outliers(std::vector<LayerFacts>& layers);
Finding residual_outliers(const LayerFacts&);
Finding place_outliers(const LayerFacts&);
Finding block_outliers(const LayerFacts&);
Finding residual_overflow(const LayerFacts&);
// patterns.cpp
Finding residual_scales(const LayerFacts&);
Finding attention_probabilities(const LayerFacts&);
Finding gating(const LayerFacts&);
Finding unfolded_batch_norm(const LayerFacts&);
Finding depthwise(const LayerFacts&);
Finding first_or_last_layer(const LayerFacts&);

/// Channels that are outliers, of the largest magnitude of each channel of an activation: more than 5 times the middle
/// one, where the largest is 10 times it and at most a quarter of all are large; else empty.
std::vector<std::size_t> large_channels(std::span<const float> channels);

// decisions.cpp: of the network
std::vector<Cause> close_decisions(const NetworkFacts&);
std::vector<Cause> amplified_values(const NetworkFacts&);

// transformers.cpp: of the network
/// The scores are so large that their Softmax makes a larger error of theirs.
bool magnifies_error(const SoftmaxFacts&);
std::vector<Cause> large_logits(const NetworkFacts&);

}  // namespace vernier::causes
