// What is measured of the few layers that are to be explained, on few samples, in one run with the reference.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/reference.h"
#include "analysis/requirement.h"
#include "analysis/subject.h"
#include "plan/lower_simulated.h"
#include "vernier/tensor.h"

namespace vernier {

struct LayerProbe {
  ErrorStats own, own_with_exact_weights;
  std::vector<double> mean_error;  // by output channel; empty where MeanErrors has none
};

/// Largest magnitudes of a tensor over the samples of a run.
struct Magnitudes {
  std::vector<float> channels;  // as of LargestMagnitudes; empty where that has none
  std::vector<float> samples;   // of the finite values in each, in their order
};

struct Probes {
  std::map<std::string, LayerProbe> layers;
  std::map<std::string, Magnitudes> tensors;
};

/// A reference run over all samples of `few` that observes and counts `observed`, and beside it, into `probes`, what
/// the layers and tensors named there are to hold; tensors are of `observed`, or inputs of the graph. `shapes`: of
/// tensors that weighted layers read and make, as a reference run saw them.
/// Cost: a plain run with operators of ours on `observed`, and each of the layers twice more.
Reference probe(const Subject& few, const Plan& plan, RoundedWeights& weights, const std::set<std::string>& observed,
                const std::map<std::string, Shape>& shapes, Probes& probes);

}  // namespace vernier
