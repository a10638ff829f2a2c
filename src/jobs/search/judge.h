// The oracle of a search: kept sets of an experiment, judged by its requirement or by an objective that looks at the
// outputs themselves.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/figures.h"
#include "analysis/trials.h"
#include "distributed/wire.h"
#include "jobs/search/experiment.h"
#include "jobs/search/objective.h"
#include "search/oracle.h"
#include "vernier/requirement.h"

namespace vernier {

class Judge {
 public:
  /// `objective` null: the experiment's requirement. `early_stop`: a trial may end as soon as its verdict is certain;
  /// without, each says what it would have needed. `confidence` below 1: a trial may also fail as soon as that is this
  /// certain; what passes has run on all samples either way. Both references must outlive the judge.
  Judge(Experiment& experiment, const Objective* objective, bool early_stop, double confidence = 1)
      : experiment_(experiment), objective_(objective), early_stop_(early_stop), confidence_(confidence) {}

  /// Runs trials with `subject`, which must be the experiment's but for its threads, ranks and progress, and outlive
  /// the judge. On one thread, and without an objective, the judge may then be asked from several threads.
  void run_with(const Subject& subject);

  /// `why` says what a trial would have passed with.
  Trial operator()(const KeptSet& set);
  /// Trial::damage, guessed from a few samples; infinite when interrupted.
  double estimate(const KeptSet& set);
  /// What trials of this set gave, sample by sample, between ranks: each then knows what the others found.
  void pack_known(const KeptSet& set, Packer& packer);
  void unpack_known(const KeptSet& set, Unpacker& unpacker);
  /// A model in simulation, by the objective, which must be there.
  Trial of_model(Model simulated, bool early_stop);
  /// Runs a model over samples in this order.
  using Run = std::function<void(const std::vector<std::size_t>& order, const VisitOutputs& visit)>;
  /// What `run` shows of all samples, in any order, by the objective, which must be there.
  Trial of_outputs(const Run& run) { return by_objective(run, experiment_.hardest_first(), /*early_stop=*/false); }

 private:
  Trial by_requirement(const KeptSet& set);
  Trial by_objective(const Run& run, const std::vector<std::size_t>& order, bool early_stop);
  Run run_of(const KeptSet& set);

  const Subject& subject() const { return subject_ == nullptr ? experiment_.subject() : *subject_; }
  TrialResult run(const KeptSet& set, const Requirement* requirement, const std::vector<std::size_t>& order,
                  bool early_stop, const PairedSamples* paired = nullptr);

  Experiment& experiment_;
  const Subject* subject_ = nullptr;                             // null: the experiment's
  std::vector<std::shared_ptr<const Subject>> unseen_subjects_;  // Experiment::unseen() with that subject's threads
  const Objective* objective_;
  bool early_stop_;
  double confidence_;
};

/// Verdict, damage, metric and what it would have needed, of outputs of `subject` that are measured. Samples are not
/// counted. `low`: as deciding_figure() has it.
Trial trial_of(const Subject& subject, const std::map<std::string, OutputStats>& outputs,
               const Requirement& requirement, const LowStats* low = nullptr);

/// "‹min-sqnr› 22.31": a limit that a figure meets, rounded to the safe side; with "below" or "above" for a bound.
std::string needs_text(const Requirement& requirement, const std::string& output, double metric, bool bound);

}  // namespace vernier
