#include "jobs/verify/near_limit.h"

#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <vector>

#include "analysis/figures.h"
#include "analysis/trials.h"
#include "report/text/figures.h"
#include "vernier/tensor.h"

namespace vernier {

std::optional<std::string> doubt_near_limit(const Subject& subject, const Model& typed, const RunFigures& figures,
                                            const Requirement* requirement) {
  constexpr double kNear = 0.8;  // of the allowance: one dB
  if (requirement == nullptr || !figures.damage || !(*figures.damage >= kNear && *figures.damage <= 1 / kNear))
    return {};
  if (!subject.optimize) return {};
  Subject plain = subject;
  plain.optimize = false;
  std::vector<std::vector<Tensor>> references(subject.samples->size());
  run_outputs(plain, plain.model, all_samples(plain), [&](std::size_t sample, const std::vector<Tensor>& outputs) {
    references[sample] = outputs;
    return true;
  });
  std::map<std::string, OutputStats> stats;
  run_outputs(plain, typed, all_samples(plain), [&](std::size_t sample, const std::vector<Tensor>& outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      stats_of(stats, subject, subject.judged[i]).add_sample(sample, references[sample][i], outputs[i]);
    }
    return true;
  });
  const RunFigures other = figures_of(subject, stats, requirement);
  if (other.passed == figures.passed) return {};
  return fmt::format(
      "near the limit: with kernels that sum in another order the result is {}, and {} is {}: an engine may land on "
      "either side",
      figure_text(other, *requirement), required_text(other, *requirement), *other.passed ? "met" : "missed");
}

}  // namespace vernier
