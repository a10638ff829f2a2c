// What keeping layers costs, in the unit asked for, with the tensors that are converted where kept layers meet others.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "jobs/search/experiment.h"
#include "search/cost.h"
#include "vernier/search_options.h"

namespace vernier {

/// Microseconds on an engine's own kernels.
struct LayerTimes {
  std::map<std::string, double> high, low;  // by layer
  double per_converted_element = 0;         // of QuantizeLinear and DequantizeLinear together
};

struct CostModel {
  std::vector<double> items;  // of each candidate, > 0
  std::vector<Border> borders;
};

/// A border is a tensor that a candidate makes and others read, directly or through layers that are no candidates: an
/// engine converts it once when they do not all run in one format. `times` is read for CostUnit::Time only.
CostModel cost_model(const Experiment& experiment, CostUnit unit, const LayerTimes* times);

}  // namespace vernier
