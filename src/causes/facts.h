// What was measured of a layer and of the network, as plain figures: all that a cause sees. Anything may be absent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "numerics/distribution.h"
#include "numerics/metrics.h"
#include "numerics/round.h"
#include "vernier/format.h"

namespace vernier {

/// One of the tensors that a Concat joined into what a layer reads.
struct Branch {
  std::string name;
  double absmax = 0;
  double rms = 0;
};

/// Largest magnitudes of the places of a tensor (the tokens of a text): of all values along its last dimension.
struct PlaceMagnitudes {
  std::int64_t places = 0;
  std::int64_t large = 0;           // more than 10 times the median of their sample
  std::int64_t in_channels = 0;     // of these, by a channel that is large at the other places too
  double largest = 0, typical = 0;  // of all samples: the largest, and the largest median of a sample
};

/// Blocks that share a scale, of a weight. Ordinary values are at most 3 times the median magnitude of their block. In
/// a spoiled one, which has others, they have more than 4 times the noise over signal that is usual in the format.
struct BlockMagnitudes {
  std::size_t blocks = 0, spoiled = 0;
  double largest = 0, others = 0;  // of the worst one: largest magnitude, root mean square of its ordinary values
};

/// One tensor that a layer reads or makes.
struct TensorFacts {
  std::string name;
  std::string maker;  // layer that computes it; empty: an input of the graph, a constant
  bool constant = false;
  bool weight = false;                           // of a weighted operator
  Distribution values;                           // float values over the samples examined, but for min and max,
                                                 // which are over all; empty: not counted
  std::optional<Mask> mask;                      // of values that mean "never", taken out of `values`
  std::int64_t infinite = 0;                     // values that are not finite in float32
  std::vector<float> channels;                   // largest magnitude of each channel; of a weight: output channel
  std::vector<std::size_t> channel_scale;        // of a weight with several scales: which one each channel has
  std::vector<float> samples;                    // largest magnitude of each sample
  std::optional<float> first_half, second_half;  // largest magnitudes of the calibration samples' halves
  std::optional<QuantParams> grid;               // of a format with a scale
  std::vector<double> weight_noise;              // of a weight: noise over signal of each channel on its grid
  /// The same over the energy of its ordinary values, at most 9 times the median magnitude of their channel: what
  /// Gaussian values never exceed.
  std::vector<double> ordinary_noise;
  /// The same that Gaussian weights of this size, with scales for as many, have on such a grid; 0: not known.
  double gaussian_noise = 0;
  std::size_t scales = 0;                 // of a weight
  std::optional<double> lattice;          // of a weight: the step that all values are multiples of
  std::vector<Branch> branches;           // of an activation that a Concat made
  std::optional<PlaceMagnitudes> places;  // of an activation with outliers whose channels are its last dimension
  std::optional<BlockMagnitudes> blocks;  // of a weight with block scales
};

/// Rows of a Softmax whose values all lie in a mask: there the scores beneath it decide, in the digits that it leaves.
struct MaskedRows {
  std::string softmax;
  std::string scores;                // tensor that it reads
  std::int64_t masked = 0, all = 0;  // rows
  double level = 0;                  // typical magnitude of the masked ones
  double noise_share = 0;            // of the error that rounding its input makes
};

/// What a norm takes off inside, beside what is left: the rounding of its input grows by that.
struct MeanTakenOff {
  std::string norm;
  std::string op_type;
  std::string tensor;           // that it reads
  double mean = 0, spread = 0;  // of the group where they differ most
  double factor = 1;            // root of the mean of (mean^2 + variance) / variance over its groups
};

/// A sum behind a layer whose operands nearly cancel: what is left is as wrong as they are.
struct CancelledBehind {
  std::string node;
  double operand_rms = 0, result_rms = 0;
  double factor = 1;      // of the operands by the result
  std::string distances;  // as LayerFacts::distances, of that sum
};

struct LayerFacts {
  std::string name;
  std::string op_type;
  Format format = Format::Float32;
  std::vector<TensorFacts> inputs;  // data and constants, in the node's order
  std::vector<TensorFacts> outputs;
  double share = 0;                       // of the damage of all layers; 0: not measured
  double own_noise = 0;                   // noise over signal of its result on exact inputs; +inf: not finite
  std::optional<double> inherited_noise;  // the same of what arrives
  std::optional<double> effect_noise;     // of the worst network output with only this layer low
  std::optional<double> weights_noise;    // with only its weights low
  std::optional<double> activations_noise;
  double output_energy = 0;     // sum of squares of its float result, over the samples examined
  double error_energy = 0;      // of its own error
  std::int64_t overflowed = 0;  // finite values that became infinite, constants among them
  std::int64_t flushed = 0, subnormal = 0, rounded = 0;  // of `rounded` values
  std::vector<double> mean_error;                        // of each output channel
  double output_rms = 0;
  std::size_t terms = 0;   // products or values that one result sums
  double largest_sum = 0;  // of codes, in integer formats: what the weights of one result can come to
  /// Share of neighbouring products of codes whose sum leaves 16 bits, where neighbouring values are alike; uint8 data.
  double pairs_beyond_16_bits = 0;
  /// Largest bias in steps of the sum that it is added to, where it is stored as an integer: the step that the weights
  /// alone would ask for.
  std::optional<double> bias_steps;
  std::size_t channels = 0;  // of the output
  bool depthwise = false;
  bool last = false, first = false;  // of the layers in the low format
  std::vector<std::string> read_by;  // operators behind, those that only move values looked through
  std::string angle_of;              // operator behind that takes the sine or cosine of the result; empty: none
  /// Of the angles that a sine or cosine takes behind sums and factors of the result: root of their mean square.
  std::optional<double> angle_rms;
  std::vector<std::string> made_by;  // operator that makes each data input; empty for graph inputs
  bool gates = false;                // its result goes through a Sigmoid into a Mul with a larger tensor
  double norm_spread = 0;  // largest by smallest factor of a BatchNormalization that reads the result; 0: none
  std::optional<MaskedRows> masked_rows;     // of the Softmax that it is, or that reads its result
  std::optional<MeanTakenOff> mean;          // by the norm that it is, or that reads its result
  std::optional<CancelledBehind> cancelled;  // the worst, behind sums, products and means of the result
  std::string distances;           // the x of a sum that is |x|^2 + |c|^2 - 2 x.c; empty: the layer is no such sum
  bool adds_branch = false;        // an Add of what a block reads and what it makes: a residual stream
  bool reads_stream = false;       // what it reads comes from such an Add, without a weighted layer between
  std::size_t alike_outliers = 0;  // other tensors that layers read, with the same outlier channels
  std::optional<float> epsilon;    // smallest constant above 0 that is added before a root, a division, a logarithm
};

/// A node that picks places of what it reads (ArgMax, ArgMin, TopK): however near that is to float32, a pick is the
/// same or another one.
struct DecisionFacts {
  std::string name;
  std::string op_type;
  double changed = 0;  // share of its picks that are others with everything low
  double noise = 0;    // over signal of what it reads then
};

/// A norm or logarithm, which makes small values count as much as large ones: noise over signal with everything low, in
/// front of it and behind it.
struct AmplifierFacts {
  std::string name;
  std::string op_type;
  std::string tensor;  // that it reads
  double before = 0, behind = 0;
};

/// A Clip of which TensorRT-RTX loses a limit (plan/engine_limits.h).
struct LostLimitFacts {
  std::string layer;
  bool given = false;  // in the file that was given; else if it were written as it stands
};

/// A Softmax with everything low, or that of an operator which computes attention as a whole. Its scores are weighted
/// with their probabilities, so that masked ones do not count.
struct SoftmaxFacts {
  std::string node;
  std::string layer;                // low layer that makes its scores: the one that does most damage; the node: none
  Format format = Format::Float32;  // of that layer
  bool of_weights = false;          // a product with a weight makes the scores, as of a classifier
  double score = 0, off = 0;        // typical magnitude, and error beside that of its row, in nats
  double before = 0, behind = 0;    // noise over signal of the scores, and of the probabilities
  double share = 0;                 // of the worst output's noise: gone with exact scores here
};

/// A file that an engine computes worse than its simulation says: by a fusion or a kernel of its own. Noise over signal
/// of the worst output.
struct EngineLossFacts {
  std::string engine;          // "ONNX Runtime 1.31.1"
  std::string layer, op_type;  // the first result that differs; empty: not known
  std::string option;          // of the session, without which it is lost; empty: none
  bool gone = false;           // no more than rounding is left without it
  double there = 0, simulated = 0;
  bool missed = false;   // the requirement, which the simulation meets
  double share() const;  // of the noise there
};

struct NetworkFacts {
  std::vector<LayerFacts> layers;  // those examined, most damaging first
  std::vector<DecisionFacts> decisions;
  std::vector<AmplifierFacts> amplifiers;  // in graph order
  std::vector<SoftmaxFacts> softmaxes;     // in graph order
  std::vector<LostLimitFacts> lost_limits;
  std::optional<EngineLossFacts> engine_loss;
  double output_noise = 0;               // of the worst output, all low, on samples that calibrated
  double unseen_noise = 0;               // the same on samples that did not; 0: there are none
  std::optional<double> top1_agreement;  // of outputs that hold class scores
  double largest_share = 0;              // of all layers' damage
  double worst_own_noise = 0;            // of all layers, not only those examined
  double worst_beyond_usual = 0;         // own noise of a layer in what usual_noise() says of its format, of all layers
  std::size_t depth = 0;                 // layers in the low format
  bool needed = false;                   // something is to be explained: a requirement is missed, or the output is bad
};

}  // namespace vernier
