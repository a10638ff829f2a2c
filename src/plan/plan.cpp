#include "plan/plan.h"

#include <algorithm>
#include <utility>

#include "base/format_definition.h"

namespace vernier {

const QuantParams* Plan::grid(const std::string& tensor, Format format) const {
  if (const auto others = other_grids.find(tensor); others != other_grids.end()) {
    if (const auto other = others->second.find(format); other != others->second.end()) return &other->second;
  }
  const auto usual = tensors.find(tensor);
  return usual == tensors.end() ? nullptr : &usual->second;
}

void Plan::add_grid(const std::string& tensor, Format format, QuantParams params) {
  const auto [usual, fresh] = tensors.try_emplace(tensor, params);
  if (!fresh && usual->second.format != params.format) other_grids[tensor].try_emplace(format, std::move(params));
}

Format Plan::format_of(const std::string& layer) const {
  const auto found = std::ranges::find(layers, layer, &PlannedLayer::name);
  return found == layers.end() ? Format::Float32 : found->format;
}

PlannedFormats::PlannedFormats(const Plan& plan) {
  formats_.reserve(plan.layers.size());
  for (const PlannedLayer& layer : plan.layers) formats_.emplace(layer.name, layer.format);
}

Format PlannedFormats::of(const std::string& layer) const {
  const auto found = formats_.find(layer);
  return found == formats_.end() ? Format::Float32 : found->second;
}

bool Plan::weights_alone(Format format) const {
  return definition_of(format).weights_alone || (rules.weights_only && needs_scale(format));
}

Format Plan::computes_in(Format format) const {
  if (weights_alone(format)) return high;
  return needs_scale(format) ? Format::Float32 : format;
}

}  // namespace vernier
