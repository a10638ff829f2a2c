#include "jobs/debug/lost_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "analysis/beside_known.h"
#include "analysis/figures.h"
#include "analysis/match_layers.h"
#include "analysis/output_store.h"
#include "analysis/run_tensors.h"
#include "analysis/simulated_graph.h"
#include "base/text.h"
#include "jobs/debug/lost_layers.h"
#include "jobs/debug/narrow_pairs.h"
#include "jobs/debug/pair_reasons.h"
#include "jobs/debug/starved_pairs.h"
#include "jobs/debug/wide_pairs.h"
#include "jobs/verify/output_noise.h"
#include "model/operator_traits.h"
#include "numerics/grid.h"
#include "numerics/metrics.h"
#include "numerics/tensor_grid.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr double kDamagedOutputDb = 30;
constexpr double kMostlyCut = 0.5;
// Of a range that nothing but a mistake explains, and that gains that much with the one of the samples.
constexpr double kDamagedByWidthDb = 40, kGainDb = 6;
constexpr double kShareOfNoise = 0.25;
// Of a range that is too narrow: a right one would lose that much less, and the pair is that near to what is lost.
constexpr double kGain = 10, kWithinDb = 5;
// Of a file, if one narrow range is mended.
constexpr double kMendedDb = 2;
constexpr double kLostSample = 0.25;  // of its energy

/// What well chosen scales leave of ordinary values, less 10 dB.
double lost_below(Format format) {
  if (bits_of(format) == 4) return 8;
  return format == Format::Float8E5M2 ? 12 : 20;
}

/// What a pair loses to its narrow range is more than a range that holds all values would lose to rounding, by far.
bool cuts_off_for_nothing(const QuantizerLoss& pair, const QuantParams& params, const GridLoss& loss) {
  if (!pair.sqnr_db || *pair.sqnr_db >= lost_below(pair.format) + kWithinDb) return false;
  return times_of_fitting_range(params, loss).value_or(0) > kGain;
}

/// Channels of an activation, with a scale for each, that are cut off.
struct CutChannels {
  std::size_t lost = 0, all = 0, first = 0;
  float largest = 0, end = 0;  // of the first: its values, and its range
};

/// Of one channel over the samples.
struct ChannelSums {
  double energy = 0, cut_off = 0;
  std::int64_t values = 0;
  float largest = 0;

  /// That much in itself, or more than a range that holds all values would lose to rounding, by far.
  bool is_lost(const QuantParams& params, std::size_t channel) const {
    if (cut_off > noise_of_db(lost_below(params.format)) * energy) return true;
    const auto [low, high] = ends_of(params, channel);
    const float end = std::max(-low, high);
    if (!is_integer(params.format) || !(end > 0)) return false;
    const double step = static_cast<double>(params.scale[channel]) * std::max(1.0F, largest / end);
    const double rounded = static_cast<double>(values) * step * step / 12;
    return cut_off > noise_of_db(lost_below(params.format) + kWithinDb) * energy && cut_off > kGain * rounded;
  }
};

