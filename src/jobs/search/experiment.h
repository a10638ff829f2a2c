// What the steps of a diagnosis share once the model is loaded: the model under test, how everything in it is lowered,
// the layers that may be raised again, and the reference that each trial is judged against.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/figures.h"
#include "analysis/known_trials.h"
#include "analysis/lockstep.h"
#include "analysis/reference.h"
#include "analysis/subject.h"
#include "analysis/switched_runs.h"
#include "analysis/trials.h"
#include "jobs/search/plan_digest.h"
#include "jobs/search/unseen_trials.h"
#include "plan/lower_simulated.h"
#include "plan/plan.h"
#include "search/cost.h"
#include "search/oracle.h"
#include "vernier/format.h"
#include "vernier/report/kept_set.h"
#include "vernier/requirement.h"
#include "vernier/tensor.h"

namespace vernier {

/// One thing that a search may keep: a candidate in a higher format. Without a ladder there is one a candidate, of the
/// same number; with one, a step for each rung above the candidate's lowest.
struct Step {
  std::size_t candidate = 0;
  Format format = Format::Float32;
  std::size_t needs = kNoItem;  // the step to the rung below, without which this one changes nothing
};

/// The runs of the float model that the networks of a job are judged against.
struct FloatRuns {
  std::shared_ptr<const Reference> reference = std::make_shared<const Reference>();
  std::shared_ptr<const Reference> golden{};  // outputs and totals from a file; null: there is none
};

class Experiment {
 public:
  /// `all_low`: has its scales. `candidates`: layers that may be kept. `shapes`: of the tensors of `subject`, which may
  /// be another network than the one that `runs` are of.
  Experiment(std::shared_ptr<const Subject> subject, const Requirement* requirement, FloatRuns runs,
             std::map<std::string, Shape> shapes, Plan all_low, const std::vector<std::string>& candidates);

  const Subject& subject() const { return *subject_; }
  const std::shared_ptr<const Subject>& shared_subject() const { return subject_; }
  /// Null when none was given.
  const Requirement* requirement() const { return requirement_; }
  const Plan& all_low_plan() const { return all_low_plan_; }
  /// Layers that a search may raise, in graph order.
  const std::vector<const Layer*>& candidates() const { return candidates_; }
  bool is_candidate(const std::string& layer) const { return high_of_.contains(layer); }
  /// True when raising all candidates leaves nothing low: the result is then the reference itself.
  bool all_high_is_reference() const;

  /// The all-low plan with `layers` raised to the high format, or to float32 where they cannot take that.
  Plan plan_keeping(const std::vector<std::string>& layers) const;
  std::vector<std::string> candidate_names() const;
  /// Those of a candidate one after the other.
  const std::vector<Step>& steps() const { return steps_; }
  bool has_ladder() const { return steps_.size() > candidates_.size(); }
  /// "conv1", of a ladder "conv1:uint16".
  std::string step_name(std::size_t step) const;
  /// The format of each candidate that some of `steps` raise.
  std::map<std::string, Format> raised_by(const KeptSet& steps) const;
  /// The all-low plan with these steps.
  Plan plan_of(const KeptSet& steps) const;
  /// The plan of a search's answer.
  Plan plan_of(const KeptSetReport& kept) const;
  /// Plans between which all others lie: all low, and each candidate one rung up, two, ... The last one keeps all.
  std::vector<Plan> ends() const;

  /// Samples, hardest first as all-low found them; a sequence stays in order.
  const std::vector<std::size_t>& hardest_first() const { return hardest_first_; }
  /// The hardest fifth, four at least: they carry most of the noise. Of a sequence, its beginning.
  std::vector<std::size_t> few_hard_samples() const;

  /// Runs the all-low model beside the subject's own, keeps its figures, and orders the samples by them. Layers are
  /// compared with those of the subject, outputs with those of reference().
  void run_all_low(const std::vector<Match>& matches) { set_all_low(lockstep_of_all_low(matches).run()); }
  LockstepRun lockstep_of_all_low(const std::vector<Match>& matches);
  /// Of outputs alone. What is known of all samples is not run again.
  Lockstep outputs_of_all_low();
  void set_all_low(Lockstep measured);
  const Lockstep& all_low() const { return all_low_; }

