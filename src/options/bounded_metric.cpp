#include "options/bounded_metric.h"

#include <algorithm>
#include <cmath>

namespace vernier {

double bounded_metric(Metric metric, double value, double sqnr_db, double bound) {
  const double more = std::pow(10.0, std::max(0.0, sqnr_db - bound) / 10);
  switch (metric) {
    case Metric::MinSqnrDb:
      return std::min(value, bound);
    case Metric::MaxMse:
      return value * more;
    case Metric::MinCosine:
      return 1 - (1 - value) * more;
    case Metric::MaxAbsError:
    case Metric::MinTop1Agreement:
      break;
  }
  return value;
}

}  // namespace vernier
