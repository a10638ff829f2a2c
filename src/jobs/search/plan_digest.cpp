#include "jobs/search/plan_digest.h"

#include <fmt/format.h>

#include <set>
#include <span>
#include <vector>

#include "base/hash.h"

namespace vernier {
namespace {

template <class T>
void add_values(Sha256& hash, const std::vector<T>& values) {
  hash.update(std::as_bytes(std::span(values)));
}

void add_text(Sha256& hash, const std::string& text) {
  hash.update(std::as_bytes(std::span(text)));
  hash.update(std::as_bytes(std::span("\n", 1)));
}

void add_scale(Sha256& hash, const std::string& tensor, const QuantParams& params) {
  add_text(hash, fmt::format("{} {} {} {} {} {}", tensor, format_name(params.format), params.axis, params.lowest_code,
                             params.block, params.scale.size()));
  add_values(hash, params.scale);
  add_values(hash, params.zero_point);
}

}  // namespace

PlanDigest::PlanDigest(const Subject& subject, const Plan& plan) {
  std::set<std::string> seen;
  for (const Layer& layer : subject.layers) {
    Sha256 hash;
    for (const std::vector<std::string>* tensors : {&layer.inputs, &layer.weights, &layer.outputs}) {
      for (const std::string& tensor : *tensors) {
        const auto params = plan.tensors.find(tensor);
        if (params == plan.tensors.end()) continue;
        seen.insert(tensor);
        add_scale(hash, tensor, params->second);
        const auto others = plan.other_grids.find(tensor);
        if (others == plan.other_grids.end()) continue;
        for (const auto& [format, other] : others->second) add_scale(hash, tensor, other);
      }
    }
    scales_[layer.name] = hash.hex();
  }
  Sha256 hash;
  for (const auto& [tensor, params] : plan.tensors) {
    if (!seen.contains(tensor)) add_scale(hash, tensor, params);
  }
  others_ = hash.hex();
}

std::string PlanDigest::of(const Plan& plan) const {
  Sha256 hash;
  add_text(hash, others_);
  for (const PlannedLayer& layer : plan.layers) {
    if (layer.format == Format::Float32) continue;
    const auto scales = scales_.find(layer.name);
    add_text(hash, fmt::format("{} {} {}", layer.name, format_name(layer.format),
                               scales == scales_.end() ? "" : scales->second));
  }
  return hash.hex();
}

}  // namespace vernier
