#include "jobs/diagnose/diagnosis_ranges.h"

#include <set>

#include "plan/calibrate.h"

namespace vernier {

bool DiagnosisRanges::read_cache() {
  const std::map<std::string, Format> tensors = quantized();
  cached_ = read_calibration_cache(options_.measure.calibration_cache, *loaded_.original, loaded_.subject.layers,
                                   tensors, options_.precision.calibration,
                                   calibration_samples().is_random() ? Lacking::Refuse : Lacking::Allow);
  if (!cached_) check_method(options_.precision.calibration, tensors);
  return cached_.has_value();
}

Reference DiagnosisRanges::run_reference() const {
  const Subject& subject = loaded_.subject;
  std::set<std::string> observed = tensors_to_observe(subject);
  observed.merge(tensors_to_calibrate(subject.model, subject.layers, experiment_.all_low_plan()));
  PartialRuns* const partial = loaded_.partial.get();
  if (cached_ || loaded_.calibration) {
    return vernier::run_reference(subject, observed, {}, Counting::All, partial);
  }
  const std::map<std::string, Format> tensors = to_learn();
  for (const auto& [tensor, format] : tensors) observed.insert(tensor);
  return vernier::run_reference(subject, observed, to_count(options_.precision.calibration, tensors), Counting::All,
                                partial);
}

FilledScales DiagnosisRanges::fill(const PrecisionOptions& precision) {
  const std::map<std::string, Format> tensors = to_learn();
  Subject own = loaded_.subject;
  Plan& plan = experiment_.mutable_plan();
  if (tensors.empty())
    return {calibrate_plan(plan, own.model, own.layers, {}, own.progress), {}};  // weights alone may have scales
  const CalibrationChoice& choice = options_.precision.calibration;
  if (cached_) {
    if (loaded_.calibration) own.samples = loaded_.calibration.get();
    fill_lacking(*cached_, options_.measure.calibration_cache, plan, own, tensors, choice);
    return fill_scales(plan, own.model, own.layers, precision, *cached_);
  }
  Reference other;
  if (loaded_.calibration) {
    own.samples = loaded_.calibration.get();
    std::set<std::string> observed;
    for (const auto& [tensor, format] : tensors) observed.insert(tensor);
    other = vernier::run_reference(own, observed, to_count(choice, tensors), Counting::All, loaded_.partial.get());
  }
  Reference& seen = loaded_.calibration ? other : experiment_.reference;
  FilledScales filled = fill_scales(plan, own.model, own.layers, own, tensors, choice, seen, *loaded_.original,
                                    options_.measure.calibration_cache, loaded_.partial.get());
  experiment_.reference.histograms.clear();
  return filled;
}

const SampleSource& DiagnosisRanges::calibration_samples() const {
  return loaded_.calibration ? *loaded_.calibration : *loaded_.samples;
}

std::map<std::string, Format> DiagnosisRanges::quantized() const {
  return formats_to_calibrate(loaded_.subject.model, loaded_.subject.layers, experiment_.all_low_plan());
}

std::map<std::string, Format> DiagnosisRanges::to_learn() const {
  const bool writes = !cached_ && !options_.measure.calibration_cache.empty();
  return writes ? tensors_for_file(loaded_.subject.layers, quantized()) : quantized();
}

}  // namespace vernier
