// What is measured of the layers that are to be explained: the facts that causes are found from.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "causes/facts.h"
#include "jobs/search/evidence.h"
#include "jobs/search/measured.h"
#include "numerics/histogram.h"
#include "vernier/report/figures.h"

namespace vernier {

struct MeasuredFacts {
  NetworkFacts network;
  std::size_t samples = 0;                            // that were looked at
  std::map<std::string, HalvedHistogram> histograms;  // of what the layers read and make, on these
};

/// Of the layers of `rows`, in their order, on at most `samples` samples: spread evenly, and up to half of them those
/// that make an output infinite or NaN.
/// Cost: a reference pass with observed tensors, which for formats with a scale is that of probe(). Two more where the
/// network picks something or has norms (row_facts.h).
MeasuredFacts measure_facts(Measured& measured, const Evidence& evidence, const std::vector<const LayerRow*>& rows,
                            std::size_t samples);

}  // namespace vernier