  /// The few hard samples, then the others in an order drawn at random, always the same: what is seen of them says
  /// something of the rest. The whole order must not be a sequence.
  std::vector<std::size_t> hard_then_drawn() const;
  /// Noise of everything low by sample, for trials that may fail before that is certain.
  PairedSamples paired_with_all_low(double confidence) const;

  /// One trial with `layers` kept, over the samples of `order`; judged when there is a requirement to judge by. Of the
  /// network that all samples taught.
  TrialResult run_keeping(const std::vector<std::string>& layers, const Requirement* requirement,
                          const std::vector<std::size_t>& order, bool early_stop,
                          const PairedSamples* paired = nullptr);

  /// From here on a search's trials judge each sample by that of `networks` which it has not taught; none of them: by
  /// the network that all samples taught.
  void judge_on_unseen(std::vector<JudgedNetwork> networks);
  /// Null: that network judges.
  UnseenTrials* unseen() const { return unseen_.get(); }
  /// A plan that keeps some of the candidates, on all samples, none of which taught the network that judges it;
  /// unseen() must be there.
  std::map<std::string, OutputStats> outputs_on_unseen(const Plan& plan);
  /// What caps the figure of `plan` (deciding_figure()): everything low, judged as a search's trials on unseen samples
  /// are. Null without these, with golden outputs, and for ends(), which nobody chose for their figure.
  /// Safe from several threads. Cost: one such trial, once.
  const LowStats* low_outputs(const Plan& plan);

  /// One session for all plans that keep some of the candidates; null where there can be none. Made when first asked
  /// for. Safe from several threads.
  std::shared_ptr<const SwitchedRuns> switched();
  /// Frees that session, and where its runs stood, until it is asked for again. Safe from several threads.
  void forget_switched();

  /// Stands for what `plan`, which keeps some of the candidates, computes of this network. Scales are those that were
  /// there when it was asked first.
  std::string plan_digest(const Plan& plan);
  /// What trials of a search have given by now. Nothing is known of sequences.
  std::optional<KnownPlan> known(const Plan& plan);
  /// The same of the network that all samples taught, where others judge.
  std::optional<KnownPlan> known_own(const Plan& plan);
  std::map<std::string, KnownTrials::BySample> known_trials() const { return known_->by_plan(); }
  std::size_t recalled_trials() const { return known_->recalled(); }
  void set_known_trials(std::map<std::string, KnownTrials::BySample> trials);

  /// Where the float model was written to, for the plan.
  void name_float_model(const std::string& file, const std::string& sha256);

  const Reference& reference() const { return *runs_.reference; }
  const Reference* golden() const { return runs_.golden.get(); }
  /// What trials are judged against: the golden outputs where there are some.
  const Reference& judged_against() const { return runs_.golden ? *runs_.golden : *runs_.reference; }
  const std::map<std::string, Shape>& shapes() const { return shapes_; }

  RoundedWeights weights;

 private:
  const std::shared_ptr<const Subject> subject_;
  const Requirement* const requirement_;
  const FloatRuns runs_;
  const std::map<std::string, Shape> shapes_;
  Plan all_low_plan_;
  std::vector<const Layer*> candidates_;
  std::vector<Step> steps_;
  std::unordered_map<std::string, Format> high_of_;  // what each candidate falls back to
  Lockstep all_low_;
  std::vector<std::size_t> hardest_first_;
  std::mutex making_switched_;
  std::optional<std::shared_ptr<const SwitchedRuns>> switched_;  // absent: not tried yet
  std::unique_ptr<UnseenTrials> unseen_;
  std::mutex making_low_;
  std::optional<LowStats> unseen_low_;
  std::unique_ptr<KnownTrials> known_ = std::make_unique<KnownTrials>();
  std::mutex making_digest_;
  std::optional<PlanDigest> digest_;
};

}  // namespace vernier
