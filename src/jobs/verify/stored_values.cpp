#include "jobs/verify/stored_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/beside_known.h"
#include "analysis/figures.h"
#include "analysis/output_store.h"
#include "analysis/quantizer_loss.h"
#include "analysis/some_samples.h"
#include "base/text.h"
#include "jobs/verify/stored_biases.h"
#include "jobs/verify/stored_channel.h"
#include "model/graph_edit.h"
#include "numerics/grid.h"
#include "numerics/tensor_grid.h"
#include "plan/constant_codes.h"
#include "plan/nbits_weight.h"
#include "plan/qdq_defects.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// The weight with a positive factor for each index of its first two dimensions, or of one of them, nearest to `held`
/// by least squares; empty where factors would fit anything, or one is not positive.
std::vector<float> with_factors(const Shape& shape, std::span<const float> weight, std::span<const float> held,
                                bool of_rows, bool of_columns) {
  if (shape.size() < 2) return {};
  const auto rows = static_cast<std::size_t>(shape[0]), columns = static_cast<std::size_t>(shape[1]);
  if (weight.size() < 4 * ((of_rows ? rows : 0) + (of_columns ? columns : 0))) return {};
  const std::size_t places = weight.size() / rows / columns;
  std::vector<double> row_factors(rows, 1), column_factors(columns, 1);
  const auto fit = [&](std::vector<double>& factors, const auto& index, const auto& other) {
    std::vector<double> products(factors.size()), squares(factors.size());
    for (std::size_t i = 0; i < weight.size(); ++i) {
      const double value = static_cast<double>(weight[i]) * other(i);
      products[index(i)] += value * static_cast<double>(held[i]);
      squares[index(i)] += value * value;
    }
    for (std::size_t k = 0; k < factors.size(); ++k) factors[k] = squares[k] > 0 ? products[k] / squares[k] : 1;
  };
  const auto row = [&](std::size_t i) { return i / places / columns; };
  const auto column = [&](std::size_t i) { return i / places % columns; };
  const int passes = of_rows && of_columns ? 10 : 1;
  for (int pass = 0; pass < passes; ++pass) {
    if (of_rows) fit(row_factors, row, [&](std::size_t i) { return column_factors[column(i)]; });
    if (of_columns) fit(column_factors, column, [&](std::size_t i) { return row_factors[row(i)]; });
  }
  const auto positive = [](double factor) { return factor > 0; };
  if (!std::ranges::all_of(row_factors, positive) || !std::ranges::all_of(column_factors, positive)) return {};
  std::vector<float> values(weight.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(static_cast<double>(weight[i]) * row_factors[row(i)] * column_factors[column(i)]);
  }
  return values;
}

/// 8 of the 256 steps of int8, 4 of the 16 of int4.
double far_steps(Format format) { return bits_of(format) == 4 ? 4 : 8; }

class Comparison {
 public:
  Comparison(const Model& file, const SimulatedFile& simulated, const FloatWeights& weights)
      : file_(file), simulated_(simulated.model), weights_(weights) {
    for_each_graph(file.proto.graph(), [&](const onnx::GraphProto& graph) {
      for (const onnx::NodeProto& node : graph.node()) {
        if (is_quantization(node, "DequantizeLinear")) grids_.dequantizers[node.output(0)] = &node;
        if (node.op_type() == "MatMulNBits" && node.input_size() > 1) packed_[node.input(1)] = &node;
      }
    });
    for (const QuantizedTensor& quantized : simulated.quantized)
      grids_.params[quantized.dequantizer] = quantized.params;
  }

  std::vector<FoundDefect> run() {
    std::vector<StoredBias> biases;  // their scales may be those of weights
    for (const auto& [constant, weight] : weights_.found) {
      if (const auto layer = packed_.find(constant); layer != packed_.end()) {
        const auto held = nbits_weight(file_, *layer->second);
        if (held && held->values.shape() == weight.values.shape()) {
          compare_weight(*layer->second, held->params, held->values, weight);
        }
        continue;
      }
      const auto dequantizer = grids_.dequantizers.find(read_name(constant));
      const auto stored = initializer(simulated_, constant);
      if (dequantizer == grids_.dequantizers.end() || !stored || stored->dtype() != Dtype::Float32) continue;
      auto codes = initializer(file_, dequantizer->second->input(0));
      if (codes && codes->dtype() == Dtype::Int32) {
        biases.push_back({dequantizer->second, *std::move(codes), *stored, &weight});
      } else if (const auto params = grids_.params.find(dequantizer->second->name()); params != grids_.params.end()) {
        compare_weight(*dequantizer->second, params->second, *stored, weight);
      }
    }
    for (const StoredBias& bias : biases) add_bias(bias);
    return std::move(defects_);
  }

