// What samples teach a network, the scales of its plan, and figures on samples that it has not seen: each half of the
// samples is judged by the network that the other half taught. Source: M. Stone, "Cross-validatory choice and
// assessment of statistical predictions", Journal of the Royal Statistical Society B 36 (1974), with two parts.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/reference.h"
#include "analysis/requirement.h"
#include "analysis/subject.h"
#include "analysis/trials.h"
#include "jobs/common/calibrated_plan.h"
#include "jobs/common/halves.h"
#include "jobs/common/load.h"
#include "jobs/diagnose/typed_source.h"
#include "jobs/diagnose/yardstick.h"
#include "plan/lower_simulated.h"
#include "plan/plan.h"
#include "plan/scheme.h"
#include "vernier/format.h"
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

/// A network as one half of the samples taught it.
struct TaughtHalf {
  std::vector<std::size_t> unseen;     // the other half, which judges it
  std::unique_ptr<Subject> rewritten;  // with its repairs in the float model; null: the network as it is
  std::map<std::string, QuantParams> tensors;
  std::map<std::string, std::map<Format, QuantParams>> other_grids;
  std::map<std::string, RepairedConstant> constants;
  std::unique_ptr<RoundedWeights> weights = std::make_unique<RoundedWeights>();
};

class CrossFit {
 public:
  /// Teaches both halves the scales of everything low. Cost: a reference run over at most 512 samples of each half.
  CrossFit(const Teacher& teacher, const Subject& subject);
  /// Of halves that were taught elsewhere.
  explicit CrossFit(std::array<TaughtHalf, 2> halves);

  /// The two networks, of `subject` as it is or with their repairs, and the samples that judge them. It must outlive
  /// them.
  std::vector<JudgedNetwork> networks(const Subject& subject, const Plan& plan);

 private:
  std::array<TaughtHalf, 2> halves_;
};

/// Enough to learn ranges from: they do not gain from more.
inline constexpr std::size_t kMostToTeach = 512;

}  // namespace vernier
