// Quality against the number of kept layers, for a diagnosis without a requirement.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "analysis/figures.h"
#include "jobs/search/kept_set.h"
#include "numerics/metrics.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/figures.h"

namespace vernier {

std::vector<CurvePoint> quality_curve(Experiment& experiment, const Evidence& evidence,
                                      const std::vector<LayerRow>& ranked) {
  std::vector<std::string> layers;
  for (const LayerRow& row : ranked) {
    if (evidence.alone.contains(row.name)) layers.push_back(row.name);
  }
  std::vector<double> rest(layers.size() + 1, 0);  // damage left when the first i are kept
  for (std::size_t i = layers.size(); i-- > 0;) {
    rest[i] = rest[i + 1] + predicted_damage(evidence, layers[i], experiment.requirement());
  }
  const double measured_all = noise_share(experiment.all_low().outputs);
  const double scale =
      std::isfinite(rest[0]) && rest[0] > 0 && std::isfinite(measured_all) ? measured_all / rest[0] : 1;

  std::vector<CurvePoint> curve;
  const auto next = [](std::size_t kept) { return kept < 4 ? kept + 1 : kept + std::max<std::size_t>(1, kept / 3); };
  for (std::size_t kept = 0; kept <= layers.size(); kept = next(kept)) {
    CurvePoint point;
    point.kept = kept;
    point.predicted_sqnr_db = db_of(scale * rest[kept]);
    const bool measure = kept == 1 || kept == 2 || kept == 4 || (kept > 4 && curve.size() % 3 == 0);
    if (kept == 0) point.measured_sqnr_db = db_of(measured_all);
    if (measure && curve.size() < 12) {
      const std::vector<std::string> first(layers.begin(), layers.begin() + static_cast<std::ptrdiff_t>(kept));
      const TrialResult trial =
          experiment.run_keeping(first, nullptr, experiment.hardest_first(), /*early_stop=*/false);
      point.measured_sqnr_db = db_of(noise_share(trial.outputs));
    }
    curve.push_back(point);
  }
  return curve;
}

}  // namespace vernier