 private:
  struct StoredBias {
    const onnx::NodeProto* dequantizer;
    Tensor codes, stored;
    const FloatWeight* weight;
  };

  void add_bias(const StoredBias& bias) {
    auto found = compare_bias(file_, grids_, *bias.dequantizer, bias.codes, bias.stored, *bias.weight, wrong_scales_);
    if (!found) return;
    // A layer's factors are in its bias too.
    const bool factors = found->of_weight_scale || (found->kind == "other-values" && !found->moved);
    found->scaled = factors && scaled_layers_.contains(readers_of(file_, bias.dequantizer->output(0)));
    if (found->scaled) found->moved = false;
    defects_.push_back(*std::move(found));
  }

  /// `node`: a DequantizeLinear, or the layer itself.
  void compare_weight(const onnx::NodeProto& node, const QuantParams& params, const Tensor& stored,
                      const FloatWeight& weight) {
    if (!scales_fit(params, stored.shape())) return;
    const char* const part = params.block > 0 ? "block" : "channel";
    std::vector<StoredChannel> channels(params.scale.size());
    std::vector<float> wanted(weight.values.floats().begin(), weight.values.floats().end());
    const std::span<const float> held = stored.floats();
    const auto channel_of = [&](std::size_t i) { return scale_index(params, stored.shape(), i); };
    FarCodes far(far_steps(params.format));
    Truncation truncation;
    std::vector<std::pair<float, float>> ends;
    // A MatMulNBits with zero points that are no integers, or codes of 16 bits, to which nobody clips.
    const bool wide = params.format == Format::Float32 || bits_of(params.format) == 16;
    for (std::size_t c = 0; c < channels.size(); ++c) {
      constexpr float kMost = std::numeric_limits<float>::max();
      ends.push_back(wide ? std::pair(-kMost, kMost) : ends_of(params, c));
    }
    for (std::size_t i = 0; i < held.size(); ++i) {
      const std::size_t c = channel_of(i);
      // A float8 grid has wider steps further out; its scale times the value is no step of it.
      const bool even = wide || is_integer(params.format);
      const float step = even ? params.scale[c] : std::abs(wanted[i]) / 8 + params.scale[c];
      const bool reached = std::abs(wanted[i] - std::clamp(wanted[i], ends[c].first, ends[c].second)) <= step / 2;
      channels[c].add(wanted[i], held[i], step, reached);
      if (reached) truncation.add(wanted[i], held[i], step);
      far.add(i, std::clamp(wanted[i], ends[c].first, ends[c].second), held[i], step);
    }
    if (is_integer(params.format) && bits_of(params.format) == 4)
      leave_clipped(params, channels, wanted, held, channel_of);
    const auto wrong = static_cast<std::size_t>(std::ranges::count_if(channels, &StoredChannel::wrong));
    const bool is_layer = node.op_type() == "MatMulNBits";
    const std::string where = fmt::format("'{}' of {}", printable(weight.name),
                                          is_layer ? printable(node.name()) : readers_of(file_, node.output(0)));
    const bool even = is_integer(params.format);
    const bool of_blocks = even && fits_factor_of_each(channels);
    if (even && !of_blocks && add_shifted(node, channels, truncation, where, part)) return;
    if (add_cut_off(node, params, stored, weight, where, part)) return;
    const auto noticed = std::ranges::count_if(channels, &StoredChannel::noticed);
    const auto fits_with = [&](bool of_rows, bool of_columns) {
      const std::vector<float> factored = with_factors(stored.shape(), wanted, held, of_rows, of_columns);
      std::vector<StoredChannel> with(channels.size());
      for (std::size_t i = 0; i < factored.size(); ++i) {
        with[channel_of(i)].add(factored[i], held[i], params.scale[channel_of(i)]);
      }
      return !factored.empty() && std::ranges::none_of(with, &StoredChannel::noticed);
    };
    const bool of_some = even && noticed > 0 && fits_factor_of_some(channels);
    const bool scaled = of_blocks || of_some ||
                        (noticed > 0 && (fits_with(true, false) || fits_with(false, true) || fits_with(true, true)));
    if (scaled && !is_layer) scaled_layers_.insert(readers_of(file_, node.output(0)));
    if (scaled) {
      const bool together = even && of_blocks && share_one_factor(channels);
      const auto is_off = [&](const StoredChannel& channel) {
        return together || channel.noticed() || (even && channel.rescaled());
      };
      const auto off = std::ranges::count_if(channels, is_off);
      for (const StoredChannel& channel : channels) {
        wrong_scales_[node.name()].push_back(is_off(channel) ? channel.scale_factor() : ScaleFactor{});
      }
      const auto other = off > 0 ? std::ranges::find_if(channels, is_off) : channels.begin();
      const std::string what = channels.size() == 1 ? std::string("values")
                                                    : fmt::format("{0} of {1} {2}s, first {2} {3},", off,
                                                                  channels.size(), part, other - channels.begin());
      defects_.push_back(
          {"weight-scale", node.name(),
           fmt::format("{} of {} are {:.3g} times those of the float model: {:g} in the float model, {:g} in the file",
                       what, where, other->factor(), other->reference, other->stored),
           kQuantizeAgain, /*refused=*/false, may_be_undone(channels, is_off)});
      return;
    }
    if (wrong == 0) {
      if (far.any()) {
        defects_.push_back(wrong_codes(node, far, where, weight.values, stored,
                                       channels.size() == 1
                                           ? fmt::format("value {}", far.worst_index())
                                           : fmt::format("in {} {}", part, channel_of(far.worst_index()))));
      }
      return;
    }
    const auto unlike_rounding = std::ranges::count_if(channels, &StoredChannel::unlike_rounding);
    const auto first = std::ranges::find_if(channels, &StoredChannel::wrong);
    const auto index = static_cast<std::size_t>(first - channels.begin());
    const auto named = std::ranges::find_if(channels, &StoredChannel::unlike_rounding) - channels.begin();
    const std::string others = whose_values(params, stored, weight);
    defects_.push_back(
        {"other-values", node.name(),
         fmt::format("{}{}: {} of {} values are off by more than their scale of {:.3g}. The worst is {:g} in the float "
                     "model and {:g} in the file{}",
                     channels.size() == 1 ? std::string("in ")
                                          : fmt::format("{0} of {1} {2}s, first {2} {3}, of ", unlike_rounding,
                                                        channels.size(), part, named),
                     where, first->off, first->values, params.scale[index], first->reference, first->stored,
                     others.empty() ? "" : fmt::format(". All are those of '{}'", printable(others))),
         others.empty() ? kQuantizeAgain : "put the layers in the order of the float model"});
  }

