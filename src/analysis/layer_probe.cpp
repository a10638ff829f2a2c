#include "analysis/layer_probe.h"

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
  std::map<std::string, std::vector<double>> means;
  Probes probes;
  std::vector<std::function<void()>> passes;
  if (!layers.empty()) {
    passes = {[&] { own_with_exact_weights = own_error(subject, plan, exact, &order, &layers); },
              [&] { own = own_error(subject, plan, weights, &order, &layers); },
              [&] { means = mean_errors(subject, plan, weights, shapes, order, &layers); }};
  }
  if (!tensors.empty()) passes.emplace_back([&] { probes.tensors = magnitudes(subject, tensors, shapes, order); });
  parallel_ordered(
      passes.size(), shared ? 1 : few.threads,
      [&](std::size_t i) {
        passes[i]();
        return i;
      },
      [](std::size_t, std::size_t) { return true; });
  for (const LayerError& error : own) probes.layers[error.layer].own = error.error;
  for (const LayerError& error : own_with_exact_weights) {
    probes.layers[error.layer].own_with_exact_weights = error.error;
  }
  for (auto& [layer, mean] : means) probes.layers[layer].mean_error = std::move(mean);
  return probes;
}

}  // namespace vernier
