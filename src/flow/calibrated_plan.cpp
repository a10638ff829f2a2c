#include "flow/calibrated_plan.h"

#include "compare/reference.h"
#include "plan/calibrate.h"

namespace vernier {

std::vector<std::string> calibrate_on_samples(Plan& plan, const Model& model, const std::vector<Layer>& layers,
                                              const Loaded& loaded) {
  const std::set<std::string> tensors = tensors_to_calibrate(model, layers, plan);
  if (tensors.empty()) return calibrate_plan(plan, model, layers, {});
  Subject subject = loaded.subject;
  if (loaded.calibration) subject.samples = loaded.calibration.get();
  // The same tensors as diagnose observes: each Observe stops a fusion, and a fusion moves the last bits of a range.
  std::set<std::string> observed = tensors_to_observe(subject);
  observed.insert(tensors.begin(), tensors.end());
  return calibrate_plan(plan, model, layers, run_reference(subject, observed).ranges);
}

}  // namespace vernier