  /// The weight of another layer that rounds to these values; empty: there is none.
  std::string whose_values(const QuantParams& params, const Tensor& stored, const FloatWeight& own) const {
    constexpr std::int64_t kFewest = 16;
    if (stored.count() < kFewest) return {};
    const std::span<const float> held = stored.floats();
    for (const auto& [constant, other] : weights_.found) {
      if (other.name == own.name || other.values.shape() != stored.shape()) continue;
      const std::span<const float> values = other.values.floats();
      std::size_t same = 0;
      while (same < held.size() &&
             std::abs(held[same] - values[same]) <= params.scale[scale_index(params, stored.shape(), same)]) {
        ++same;
      }
      if (same == held.size()) return other.name;
    }
    return {};
  }

  /// Clipping the largest values of four bits on purpose is no other scale: puts the ends of the grid in their place.
  static void leave_clipped(const QuantParams& params, std::vector<StoredChannel>& channels, std::vector<float>& wanted,
                            std::span<const float> held, const std::function<std::size_t(std::size_t)>& channel_of) {
    std::vector<bool> clipped;
    for (StoredChannel& channel : channels) {
      clipped.push_back(channel.only_clipped());
      if (clipped.back()) channel = {};
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::size_t c = channel_of(i);
      if (!clipped[c]) continue;
      const auto [low, high] = ends_of(params, c);
      wanted[i] = std::clamp(wanted[i], low, high);
      channels[c].add(wanted[i], held[i], params.scale[c]);
    }
  }

  /// Whether another layer may hold the inverse factors, as equalization leaves them: not where a channel is all but
  /// zero.
  static bool may_be_undone(const std::vector<StoredChannel>& channels,
                            const std::function<bool(const StoredChannel&)>& is_off) {
    constexpr double kLeast = 1e-4;
    return std::ranges::none_of(
        channels, [&](const StoredChannel& channel) { return is_off(channel) && channel.factor() < kLeast; });
  }

  /// Whether some channels or blocks have another factor, and nothing is wrong with the others.
  static bool fits_factor_of_some(const std::vector<StoredChannel>& channels) {
    return std::ranges::all_of(
        channels, [](const StoredChannel& channel) { return channel.surely_rescaled() || !channel.unlike_rounding(); });
  }

