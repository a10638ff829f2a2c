// Outlier channel splitting (OCS): where a few channels are far larger than the others, one step for all of them leaves
// the others few levels. Such a channel is made several times, and each copy carries a part of it; the layer is a
// little wider, and its grid finer. Nothing changes in exact arithmetic.
//   activation:  y = W2 f(W1 x)  =  [W2  W2_j] f([W1; W1_j / 2] x), row j of W1 halved as well,  f homogeneous
//   weight:      y = W2 f(W1 x)  =  [W2  W2_j - p] f([W1; W1_j] x), column j of W2 now p,        f element by element
// The parts of a weight are not halves but w/2 - s/4 and w/2 + s/4, of which the codes sum to that of w:
//   round(u/2 - 1/4) + round(u/2 + 1/4) = round(u)
// Rounds: activations, weights.
// Source: R. Zhao et al., "Improving Neural Network Quantization without Retraining using Outlier Channel Splitting",
// ICML 2019.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "numerics/grid.h"
#include "numerics/lattice.h"
#include "repairs/channel_copies.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr double kBadNoise = 3.2e-3;    // 25 dB: better layers are not worth a wider network
constexpr double kWorthwhile = 0.5;     // of the power of the steps that remains: half a bit is gained
constexpr std::size_t kOneInMany = 20;  // channels that may be made once more
constexpr std::size_t kFewest = 8;      // channels of which one is worth another product in eight

/// Largest magnitudes by what has a step of its own (rows) and channel.
struct Magnitudes {
  std::size_t rows = 1;
  std::size_t channels = 0;
  std::vector<float> values;
  float at(std::size_t row, std::size_t channel) const { return values[row * channels + channel]; }
};

struct Split {
  std::vector<std::size_t> copies;  // of each channel, 1 for most
  std::size_t added = 0;
  double before = 0, after = 0;  // power of the steps: sum over the rows of the largest magnitude squared
};

/// One channel after the other: the one that sets most of the steps.
Split best_split(const Magnitudes& all) {
  Split split;
  split.copies.assign(all.channels, 1);
  std::vector<std::size_t> sets(all.rows);  // the channel that sets each row's step
  std::vector<double> power(all.rows);
  const auto look = [&](std::size_t row) {
    power[row] = -1;
    for (std::size_t c = 0; c < all.channels; ++c) {
      const double magnitude = static_cast<double>(all.at(row, c)) / static_cast<double>(split.copies[c]);
      if (magnitude * magnitude <= power[row]) continue;
      power[row] = magnitude * magnitude;
      sets[row] = c;
    }
  };
  double sum = 0;
  for (std::size_t row = 0; row < all.rows; ++row) {
    look(row);
    sum += power[row];
  }
  split.before = split.after = sum;
  std::vector<std::size_t> best = split.copies;
  const std::size_t most = std::max<std::size_t>(1, all.channels / kOneInMany);
  for (std::size_t step = 1; step <= most; ++step) {
    std::vector<double> score(all.channels);
    for (std::size_t row = 0; row < all.rows; ++row) score[sets[row]] += power[row];
    const auto worst = static_cast<std::size_t>(std::ranges::max_element(score) - score.begin());
    ++split.copies[worst];
    for (std::size_t row = 0; row < all.rows; ++row) {
      if (sets[row] != worst) continue;
      sum -= power[row];
      look(row);
      sum += power[row];
    }
    // Another copy has to be worth it: several channels of the same size gain only together.
    if (sum > 0.98 * split.after) continue;
    split.after = sum;
    split.added = step;
    best = split.copies;
  }
  split.copies = std::move(best);
  return split;
}

Magnitudes of_weight(const Tensor& weight, const ChannelPath& path, bool by_result) {
  Magnitudes all;
  all.channels = path.channels;
  all.rows = by_result ? path.results(weight) : 1;
  all.values.assign(all.rows * all.channels, 0);
  for (std::size_t i = 0; i < weight.floats().size(); ++i) {
    const std::size_t row = by_result ? path.result_of(weight, i) : 0;
    float& largest = all.values[row * all.channels + path.channel_of(weight, i)];
    largest = std::max(largest, std::abs(weight.floats()[i]));
  }
  return all;
}

/// The step of each row once its channels are split: parts are up to half a step larger than their share.
std::vector<double> steps_after(const Magnitudes& all, const std::vector<std::size_t>& copies, std::int32_t highest) {
  std::vector<double> steps(all.rows);
  for (std::size_t row = 0; row < all.rows; ++row) {
    for (std::size_t c = 0; c < all.channels; ++c) {
      const auto parts = static_cast<double>(copies[c]);
      const double codes = static_cast<double>(highest) - (parts - 1) / (2 * parts);
      steps[row] = std::max(steps[row], static_cast<double>(all.at(row, c)) / parts / codes);
    }
  }
  return steps;
}

