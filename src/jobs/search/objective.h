// What decides whether a trial is good when it is no requirement on figures (vernier/requirement.h): something that
// wants to see the outputs themselves, sample by sample.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/judged_views.h"
#include "io/labels.h"
#include "search/oracle.h"
#include "vernier/samples.h"
#include "vernier/search_options.h"
#include "vernier/tensor.h"
#include "vernier/verdict.h"

namespace vernier {

/// One trial's outputs as they come.
class Tally {
 public:
  virtual ~Tally() = default;
  /// False: the verdict is certain, whatever else comes.
  virtual bool add(std::size_t sample, const std::vector<Tensor>& ref, const std::vector<Tensor>& got) = 0;
  /// `why` says what the trial would have passed with.
  virtual Trial trial() const = 0;
};

/// What decides in a search, for its report and its journal.
struct Deciding {
  DecidedBy by = DecidedBy::Requirement;
  bool golden = false;  // against outputs of a file
  std::string words;
  std::string key;  // as Objective::key()
};

class Objective {
 public:
  virtual ~Objective() = default;
  virtual DecidedBy decided_by() const = 0;
  /// What decides, in words.
  virtual std::string text() const = 0;
  /// What decides, for journals: two objectives of the same key and fingerprint judge alike. Files of users hold keys,
  /// so that they stay as they are when words and options change.
  virtual std::string key() const = 0;
  /// Hash of files that decide beside what key() says; empty: none does.
  virtual std::string fingerprint() const { return {}; }
  /// The reference's own outputs pass, whatever they are: a comparison with them. Labels or a script may refuse them.
  virtual bool passes_reference() const { return false; }
  /// For one trial; outputs come in the order of `outputs`.
  virtual std::unique_ptr<Tally> begin(const std::vector<std::string>& outputs) const = 0;
};

/// Every iteration compared as `vernier run` does. Damage is the square of the share of the tolerance that the worst
/// output uses: 1 at the limit.
std::unique_ptr<Objective> comparison_objective(const SearchOptions& options);

/// Whether the label of a sample is among the largest scores of its one judged output, read as flat.
using LabelCheck = std::function<bool(std::size_t sample, const std::vector<Tensor>& got)>;

/// `samples`: how many there are. Errors: as require_labels_for(); when called, Input for a label that is no class,
/// Usage for several outputs.
LabelCheck label_check(const LabelRequirement& wanted, const SampleCount& samples);

/// The share of samples whose label is among the largest scores of the one judged output, read as flat. Damage is the
/// share of the errors allowed. Samples as for label_check(). Errors: as require_labels_for(); Input when a label is no
/// class.
/// `distinct`: how many samples differ, which is what an interval of new ones rests on; 0: all of them.
std::unique_ptr<Objective> label_objective(const LabelRequirement& wanted, const SampleCount& samples,
                                           std::size_t distinct = 0);

/// One call of the script a trial, in one process of the user's Python, with all outputs and all references. Has a
/// number but no damage: a search goes by its verdicts alone. Memory: the outputs of all samples. Errors: Input for
/// what the script does wrong, also while it is loaded.
std::unique_ptr<Objective> metric_objective(const MetricScript& wanted, const SourceOptions& how);

/// The same by a function of the caller's.
std::unique_ptr<Objective> metric_objective(const MetricFunction& wanted);

/// `objective` with the outputs of `views` as the file gives them (judged_views.h): labels, not scores.
std::unique_ptr<Objective> of_given_outputs(std::unique_ptr<Objective> objective, std::vector<JudgedView> views);
/// `objective` without the parts of outputs among `views`: it sees whole outputs.
std::unique_ptr<Objective> of_whole_outputs(std::unique_ptr<Objective> objective, std::vector<JudgedView> views);

}  // namespace vernier