  /// Whether a factor for each channel or block leaves what rounding does, and less than there is without.
  static bool fits_factor_of_each(const std::vector<StoredChannel>& channels) {
    constexpr std::size_t kFewest = 8;  // values that one factor is fitted to, on average: a last block may be shorter
    constexpr double kRounded = 0.12;   // of rounding 1 / 12
    constexpr double kOften = 1.5;
    constexpr double kShareOfEnergy = 0.005;
    StoredChannel::Steps given;
    double left = 0, energy = 0, gained = 0;
    for (const StoredChannel& channel : channels) {
      if (!(channel.factor() > 0)) return false;
      const double step = static_cast<double>(channel.step);
      given.squares += channel.all.squares;
      given.values += channel.values;
      left += channel.error_with_factor() / (step * step);
      energy += channel.energy;
      gained += channel.error - channel.error_with_factor();
    }
    const double values = static_cast<double>(given.values);
    if (given.values < kFewest * channels.size()) return false;
    return left < kRounded * values && given.squares > kOften * left && gained > kShareOfEnergy * energy;
  }

  /// Whether all have the same factor, as far as rounding lets it be seen.
  static bool share_one_factor(const std::vector<StoredChannel>& channels) {
    double energy = 0, product = 0;
    for (const StoredChannel& channel : channels) {
      energy += channel.energy;
      product += channel.product;
    }
    const double factor = product / energy;
    return std::ranges::none_of(channels, [&](const StoredChannel& channel) { return channel.rescaled(factor); });
  }

  /// Whether all values of channels are off together, or all are cut off to one side.
  bool add_shifted(const onnx::NodeProto& node, const std::vector<StoredChannel>& channels,
                   const Truncation& truncation, const std::string& where, const char* part) {
    constexpr std::size_t kSureValues = 16;  // fewer may lie together by chance, unless channels do so together
    const auto is_shifted = [](const StoredChannel& channel) { return channel.shift() != 0; };
    StoredChannel::Steps others;  // of those that are not
    for (const StoredChannel& channel : channels) {
      if (!is_shifted(channel)) others.join(channel.all);
    }
    // By chance the farthest of n means lies sqrt(2 ln n) deviations away.
    const double farthest = 2 * std::log(static_cast<double>(channels.size())) + 16;
    const auto is_sure = [&](const StoredChannel& channel) {
      const double shift = channel.shift(), values = static_cast<double>(channel.values);
      return shift != 0 && (std::abs(shift) > kNextStep || channel.values >= kSureValues) &&
             shift * shift * values > farthest * others.mean_square();
    };
    const auto shifted = static_cast<std::size_t>(std::ranges::count_if(channels, is_shifted));
    if (std::ranges::any_of(channels, is_sure) || 2 * shifted > channels.size()) {
      const auto first = std::ranges::find_if(channels, is_shifted);
      const std::string place = channels.size() == 1
                                    ? std::string("all values of ")
                                    : fmt::format("all values in {0} of {1} {2}s, first {2} {3}, of ", shifted,
                                                  channels.size(), part, first - channels.begin());
      const double steps = first->shift(), whole = std::round(steps);
      const bool one = std::abs(whole) == 1;
      defects_.push_back(
          {"shifted-codes", node.name(),
           fmt::format("{}{} are off by {:.3g} quantization step{} together: they were stored with another zero point",
                       place, where, std::abs(steps - whole) < 0.25 ? whole : steps, one ? "" : "s"),
           "quantize the float model again, or write the zero point of the quantized values"});
      return true;
    }
    if (*truncation.side() == '\0') return false;
    defects_.push_back({"shifted-codes", node.name(),
                        fmt::format("all values of {} are off by half the scale: they were truncated {}, not rounded",
                                    where, truncation.side()),
                        "quantize the float model again, with a rounding before the cast to integers"});
    return true;
  }