/// By the pair's place in `file.quantized`. `exact`: the file's model with float values everywhere.
/// Of pairs that `losses` has values of, which bodies and constants do not.
std::map<std::size_t, CutChannels> find_cut_channels(const Subject& subject, const SimulatedFile& file,
                                                     const Model& exact, const std::vector<GridLoss>& losses,
                                                     const std::set<std::string>& skipped) {
  std::vector<std::size_t> pairs, places;  // places: of `tensors`
  std::vector<std::string> tensors;
  for (std::size_t i = 0; i < file.quantized.size(); ++i) {
    const QuantizedTensor& pair = file.quantized[i];
    if (pair.quantizer.empty() || pair.params.scale.size() < 2 || pair.params.block > 0 || pair.params.axis < 0)
      continue;
    if ((pair.rank >= 0 && pair.rank <= pair.params.axis) || skipped.contains(pair.tensor)) continue;
    if (losses[i].count == 0 || is_initializer(exact, pair.tensor)) continue;
    const auto place = std::ranges::find(tensors, pair.tensor) - tensors.begin();
    if (std::cmp_equal(place, tensors.size())) tensors.push_back(pair.tensor);
    pairs.push_back(i);
    places.push_back(static_cast<std::size_t>(place));
  }
  if (pairs.empty()) return {};
  std::vector<std::vector<ChannelSums>> sums;
  for (const std::size_t pair : pairs) sums.emplace_back(file.quantized[pair].params.scale.size());
  run_tensors(subject, exact, tensors, all_samples(subject), [&](std::size_t, const std::vector<Tensor>& got) {
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      const QuantParams& params = file.quantized[pairs[k]].params;
      const Tensor& tensor = got[places[k]];
      if (tensor.dtype() != Dtype::Float32 || !scales_fit(params, tensor.shape())) continue;
      const std::span<const float> values = tensor.floats();
      const AxisGeometry along = geometry_along(tensor.shape(), params.axis);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t c = i / static_cast<std::size_t>(along.inner) % static_cast<std::size_t>(along.channels);
        const auto [low, high] = ends_of(params, c);
        const double beyond = static_cast<double>(values[i]) - static_cast<double>(std::clamp(values[i], low, high));
        ChannelSums& channel = sums[k][c];
        channel.energy += static_cast<double>(values[i]) * static_cast<double>(values[i]);
        channel.cut_off += beyond * beyond;
        channel.largest = std::max(channel.largest, std::abs(values[i]));
        ++channel.values;
      }
    }
    return true;
  });
  std::map<std::size_t, CutChannels> found;
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const QuantParams& params = file.quantized[pairs[k]].params;
    CutChannels cut;
    cut.all = sums[k].size();
    for (std::size_t c = 0; c < sums[k].size(); ++c) {
      const ChannelSums& channel = sums[k][c];
      if (!channel.is_lost(params, c)) continue;
      if (cut.lost++ > 0) continue;
      const auto [low, high] = ends_of(params, c);
      cut.first = c;
      cut.largest = channel.largest;
      cut.end = std::max(-low, high);
    }
    if (cut.lost > 0) found[pairs[k]] = cut;
  }
  return found;
}

using Outputs = std::map<std::string, OutputStats>;

/// The output that `alone` damages most, among those of which it makes a good part of the noise in `all`; null: none.
/// What is there in `exact` already is no damage of a pair: a Relu that pairs do the work of, in layers of other names.
/// `least_db`: what leaves more is no damage.
const std::pair<const std::string, OutputStats>* damaged(const Outputs& alone, const Outputs& all, const Outputs& exact,
                                                         double least_db) {
  const std::pair<const std::string, OutputStats>* worst = nullptr;
  for (const auto& output : alone) {
    const double noise = noise_of_db(sqnr_db(output.second.pooled));
    const double noise_of_all = noise_of_db(sqnr_db(all.at(output.first).pooled));
    const double noise_of_exact = noise_of_db(sqnr_db(exact.at(output.first).pooled));
    if (noise < noise_of_db(least_db) || noise < kShareOfNoise * noise_of_all) continue;
    if (noise < 2 * noise_of_exact || noise_of_all < noise_of_exact / 2) continue;
    if (worst == nullptr || sqnr_db(output.second.pooled) < sqnr_db(worst->second.pooled)) worst = &output;
  }
  return worst;
}

/// What `output` gains in `mended`, without the sample that loses most: some ranges leave out rare values on purpose.
double gain_in(const OutputStats& output, const OutputStats& mended) {
  double before = 0, after = 0;
  std::size_t worst = 0;
  for (std::size_t i = 0; i < output.each.size(); ++i) {
    before += output.each[i].error_energy;
    after += mended.each[i].error_energy;
    if (output.each[i].error_energy > output.each[worst].error_energy) worst = i;
  }
  const double pooled = before / after;
  if (output.each.size() < 2 || output.each[worst].error_energy >= kLostSample * output.each[worst].ref_energy)
    return db_of(1 / pooled);
  const double others = (before - output.each[worst].error_energy) / (after - mended.each[worst].error_energy);
  return db_of(1 / std::min(pooled, others));
}

