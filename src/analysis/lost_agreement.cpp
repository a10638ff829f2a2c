#include "analysis/lost_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/class_scores.h"
#include "base/text.h"

namespace vernier {

std::vector<std::int64_t> rows_moved(const Subject& subject, const std::map<std::string, OutputStats>& stats) {
  std::vector<std::int64_t> moved;
  if (!subject.carries.empty()) return moved;
  for (const std::string& name : class_scores(subject, stats, nullptr)) {
    const std::vector<SampleSums>& each = stats.at(name).each;
    for (const SampleSums& sums : each) {
      moved.resize(std::max(moved.size(), sums.sample + 1));
      moved[sums.sample] += sums.rows - sums.rows_agreed;
    }
  }
  return moved;
}

AgreementChange agreement_change(const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after) {
  AgreementChange change;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (after[i] > before[i]) ++change.worse;
    if (after[i] < before[i]) ++change.better;
  }
  const auto n = static_cast<double>(change.worse + change.better);
  double sum = 0;
  for (auto k = static_cast<double>(change.worse); k <= n; ++k) {
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) - n * std::log(2.0));
  }
  change.chance = std::min(sum, 1.0);
  return change;
}

std::string change_text(const AgreementChange& change, const std::string& what) {
  return fmt::format("{} is lost in {} and won in {}, by chance in {:.2g} % of such changes", what,
                     plural(change.worse, "sample"), change.better, 100 * change.chance);
}

}  // namespace vernier
