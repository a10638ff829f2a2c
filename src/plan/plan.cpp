#include "plan/plan.h"

#include <algorithm>

namespace vernier {

Format Plan::format_of(const std::string& layer) const {
  const auto found = std::ranges::find(layers, layer, &PlannedLayer::name);
  return found == layers.end() ? Format::Float32 : found->format;
}

bool Plan::weights_alone(Format format) const {
  return format == Format::Int4 || (rules.weights_only && needs_scale(format));
}

Format Plan::computes_in(Format format) const {
  if (weights_alone(format)) return high;
  return needs_scale(format) ? Format::Float32 : format;
}

}  // namespace vernier