/// The output that gains most in `mended`, and what it gains.
std::pair<std::string, double> best_gain(const Outputs& all, const Outputs& mended) {
  std::pair<std::string, double> best;
  for (const auto& [name, output] : all) {
    const double gain = gain_in(output, mended.at(name));
    if (gain > best.second) best = {name, gain};
  }
  return best;
}

/// Whether an output loses that much without the sample that loses most, or that one a quarter of its energy: some
/// ranges leave out rare values on purpose.
bool loses_more_than_rare_values(const OutputStats& output) {
  SampleSums all, most;
  for (const SampleSums& sample : output.each) {
    all += sample;
    if (sample.error_energy > most.error_energy) most = sample;
  }
  return output.each.size() < 2 || most.error_energy >= kLostSample * most.ref_energy ||
         all.error_energy - most.error_energy >= noise_of_db(kDamagedOutputDb) * all.ref_energy;
}

/// Whether what the first range leaves stays in the second.
bool covers(const QuantParams& first, const QuantParams& second) {
  constexpr float kNearly = 0.9F;
  if (first.scale.size() != 1 || second.scale.size() != 1) return false;
  const auto [low, high] = ends_of(first);
  const auto [then_low, then_high] = ends_of(second);
  return then_low <= kNearly * low && then_high >= kNearly * high;
}

/// Of pairs that cut off the same values, on both sides of nodes that move them, the first one alone.
std::vector<FoundDefect> without_followers(const SimulatedFile& file, std::map<std::size_t, FoundDefect> found) {
  const Makers made_by = makers_in(file.model);
  std::map<std::string, std::size_t> pairs;  // by what they make
  for (const auto& [pair, defect] : found) pairs[file.quantized[pair].output] = pair;
  std::map<std::size_t, std::vector<std::string>> followers;  // by the first
  std::map<std::size_t, std::size_t> leaders;
  for (const auto& [pair, defect] : found) {
    std::string tensor = file.quantized[pair].tensor;
    for (auto made = made_by.find(tensor); made != made_by.end(); made = made_by.find(tensor)) {
      const auto before = pairs.find(tensor);
      if (before != pairs.end() && covers(file.quantized[before->second].params, file.quantized[pair].params)) {
        const auto known = leaders.find(before->second);
        const std::size_t first = known == leaders.end() ? before->second : known->second;
        leaders[pair] = first;
        followers[first].push_back(printable(defect.node));
        break;
      }
      if (!is_transparent(*made->second) && !has(*made->second, Trait::Moves | Trait::Quantizes)) break;
      tensor = made->second->input(0);
    }
  }
  std::vector<FoundDefect> defects;
  for (auto& [pair, defect] : found) {
    if (leaders.contains(pair)) continue;
    if (const auto behind = followers.find(pair); behind != followers.end()) {
      defect.text += fmt::format(". Its values go on through {} more pair{} with that range: {}", behind->second.size(),
                                 behind->second.size() == 1 ? "" : "s", list_some(behind->second));
    }
    defects.push_back(std::move(defect));
  }
  return defects;
}

}  // namespace

