// Trials in which each sample is judged by a network that it has not taught.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/known_trials.h"
#include "analysis/reference.h"
#include "analysis/subject.h"
#include "analysis/switched_runs.h"
#include "analysis/trials.h"
#include "jobs/search/plan_digest.h"
#include "plan/lower_simulated.h"
#include "plan/plan.h"
#include "vernier/requirement.h"
#include "vernier/tensor.h"

namespace vernier {

/// A network with everything low, as some samples taught it, and the samples that judge it.
struct JudgedNetwork {
  const Subject* subject = nullptr;  // its samples are not looked at
  Plan plan;
  RoundedWeights* weights = nullptr;
  std::vector<std::size_t> samples;

  /// `plan`, of other layers kept, with what this network was taught.
  Plan taught(Plan other) const;
};

class UnseenTrials {
 public:
  /// `networks` have the layers of one network, and share the samples among them. `ends`: plans between which those of
  /// trials lie (Experiment::ends). `shapes` of its tensors. Subjects and weights must outlive this.
  UnseenTrials(std::vector<JudgedNetwork> networks, std::vector<Plan> ends, std::map<std::string, Shape> shapes);

  /// The subjects of the networks with the threads and the progress of another job. `whole`: what `job` is a copy of,
  /// which serves for networks that are not rewritten. `job` must outlive them.
  std::vector<std::shared_ptr<const Subject>> subjects_for(const Subject& job, const Subject& whole) const;

  /// As run_trial(), of the samples in `order`. `subjects`: of a job, or empty. Safe from several threads. Cost: one
  /// simulated inference a sample; a session for each network, once.
  /// simulated inference a sample; a session for each network, once.
  TrialResult run(const std::vector<std::shared_ptr<const Subject>>& subjects, const Plan& plan,
                  const Reference& reference, const Requirement* requirement, const std::vector<std::size_t>& order,
                  bool early_stop, const PairedSamples* paired, const KnownPlan* known);
  /// Shows the judged outputs, network by network.
  void visit(const Plan& plan, const std::vector<std::size_t>& order, const VisitOutputs& visit);

  bool is_end(const Plan& plan) const;
  /// Stands for what `plan` computes in these networks.
  std::string plan_digest(const Plan& plan);
  void forget_switched();

 private:
  struct Part {
    JudgedNetwork network;
    std::set<std::size_t> samples;
    std::optional<std::shared_ptr<const SwitchedRuns>> switched;  // absent: not tried yet
    std::optional<PlanDigest> digest;
  };
  std::shared_ptr<const SwitchedRuns> switched(Part& part);

  std::vector<Part> parts_;
  const std::vector<Plan> ends_;
  const std::map<std::string, Shape> shapes_;
  std::mutex making_;
};

}  // namespace vernier
