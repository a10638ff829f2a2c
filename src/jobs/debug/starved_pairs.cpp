#include "jobs/debug/starved_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "analysis/run_tensors.h"
#include "model/graph_edit.h"
#include "numerics/tensor_grid.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr double kManyVanish = 0.01;
constexpr std::int64_t kFewestChannels = 4;

/// Of one pair over the samples.
struct Seen {
  std::vector<std::vector<float>> largest;  // by dimension and index; empty: of several sizes
  std::int64_t values = 0, vanished = 0;
};

void add(const Tensor& tensor, float half_step, Seen& seen) {
  const Shape& shape = tensor.shape();
  const std::span<const float> values = tensor.floats();
  if (seen.values == 0) seen.largest.resize(shape.size());
  if (seen.largest.size() != shape.size()) seen.largest.clear();  // of several ranks
  for (std::size_t axis = 1; axis < seen.largest.size(); ++axis) {
    const AxisGeometry along = geometry_along(shape, static_cast<int>(axis));
    std::vector<float>& largest = seen.largest[axis];
    if (seen.values == 0) largest.assign(static_cast<std::size_t>(along.channels), 0);
    if (!std::cmp_equal(largest.size(), along.channels)) largest.clear();
    if (largest.empty()) continue;
    for (std::size_t i = 0; i < values.size(); ++i) {
      float& most = largest[i / static_cast<std::size_t>(along.inner) % largest.size()];
      most = std::max(most, std::abs(values[i]));
    }
  }
  seen.values += static_cast<std::int64_t>(values.size());
  seen.vanished += std::ranges::count_if(values, [&](float v) { return v != 0 && std::abs(v) < half_step; });
}

StarvedPair starved_in(const Seen& seen, float half_step) {
  StarvedPair found;
  found.vanished = static_cast<double>(seen.vanished) / static_cast<double>(std::max<std::int64_t>(seen.values, 1));
  for (std::size_t axis = 1; axis < seen.largest.size(); ++axis) {
    const std::vector<float>& largest = seen.largest[axis];
    if (std::cmp_less(largest.size(), kFewestChannels)) continue;
    const auto starved = static_cast<std::size_t>(
        std::ranges::count_if(largest, [&](float most) { return most > 0 && most < half_step; }));
    // As many of few channels are more of them.
    if (starved * std::max<std::size_t>(found.channels, 1) <= found.starved * largest.size()) continue;
    found.channels = largest.size();
    found.starved = starved;
    found.axis = static_cast<int>(axis);
  }
  return found;
}

}  // namespace

std::map<std::size_t, StarvedPair> find_starved_pairs(const Subject& subject, const SimulatedFile& file,
                                                      const Model& exact, const std::vector<GridLoss>& losses,
                                                      const std::set<std::string>& skipped) {
  std::vector<std::string> tensors;
  std::vector<std::pair<std::size_t, std::size_t>> read;  // pair, place in `tensors`
  for (std::size_t i = 0; i < file.quantized.size(); ++i) {
    const QuantizedTensor& pair = file.quantized[i];
    if (losses[i].count == 0 || pair.params.scale.size() != 1 || !is_integer(pair.params.format)) continue;
    if (skipped.contains(pair.tensor) || is_initializer(exact, pair.tensor)) continue;
    const auto place = std::ranges::find(tensors, pair.tensor) - tensors.begin();
    if (std::cmp_equal(place, tensors.size())) tensors.push_back(pair.tensor);
    read.emplace_back(i, static_cast<std::size_t>(place));
  }
  if (read.empty()) return {};
  const auto half_step = [&](std::size_t pair) { return file.quantized[pair].params.scale.front() / 2; };
  std::map<std::size_t, Seen> seen;
  run_tensors(subject, exact, tensors, all_samples(subject), [&](std::size_t, const std::vector<Tensor>& got) {
    for (const auto& [pair, place] : read) {
      if (got[place].dtype() == Dtype::Float32) add(got[place], half_step(pair), seen[pair]);
    }
    return true;
  });
  std::map<std::size_t, StarvedPair> found;
  for (const auto& [pair, values] : seen) {
    const StarvedPair starved = starved_in(values, half_step(pair));
    if (starved.starved > 0 || starved.vanished >= kManyVanish) found.emplace(pair, starved);
  }
  return found;
}

PairReason reason_of(const StarvedPair& starved, std::string cure) {
  if (starved.starved > 0) {
    return {fmt::format("{} of {} channels (axis {}) stay within half a step of zero, and become zero", starved.starved,
                        starved.channels, starved.axis),
            std::move(cure)};
  }
  return {fmt::format("{:.0f} % of its values lie within half a step of zero, and become zero", 100 * starved.vanished),
          std::move(cure)};
}

}  // namespace vernier
