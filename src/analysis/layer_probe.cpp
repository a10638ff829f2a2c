#include "analysis/layer_probe.h"

#include <array>
#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>

#include "analysis/own_error.h"
#include "base/parallel.h"
#include "distributed/ranks.h"

namespace vernier {

Probes probe(const Subject& few, const Plan& plan, RoundedWeights& weights, const std::vector<std::string>& layers,
             const std::set<std::string>& tensors, const std::map<std::string, Shape>& shapes) {
  const std::vector<std::size_t> order = all_samples(few);
  std::mutex telling;
  // Ranks share the samples of one pass after the other.
  const bool shared = few.ranks != nullptr && !few.ranks->alone();
  const Subject subject = shared ? few : on_one_thread(few, telling);
  RoundedWeights exact(/*exact=*/true);
  std::vector<LayerError> own, own_with_exact_weights;
  LargestMagnitudes largest(subject, tensors, shapes);
  MeanErrors means(MeanErrors::layers_of(subject, plan, &layers), shapes, order.size());
  const std::array<std::function<void()>, 2> passes = {
      [&] { own_with_exact_weights = own_error(subject, plan, exact, &order, &layers, &largest); },
      [&] { own = own_error(subject, plan, weights, &order, &layers, &means); }};
  parallel_ordered(
      layers.empty() ? 1 : passes.size(), shared ? 1 : few.threads,
      [&](std::size_t i) {
        passes[i]();
        return i;
      },
      [](std::size_t, std::size_t) { return true; });
  Probes probes;
  probes.tensors = largest.take();
  for (const LayerError& error : own) probes.layers[error.layer].own = error.error;
  for (const LayerError& error : own_with_exact_weights) {
    probes.layers[error.layer].own_with_exact_weights = error.error;
  }
  for (auto& [layer, mean] : means.take()) probes.layers[layer].mean_error = std::move(mean);
  return probes;
}

}  // namespace vernier
