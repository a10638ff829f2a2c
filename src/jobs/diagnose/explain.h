// The step of a diagnosis that says why: chooses the layers that matter, measures their tensors, and asks the causes.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "causes/facts.h"
#include "jobs/search/evidence.h"
#include "jobs/search/measured.h"
#include "vernier/experiments.h"
#include "vernier/report/causes.h"
#include "vernier/report/figures.h"

namespace vernier {

struct ExplainOptions {
  std::size_t most_layers = 16;
  std::size_t samples = 8;
  bool missed = false;                   // the requirement is missed with everything low
  std::optional<double> top1_agreement;  // with everything low, the least of the outputs that hold class scores
  double unseen_noise = 0;               // over signal of the worst output, on samples that did not calibrate; 0: none
  std::vector<CauseFinder> own;          // causes of the caller's
  std::vector<LostLimitFacts> lost_limits;
  std::optional<EngineLossFacts> engine_loss;
};

/// The network as a whole needs an explanation when a requirement is missed, or when its output is far below what the
/// format usually gives. Where it does not, explain() has little to do.
bool needs_explanation(const Experiment& experiment, const std::vector<LayerRow>& ranked, bool missed);

/// Causes, blame and pictures of the layers in `kept`, those that make the most of the damage, and those whose own
/// result is the worst. Looks at layers of the main graph.
/// Cost: passes over `samples` samples, of which measure_facts() tells; at most eleven plain inferences a sample,
/// whatever the number of causes.
Explanation explain(Measured& measured, const Evidence& evidence, const std::vector<LayerRow>& ranked,
                    const std::set<std::string>& kept, const ExplainOptions& options);

}  // namespace vernier
