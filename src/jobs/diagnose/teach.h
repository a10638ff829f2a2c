// What samples teach a network: the scales of its plan, from a run over them.
#pragma once

#include "analysis/reference.h"
#include "jobs/common/calibrated_plan.h"
#include "jobs/common/load.h"
#include "jobs/diagnose/typed_source.h"
#include "plan/plan.h"
#include "plan/scheme.h"
#include "vernier/precision.h"

namespace vernier {

/// All arguments must outlive it; `cached` may be null: no ranges came from a file.
class Teacher {
 public:
  Teacher(const Loaded& loaded, const PrecisionOptions& precision, const CachedCalibration* cached,
          const TypedSource& typed_source)
      : loaded_(loaded), precision_(precision), cached_(cached), typed_source_(typed_source) {}

  /// The samples that teach: those of calibration where there are such.
  const SampleSource& samples() const { return loaded_.calibration ? *loaded_.calibration : *loaded_.samples; }
  /// Runs the float model over the samples of `subject`: the outputs, and ranges of what calibration wants and float16
  /// layers read. `for_repairs`: with histograms of all that is calibrated, not only where the method counts values.
  Reference run(const Subject& subject, const Plan& plan, bool for_repairs) const;
  /// Everything low, with the scales that options fix and no others.
  AssignedFormats unscaled(const Subject& subject) const;
  /// Gives `plan`, of `subject`, which has no others yet, its scales from `seen`, such a run over the subject's
  /// samples.
  void set_scales(Plan& plan, const Subject& subject, Reference& seen) const;
  /// Gives it those of a file that was given; not where a rewrite made its weights others.
  void keep_given_scales(Plan& plan, const Subject& subject) const;
  /// Whether ranges are learned from samples at all.
  bool learns_ranges(const Subject& subject, const Plan& plan) const;

 private:
  const Loaded& loaded_;
  const PrecisionOptions& precision_;
  const CachedCalibration* cached_;
  const TypedSource& typed_source_;
};

}  // namespace vernier
