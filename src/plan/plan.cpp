#include "plan/plan.h"

#include <algorithm>

namespace vernier {

Format Plan::format_of(const std::string& layer) const {
  const auto found = std::ranges::find(layers, layer, &PlannedLayer::name);
  return found == layers.end() ? Format::Float32 : found->format;
}

}  // namespace vernier
