// What decides whether a trial is good when it is no requirement on figures (vernier/requirement.h): something that
// wants to see the outputs themselves, sample by sample.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "search/oracle.h"
#include "vernier/search_options.h"
#include "vernier/tensor.h"

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

class Objective {
 public:
  virtual ~Objective() = default;
  /// What decides, in words; two objectives of the same words judge alike.
  virtual std::string text() const = 0;
  /// For one trial; outputs come in the order of `outputs`.
  virtual std::unique_ptr<Tally> begin(const std::vector<std::string>& outputs) const = 0;
};

/// Every iteration compared as `vernier run` does. Damage is the square of the share of the tolerance that the worst
/// output uses: 1 at the limit.
std::unique_ptr<Objective> comparison_objective(const SearchOptions& options);

}  // namespace vernier
