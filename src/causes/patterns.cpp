// Places in a network that are known to be delicate.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/text.h"
#include "causes/cause.h"

namespace vernier::causes {
namespace {

bool made_by(const LayerFacts& layer, const char* op_type) {
  return std::ranges::find(layer.made_by, op_type) != layer.made_by.end();
}

/// A quarter of the codes of 8 bits, or more, on a range that is not shared with larger values.
bool has_levels_of_its_own(const TensorFacts& tensor) {
  if (!tensor.grid || !is_integer(tensor.grid->format) || tensor.grid->scale.size() != 1) return false;
  return tensor.values.max - tensor.values.min >= 64 * tensor.grid->scale.front();
}

}  // namespace

Finding residual_scales(const LayerFacts& layer) {
  if (!is_scaled(layer) || layer.op_type != "Add" || layer.inputs.size() != 2) return {};
  const auto a = static_cast<double>(layer.inputs[0].values.absmax());
  const auto b = static_cast<double>(layer.inputs[1].values.absmax());
  const double ratio = std::max(a, b) / std::max(std::min(a, b), 1e-30);
  if (ratio < 8 || ratio > 1e20) return {};
  if (layer.inputs[0].mask || layer.inputs[1].mask) return {};  // of which the range takes no notice
  const TensorFacts& small = layer.inputs[a < b ? 0 : 1];
  if (has_levels_of_its_own(small)) return {};
  // The steps of floats depend on the values, and not on the range.
  std::vector<std::string> repairs;
  if (is_integer(layer.format)) repairs.emplace_back("range");
  return of(
      layer, small.name, 0.7, {{"ratio of the branches", ratio, "x"}},
      fmt::format("its inputs differ {:.0f} times in size. The smaller one gets only a few levels in the shared range.",
                  ratio),
      std::move(repairs));
}

Finding attention_probabilities(const LayerFacts& layer) {
  if (!is_scaled(layer) || layer.op_type != "MatMul" || !made_by(layer, "Softmax")) return {};
  for (const TensorFacts& input : layer.inputs) {
    if (input.constant || input.values.empty() || input.values.min < 0 || input.values.max > 1.001F) continue;
    if (!input.grid || input.grid->scale.size() != 1) continue;
    const double half = magnitude_at(input.values, 0.5);
    const double step = step_at(input.grid->format, static_cast<double>(input.grid->scale.front()), 0);
    if (half > step / 2) continue;
    return of(layer, input.name, 0.7, {{"half of the probabilities are below", half, ""}, {"scale", step, ""}},
              fmt::format("half of the probabilities in '{}' are below {:.2g}, less than half the scale of {:.2g}. "
                          "They round to zero.",
                          printable(input.name), half, step),
              {});
  }
  return {};
}

Finding gating(const LayerFacts& layer) {
  if (!is_scaled(layer) || !layer.gates) return {};
  return of(layer, {}, 0.55, {{"values", static_cast<double>(layer.channels), ""}},
            fmt::format("this gate scales every pixel ({} through a sigmoid), so its error spreads everywhere. Keeping "
                        "it costs almost nothing.",
                        plural(layer.channels, "value")),
            {});
}

Finding unfolded_batch_norm(const LayerFacts& layer) {
  if (!is_scaled(layer) || layer.outputs.empty() || !layer.outputs.front().grid || layer.norm_spread < 8) return {};
  return of(layer, layer.outputs.front().name, 0.75, {{"factors of the channels differ", layer.norm_spread, "x"}},
            fmt::format("a BatchNormalization after it is not folded into its weights. '{}' has one scale for all "
                        "channels, but their factors differ {:.0f} times.",
                        printable(layer.outputs.front().name), layer.norm_spread),
            {});
}

Finding depthwise(const LayerFacts& layer) {
  if (!is_scaled(layer) || !layer.depthwise || layer.own_noise < kPoorNoise / 3 || channel_spread(layer)) return {};
  return of(layer, {}, 0.3, {{"terms of a sum", static_cast<double>(layer.terms), ""}},
            fmt::format("each output of this depthwise convolution sums only {}, so errors hardly average out.",
                        plural(static_cast<std::size_t>(layer.terms), "product")),
            {"per-channel", "equalize"});
}

Finding first_or_last_layer(const LayerFacts& layer) {
  if (!is_scaled(layer) || (!layer.first && !layer.last) || layer.own_noise < 1e-3) return {};
  return of(layer, {}, 0.2, {{"SQNR of its result", db_of(layer.own_noise), "dB"}},
            layer.last ? "this is the last layer, so no later layer averages out its error."
                       : "this is the first layer, and the range of its input depends on the samples.",
            {});
}

}  // namespace vernier::causes
