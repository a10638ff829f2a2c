// Where the ranges of a diagnosis come from: the cache of ranges, the calibration samples, or those that are measured,
// in the reference run itself.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "analysis/reference.h"
#include "jobs/common/calibrated_plan.h"
#include "jobs/common/load.h"
#include "jobs/search/experiment.h"
#include "vernier/diagnose.h"

namespace vernier {

/// All arguments must outlive it.
class DiagnosisRanges {
 public:
  DiagnosisRanges(const DiagnoseOptions& options, const Loaded& loaded, Experiment& experiment)
      : options_(options), loaded_(loaded), experiment_(experiment) {}

  /// True when the cache of the options holds ranges that fit. Errors: Input, as read_calibration_cache(); Usage when
  /// there are none and the method cannot be taken.
  bool read_cache();
  const std::optional<CachedCalibration>& cached() const { return cached_; }

  /// The reference run; where ranges are learned on the samples that are measured, it looks at them as well.
  Reference run_reference() const;

  /// Gives the experiment's plan its scales, and writes the cache where one is to be written. `precision`: with what
  /// network scripts set. Cost: a run over the calibration samples, where there are some.
  FilledScales fill(const PrecisionOptions& precision);

 private:
  const SampleSource& calibration_samples() const;
  std::map<std::string, Format> quantized() const;
  /// Whose ranges are learned: with a cache to write, those of all that it holds.
  std::map<std::string, Format> to_learn() const;

  const DiagnoseOptions& options_;
  const Loaded& loaded_;
  Experiment& experiment_;
  std::optional<CachedCalibration> cached_;
};

}  // namespace vernier
