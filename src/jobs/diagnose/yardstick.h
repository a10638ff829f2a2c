// How far networks are from the float model, to compare them by: whether repairs help.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/judged_tensors.h"
#include "analysis/known_trials.h"
#include "analysis/output_store.h"
#include "analysis/requirement.h"
#include "analysis/subject.h"
#include "jobs/search/objective.h"
#include "jobs/search/unseen_trials.h"
#include "plan/lower_simulated.h"
#include "plan/plan.h"
#include "vernier/requirement.h"

namespace vernier {

/// How far a network's outputs are from the float model's.
struct OutputError {
  double noise = 0;    // over signal, of the worst output
  double telling = 0;  // the same in front of Softmaxes, where every sample counts (judged_tensors.h)
  /// Logarithm of noise over signal of each telling tensor on each sample; empty: the samples are those that repairs
  /// learned from, and say nothing of others.
  std::vector<std::vector<double>> log_noise = {};
  std::vector<std::vector<double>> output_log_noise = {};  // the same of the outputs that Softmaxes make, and of others
  /// Of each sample: see rows_moved(); 0 and 1 where labels say what is right and wrong.
  std::vector<std::int64_t> moved = {};
  std::map<std::string, OutputStats> in_front = {};  // of Softmaxes that make outputs, by these; empty: none does
  std::string moved_words = "top-1 agreement";       // what is lost where one moves: "a right label"
  /// Of the outputs, 1 is exactly the limit; NaN: no requirement was named.
  double damage = std::numeric_limits<double>::quiet_NaN();
};

class Yardstick {
 public:
  /// `subject`: the float model with the samples that judge, whose outputs are `outputs`. `labels` may be empty: the
  /// float model's classes count. `unseen`: the samples are others than those that taught. `requirement`: what
  /// OutputError::damage is of; may be null. All must outlive it.
  Yardstick(const Subject& subject, const OutputStore& outputs, const LabelCheck& labels, bool unseen,
            const Requirement* requirement = nullptr)
      : subject_(subject),
        outputs_(outputs),
        labels_(labels),
        unseen_(unseen),
        requirement_(requirement),
        judged_(judged_tensors(subject)) {}

  /// Of all samples of `networks` together. `known`: of these networks; where outcomes are all that is asked of a
  /// network, what is known is not run again. What is run is added; null: nothing is known. Cost: one simulated
  /// inference a sample; with a Softmax in front of an output one of the float model as well, once.
  OutputError measure(const std::vector<JudgedNetwork>& networks, const KnownPlan* known = nullptr);
  /// The same of a network whose outputs on all samples were compared before; nullopt where these do not tell.
  std::optional<OutputError> of_outputs(const std::map<std::string, OutputStats>& outputs) const;

 private:
  void learn_telling(const std::vector<std::size_t>& samples);
  /// Whether a Softmax makes an output.
  bool looks_inside() const;
  void add_sums(const std::map<std::string, OutputStats>& outputs, OutputError& error) const;

  const Subject& subject_;
  const OutputStore& outputs_;
  const LabelCheck& labels_;
  const bool unseen_;
  const Requirement* const requirement_;
  const std::vector<JudgedTensor> judged_;
  OutputStore telling_;  // of samples that were asked for, where a Softmax makes an output
  std::set<std::size_t> known_;
};

}  // namespace vernier
