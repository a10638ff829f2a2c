// One trial of a search: a plan, run over the samples in simulation and judged against the stored reference outputs.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/early_failure.h"
#include "analysis/reference.h"
#include "analysis/requirement.h"
#include "analysis/subject.h"
#include "plan/lower_simulated.h"
#include "vernier/requirement.h"
#include "vernier/tensor.h"

namespace vernier {

class SwitchedRuns;
struct KnownPlan;

/// The session for all plans of a search, made when it is first asked for; null: there is none. Empty: the same.
using SwitchedOnDemand = std::function<std::shared_ptr<const SwitchedRuns>()>;

/// log(sum (ref - got)^2 / sum ref^2), not below log(1e-15); a large number when got is not finite where ref is, or
/// when ref is all zero and got is not.
double log_noise(const ErrorStats& stats);

struct TrialResult {
  std::map<std::string, OutputStats> outputs;
  double damage = 0;   // largest over judged outputs with a limit; a lower bound when stopped early
  double metric = 0;   // of the output with the largest damage
  std::string output;  // that output
  std::size_t samples_run = 0;
  /// Of each sample that was run, in order: logarithm of noise over signal, summed over judged outputs.
  std::vector<double> sample_log_noise;
  bool stopped_early = false;  // the requirement was surely missed before the last sample
  double confidence = 1;       // that it is: 1 is certain
};

/// Lets a trial fail before that is certain (early_failure.h).
struct PairedSamples {
  std::vector<double> noise;  // of everything low, by sample index
  std::size_t chosen = 0;     // samples at the front of the order that were not drawn at random
  double confidence = 1;      // below 1: of one early failure
};

/// Sees the judged outputs of one sample, in the order of Subject::judged; false ends the run.
using VisitOutputs = std::function<bool(std::size_t sample, const std::vector<Tensor>& got)>;

/// Runs `model`, which has the judged outputs and the carried ones of `subject`, over the samples of `order`.
void run_outputs(const Subject& subject, Model model, const std::vector<std::size_t>& order, const VisitOutputs& visit);

/// Runs `plan` in simulation, in the session of `switched` where that can.
void run_plan(const Subject& subject, const Plan& plan, RoundedWeights& weights, const SwitchedOnDemand& switched,
              const std::vector<std::size_t>& order, const VisitOutputs& visit);

/// What a trial has shown so far. With `early_stop` it is over as soon as the verdict is certain; with `paired` also as
/// soon as the failure has that confidence, for metrics whose damage is a sum over samples: SQNR, mean squared error,
/// top-1 agreement. `order`: of the samples to come. What is given must outlive this.
class OpenTrial {
 public:
  OpenTrial(const Subject& subject, const Reference& reference, const Requirement* requirement,
            const std::vector<std::size_t>& order, bool early_stop, const PairedSamples* paired);

  /// The next sample; false: the trial is over.
  bool add(std::size_t sample, const std::vector<SampleOutcome>& outcomes);
  /// Without a requirement damage is left at 0.
  TrialResult result() &&;

 private:
  const Subject& subject_;
  const Reference& reference_;
  const Requirement* const requirement_;
  const std::size_t samples_;
  const bool early_stop_;
  const double confidence_;
  std::map<std::string, double> limits_;          // of judged outputs
  std::map<std::string, EarlyFailure> failures_;  // the same; empty: only what is certain ends it
  TrialResult result_;
};

/// Sees what `plan` does to each sample; false ends the run.
using TakeOutcomes = std::function<bool(std::size_t sample, const std::vector<SampleOutcome>& outcomes)>;

/// Runs `plan` in simulation over the samples of `order` and compares them with `reference`. What `known` has is not
/// run again, and what is run is added to it; null: nothing is known. Not for sequences. Ranks go on from what all of
/// them know. False: `take` ended it.
bool run_outcomes(const Subject& subject, const Plan& plan, const Reference& reference, RoundedWeights& weights,
                  const std::vector<std::size_t>& order, const SwitchedOnDemand& switched, const KnownPlan* known,
                  const TakeOutcomes& take);

/// Both: runs `plan` over the samples of `order` and judges it.
TrialResult run_trial(const Subject& subject, const Plan& plan, const Reference& reference, RoundedWeights& weights,
                      const Requirement* requirement, const std::vector<std::size_t>& order, bool early_stop,
                      const PairedSamples* paired = nullptr, const SwitchedOnDemand& switched = {},
                      const KnownPlan* known = nullptr);

}  // namespace vernier
