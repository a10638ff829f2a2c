// A bound on SQNR, in the unit of the metric that was asked for.
#pragma once

#include "vernier/requirement.h"

namespace vernier {

/// `value` of a metric of noise power, if the SQNR is `bound` in place of `sqnr_db`: the SQNR itself, a mean squared
/// error M 10^((sqnr_db - bound) / 10), a cosine 1 - (1 - C) 10^((sqnr_db - bound) / 10). As it is where the bound is
/// no worse, and for other metrics.
double bounded_metric(Metric metric, double value, double sqnr_db, double bound);

}  // namespace vernier