std::vector<FoundDefect> find_lost_pairs(const Subject& subject, const SimulatedFile& file, const FloatValues& values,
                                         const std::vector<GridLoss>& losses, const std::vector<QuantizerLoss>& rows,
                                         const std::map<std::size_t, Coverage>& wide_scales,
                                         const std::set<std::string>& skipped, bool output_is_lost) {
  const auto none = [](std::size_t) { return false; };
  const Model in_float = with_float_values(file, values, none);
  const std::map<std::size_t, CutChannels> cut = find_cut_channels(subject, file, in_float, losses, skipped);
  std::vector<std::pair<double, std::size_t>> lossy;
  std::vector<QuantizerLoss> own_losses;
  std::vector<std::size_t> wide_pairs;
  std::set<std::size_t> only_starved;  // and else fit
  for (std::size_t i = 0; i < losses.size(); ++i) {
    own_losses.push_back(rows[i].weight ? rows[i] : with_loss(rows[i], file.quantized[i].params, losses[i]));
  }
  const std::set<std::size_t> open_pairs = open_below(file, values.activations, losses);
  std::set<std::size_t> narrow_pairs = narrow_beside_others(file, losses);
  narrow_pairs.insert(open_pairs.begin(), open_pairs.end());
  const auto starved = output_is_lost ? find_starved_pairs(subject, file, in_float, losses, skipped)
                                      : std::map<std::size_t, StarvedPair>();
  std::set<std::size_t> weights;  // of which all values are known
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const bool few_levels = is_integer(rows[i].format) && bits_of(rows[i].format) <= 8;
    const bool far = has_far_too_large_scale(rows[i]) && rows[i].sqnr_db.value_or(0) >= kLostLayerDb;
    if (rows[i].weight && rows[i].sqnr_db && few_levels && (far || wide_scales.contains(i))) {
      lossy.emplace_back(*rows[i].sqnr_db, i);
      weights.insert(i);
    }
    if (losses[i].count == 0 || skipped.contains(file.quantized[i].tensor)) continue;
    const QuantizerLoss& own = own_losses[i];
    const bool narrow = cuts_off_for_nothing(own, file.quantized[i].params, losses[i]);
    const bool wide = is_integer(own.format) && has_far_too_large_scale(own);
    const bool unfit = narrow || wide || cut.contains(i) || narrow_pairs.contains(i);
    const bool lost = own.sqnr_db && *own.sqnr_db < lost_below(own.format);
    if (!own.sqnr_db || !(lost || unfit || starved.contains(i))) continue;
    lossy.emplace_back(*own.sqnr_db, i);
    if (!lost && !unfit) only_starved.insert(i);
    if (wide) wide_pairs.push_back(i);
  }
  if (lossy.empty()) return {};
  std::ranges::sort(lossy);
  if (lossy.size() > kMostLostPairs) lossy.resize(kMostLostPairs);
  const OutputStore known = outputs_of_float(subject);
  const auto outputs = [&](Model model) { return run_beside_known(subject, std::move(model), known, {}).outputs; };
  const Outputs all = outputs(file.model), exact = outputs(in_float);
  const std::set<std::size_t> unexplained = unexplained_widths(subject, file, in_float, own_losses, wide_pairs);
  std::map<std::size_t, FoundDefect> found;  // in graph order
  for (const auto& [db, pair] : lossy) {
    const auto stays = [pair = pair](std::size_t i) { return i == pair; };
    const Model with_pair = with_float_values(file, values, stays);
    const Outputs alone = outputs(with_pair);
    const bool starves = only_starved.contains(pair);
    const auto* output = damaged(alone, all, exact, starves ? kLostOutputDb : kDamagedOutputDb);
    if (output == nullptr && weights.contains(pair)) output = damaged(alone, all, exact, kDamagedByWidthDb);
    if (output == nullptr && unexplained.contains(pair)) {
      output = damaged(alone, all, exact, kDamagedByWidthDb);
      if (output == nullptr) continue;
      const Outputs fitting = outputs(with_range_of(with_pair, file.quantized[pair], losses[pair]));
      const double gain = sqnr_db(fitting.at(output->first).pooled) - sqnr_db(output->second.pooled);
      if (!(gain >= kGainDb)) continue;
    }
    const QuantizerLoss& own = own_losses[pair];
    const bool shown = output != nullptr &&
                       (!own.clip_share || *own.clip_share < kMostlyCut || loses_more_than_rare_values(output->second));
    std::pair<std::string, double> gain;
    if (!shown && narrow_pairs.contains(pair))
      gain = best_gain(all, outputs(with_fitting_ranges(file, pair, narrow_pairs, losses)));
    // An output that is fine has to gain much.
    const bool fine = !shown && gain.second >= kMendedDb && sqnr_db(all.at(gain.first).pooled) >= kDamagedByWidthDb;
    if (!shown && gain.second < (fine ? kGain : kMendedDb)) continue;
    const bool scaled_down = can_scale_down(file, file.quantized[pair]);
    PairReason reason = starves ? reason_of(starved.at(pair), cure_of_few_levels(scaled_down))
                        : wide_scales.contains(pair) && !has_far_too_large_scale(own)
                            ? reason_of_some(wide_scales.at(pair), own.block > 0)
                            : reason_of_loss(own, scaled_down);
    if (const auto channels = cut.find(pair); channels != cut.end() && channels->second.lost < channels->second.all) {
      const CutChannels& some = channels->second;
      reason.why = fmt::format(
          "{} of {} channels are clipped: the range of channel {} ends at {:.4g}, but its values reach {:.4g}",
          some.lost, some.all, some.first, some.end, some.largest);
    }
    if (!shown && open_pairs.contains(pair))
      reason = {fmt::format("it does the work of an activation, but its range goes on to {:.4g}",
                            ends_of(file.quantized[pair].params).first),
                "store the zero point again: the range begins where the activation does"};
    const std::string effect =
        shown ? fmt::format("With only this pair quantized, output '{}' has {:.1f} dB on {}", printable(output->first),
                            sqnr_db(output->second.pooled), plural(subject.samples->size(), "sample"))
              : fmt::format("With a range that fits, output '{}' gains {:.1f} dB on {}", printable(gain.first),
                            gain.second, plural(subject.samples->size(), "sample"));
    const bool channels_starve = starves && starved.at(pair).starved > 0;
    found.emplace(pair, FoundDefect{channels_starve ? "starved-channels" : "lost-pair", node_of_pair(own),
                                    fmt::format("'{}' has an SQNR of {:.1f} dB: {}. {}", printable(own.tensor), db,
                                                reason.why, effect),
                                    reason.cure});
  }
  return without_followers(file, std::move(found));
}