/// Column j of the second's weight becomes parts that sum to it.
void split_weight(Model& model, const ChannelPath& path, const std::vector<std::size_t>& copies, bool by_result,
                  std::int32_t highest) {
  const Tensor old = initializer(model, path.second_weight).value();
  const Magnitudes all = of_weight(old, path, by_result);
  const std::vector<double> steps =
      highest > 0 ? steps_after(all, copies, highest) : std::vector<double>(all.rows, 0.0);
  copy_channels(model, path, copies, /*scale_first=*/false,
                [&](const Tensor& wide, std::size_t i, std::size_t channel, std::size_t part) {
                  const auto parts = static_cast<double>(copies[channel]);
                  const double step = steps[by_result ? path.result_of(wide, i) : 0];
                  const double shift = step * (static_cast<double>(part) / parts - (parts - 1) / (2 * parts));
                  const auto value = static_cast<double>(wide.floats()[i]);
                  return parts == 1 ? wide.floats()[i] : static_cast<float>(value / parts + shift);
                });
}

void split_activation(Model& model, const ChannelPath& path, const std::vector<std::size_t>& copies) {
  copy_channels(model, path, copies, /*scale_first=*/true,
                [](const Tensor& wide, std::size_t i, std::size_t, std::size_t) { return wide.floats()[i]; });
}

std::string on_a_grid(const Network& network, const std::string& weight) {
  const Tensor value = *initializer(network.model, weight);
  return lattice_of(value.floats()) ? "its weights are multiples of one scale, and splitting would break that"
                                    : std::string();
}

Proposal proposal_for(const Network& network, const WeightedLayer& layer, const ChannelPath& path, const Split& split,
                      bool activation) {
  Proposal proposal;
  proposal.layers = {layer.layer->name};  // what is in front makes the same values, some of them twice
  proposal.why_not = path.why_not;
  if (proposal.why_not.empty() && activation) proposal.why_not = path.not_homogeneous;
  if (proposal.why_not.empty()) proposal.why_not = on_a_grid(network, layer.weight);
  if (proposal.why_not.empty() && activation) proposal.why_not = on_a_grid(network, path.first_weight);
  if (!proposal.why_not.empty()) return proposal;
  proposal.what =
      fmt::format("{} of {} channels of {} duplicated: scale {:.2g} times finer, {:.1f} % more products", split.added,
                  path.channels, activation ? fmt::format("'{}'", layer.data) : std::string("its weight"),
                  std::sqrt(split.before / split.after),
                  100 * static_cast<double>(split.added) / static_cast<double>(path.channels));
  const bool by_result = network.plan.tensors.at(layer.weight).scale.size() > 1;
  const std::int32_t highest = is_integer(layer.format) ? code_range(layer.format).highest : 0;
  proposal.rewrite = [path, copies = split.copies, activation, by_result, highest](Model& model) {
    if (activation) return split_activation(model, path, copies);
    split_weight(model, path, copies, by_result, highest);
  };
  return proposal;
}

}  // namespace

std::vector<Proposal> outlier_channel_splitting(const Network& network, int round) {
  const bool activation = round == 0;
  std::vector<Proposal> proposals;
  for (const WeightedLayer& layer : weighted_layers(network)) {
    const auto noise = network.noise.find(layer.layer->name);
    if (noise == network.noise.end() || !(noise->second > kBadNoise)) continue;
    const QuantParams& grid = network.plan.tensors.at(layer.weight);
    const std::optional<std::size_t> channels = channels_read(network.model, *layer.node, layer.weight);
    if (!channels || *channels < kFewest || grid.block > 0)
      continue;  // a block has a step of its own, and outliers stay in theirs
    Magnitudes all;
    ChannelPath path;
    if (activation) {
      const auto seen = network.channel_absmax.find(layer.data);
      if (seen == network.channel_absmax.end() || seen->second.size() != *channels) continue;
      all = {1, *channels, seen->second};
    } else {
      path.of_second(*layer.node, layer.weight, *channels);
      all = of_weight(*initializer(network.model, layer.weight), path, grid.scale.size() > 1);
    }
    const Split split = best_split(all);
    if (!std::isfinite(split.before) || !(split.after <= kWorthwhile * split.before)) continue;
    path = channel_path(network, layer, *channels);
    proposals.push_back(proposal_for(network, layer, path, split, activation));
  }
  return proposals;
}

}  // namespace vernier
