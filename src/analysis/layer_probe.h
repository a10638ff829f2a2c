// What is measured of the few layers that are to be explained, on few samples: pass beside pass, each on one thread,
// since building sessions, which is work of one thread, takes much of the time.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/channel_stats.h"
#include "analysis/requirement.h"
#include "analysis/subject.h"
#include "plan/lower_simulated.h"
#include "vernier/tensor.h"

namespace vernier {

struct LayerProbe {
  ErrorStats own, own_with_exact_weights;
  std::vector<double> mean_error;  // by output channel; empty where mean_errors() has none
};

struct Probes {
  std::map<std::string, LayerProbe> layers;
  std::map<std::string, Magnitudes> tensors;
};

/// Of the layers and tensors named, over all samples of `few`. `shapes`: as a reference run saw them.
/// Cost: two passes over `few`, each as own_error() of these layers.
Probes probe(const Subject& few, const Plan& plan, RoundedWeights& weights, const std::vector<std::string>& layers,
             const std::set<std::string>& tensors, const std::map<std::string, Shape>& shapes);

}  // namespace vernier