std::vector<Note> costly_pairs(const Subject& subject, const SimulatedFile& file, const FloatValues& values,
                               const std::vector<QuantizerLoss>& rows, const std::map<std::string, double>& own_db) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::pair<double, std::size_t>> pairs;  // by the worst layer that reads it
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].weight) continue;
    double worst = kDamagedByWidthDb;
    for (const onnx::NodeProto& node : file.model.proto.graph().node()) {
      const auto layer = own_db.find(node.name());
      if (layer != own_db.end() && std::ranges::find(node.input(), file.quantized[i].output) != node.input().end())
        worst = std::min(worst, layer->second);
    }
    pairs.emplace_back(worst, i);
  }
  std::ranges::sort(pairs);
  pairs.resize(std::min(pairs.size(), kMostLostPairs));
  const OutputStore known = outputs_of_float(subject);
  const auto outputs = [&](Model model) { return run_beside_known(subject, std::move(model), known, {}).outputs; };
  const Outputs all = outputs(file.model);
  const auto is_damaged = [](const auto& output) { return sqnr_db(output.second.pooled) < kDamagedOutputDb; };
  if (std::ranges::none_of(all, is_damaged)) return {};
  std::vector<std::tuple<double, std::string, std::size_t>> gains;
  for (const auto& [db, pair] : pairs) {
    const auto stays = [pair = pair](std::size_t i) { return i != pair; };
    const auto [output, gain] = best_gain(all, outputs(with_float_values(file, values, stays)));
    if (gain >= kMendedDb && is_damaged(*all.find(output))) gains.emplace_back(gain, output, pair);
  }
  std::ranges::sort(gains, std::ranges::greater{});
  gains.resize(std::min(gains.size(), kNamed));
  std::vector<Note> notes;
  for (const auto& [gain, output, pair] : gains) {
    notes.push_back(
        {"pair-costs-most",
         {{"tensor", rows[pair].tensor}, {"node", node_of_pair(rows[pair])}, {"output", output}, {"db", gain}}});
  }
  return notes;
}

}  // namespace vernier