  /// Whether values are cut off in front of where the float model's end, and all others are rounded correctly.
  bool add_cut_off(const onnx::NodeProto& node, const QuantParams& params, const Tensor& stored,
                   const FloatWeight& weight, const std::string& where, const char* part) {
    const std::span<const float> wanted = weight.values.floats(), held = stored.floats();
    std::vector<StoredCutOff> channels(params.scale.size());
    const auto channel_of = [&](std::size_t i) { return scale_index(params, stored.shape(), i); };
    for (std::size_t i = 0; i < held.size(); ++i) {
      StoredCutOff& channel = channels[channel_of(i)];
      channel.low = std::min(channel.low, held[i]);
      channel.high = std::max(channel.high, held[i]);
    }
    const bool even = is_integer(params.format);
    for (std::size_t i = 0; i < held.size(); ++i) {
      const float scale = params.scale[channel_of(i)];
      channels[channel_of(i)].add(wanted[i], held[i], even ? scale : std::abs(held[i]) / 8 + scale);
    }
    const auto cut = std::ranges::count_if(channels, &StoredCutOff::any);
    if (cut == 0 || bits_of(params.format) == 4) return false;
    const auto first = std::ranges::find_if(channels, &StoredCutOff::any);
    const std::string place = channels.size() == 1 ? std::string()
                                                   : fmt::format(" in {0} of {1} {2}s, first {2} {3}", cut,
                                                                 channels.size(), part, first - channels.begin());
    defects_.push_back({"clipped-weight", node.name(),
                        fmt::format("values of {} are clipped{}: {} of {} lie beyond {:g} to {:g}, the ends of its "
                                    "quantized values, up to {:g}",
                                    where, place, first->beyond, first->values, first->low, first->high, first->worst),
                        "store the weight again with a range that holds its values"});
    return true;
  }

  const Model& file_;
  const Model& simulated_;
  const FloatWeights& weights_;
  StoredGrids grids_;
  std::map<std::string, const onnx::NodeProto*> packed_;  // MatMulNBits, by its weight
  std::vector<FoundDefect> defects_;
  std::set<std::string> scaled_layers_;  // as readers_of()
  ScaleFactors wrong_scales_;
};

}  // namespace

std::vector<FoundDefect> defects_of_pairs(const Model& file, bool perhaps_meant, Target target) {
  std::vector<FoundDefect> found;
  for (QdqDefect& defect : find_qdq_defects(file)) {
    const bool refused = defect.refused_on(target);
    // The layer of the one runs in float, the other is valid: neither loses anything.
    if (defect.kind == "missing-quantizer" || defect.kind == "short-block") continue;
    if (defect.may_be_meant && !perhaps_meant && !refused) continue;
    found.push_back(
        {std::move(defect.kind), std::move(defect.node), std::move(defect.text), std::move(defect.cure), refused});
  }
  return found;
}

std::map<std::string, std::string> constants_of_dequantizers(const Model& file, const FloatWeights& weights) {
  std::map<std::string, std::string> by_tensor, found;
  for (const auto& [constant, weight] : weights.found) by_tensor[read_name(constant)] = constant;
  for_each_graph(file.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (!is_quantization(node, "DequantizeLinear")) continue;
      if (const auto made = by_tensor.find(node.output(0)); made != by_tensor.end()) found[node.name()] = made->second;
    }
  });
  return found;
}

std::string readers_of(const Model& file, const std::string& tensor) {
  static const std::set<std::string_view> kPassing = {"Reshape", "Transpose", "Squeeze", "Unsqueeze",
                                                      "Flatten", "Cast",      "Identity"};
  std::vector<std::string> names, open = {tensor};
  std::set<std::string> seen;
  while (!open.empty()) {
    const std::string next = open.back();
    open.pop_back();
    if (!seen.insert(next).second) continue;
    for_each_graph(file.proto.graph(), [&](const onnx::GraphProto& graph) {
      for (const onnx::NodeProto& node : graph.node()) {
        if (std::ranges::find(node.input(), next) == node.input().end()) continue;
        const bool passes = kPassing.contains(node.op_type()) && node.input(0) == next;
        if (passes) open.insert(open.end(), node.output().begin(), node.output().end());
        if (!passes) names.push_back(printable(node.name()));
      }
    });
  }
  return list_some(names);
}

std::string read_name(std::string tensor) {
  if (tensor.ends_with("/unrounded")) tensor.resize(tensor.size() - std::string_view("/unrounded").size());
  return tensor;
}

std::vector<FoundDefect> find_other_values(const Model& file, const SimulatedFile& simulated,
                                           const FloatWeights& weights) {
  return Comparison(file, simulated, weights).run();
}

void merge_defects(std::vector<FoundDefect>& defects, std::vector<FoundDefect> found) {
  std::erase_if(defects, [&](const FoundDefect& known) {
    return std::ranges::any_of(
        found, [&](const FoundDefect& other) { return known.kind == other.kind && known.node == other.node; });
  });
  std::ranges::move(found, std::back_inserter(defects));
}

}  // namespace vernier
