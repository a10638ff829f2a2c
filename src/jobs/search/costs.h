// What keeping layers costs, in the unit asked for, with the tensors that are converted where kept layers meet others.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "jobs/search/experiment.h"
#include "search/cost.h"
#include "vernier/format.h"
#include "vernier/quantization.h"
#include "vernier/search_options.h"

namespace vernier {

/// Microseconds on an engine's own kernels.
struct LayerTimes {
  using OfLayers = std::map<std::string, double>;
  OfLayers high, low;
  double per_converted_element = 0;  // of QuantizeLinear and DequantizeLinear together
  /// Of a ladder: layers on rungs above their lowest. A format that has no kernels is absent, and costs as `high`.
  std::map<Format, OfLayers> rungs;
};

struct CostModel {
  std::vector<double> items;  // of each candidate, > 0
  std::vector<Border> borders;
};

/// A border is a tensor that a candidate makes and others read, directly or through layers that are no candidates: an
/// engine converts it once when they do not all run in one format. `times` is read for CostUnit::Time only.
CostModel cost_model(const Experiment& experiment, CostUnit unit, const LayerTimes* times);

/// Bits of what a multiply-accumulate reads, on the average of its two operands: 8 for int8 or float8, 12 for int16
/// (its weights have 8), 16 for float16. What no format rounds has 32. Where weights alone are quantized, the data are
/// in `high`.
double bits_read(Format format, Format high, const QuantizationRules& rules);

/// Of each step of a ladder, beyond the rung below:
///
///   layers  bits
///   macs    multiply-accumulates of one sample times bits; elements for what has none
///   bytes   of the weights and of the inputs that the layer reads
///   time    microseconds, `times`
///
/// Format boundaries cost nothing.
CostModel ladder_costs(const Experiment& experiment, CostUnit unit, const LayerTimes* times);
/// All candidates on their lowest rungs, in the same unit.
double cost_of_lowest(const Experiment& experiment, CostUnit unit, const LayerTimes* times);

}  // namespace vernier
