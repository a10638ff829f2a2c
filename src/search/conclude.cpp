#include "search/conclude.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace vernier {
namespace {

/// Asks again for a set whose answer is in doubt. True when the verdict flipped.
bool flips(const KeptSet& kept, TrialLog& log, std::vector<Note>& notes) {
  const bool before = passes(*log.recorded(kept));
  const std::optional<Trial> again = log.repeat(kept);
  if (!again) {
    notes.push_back({"contradiction-not-repeated", {}});
    return false;
  }
  if (passes(*again) == before) return false;
  notes.push_back({"oracle-unstable", {{"kept", kept.size()}, {"passed_first", before}}});
  return true;
}

}  // namespace

void conclude_trials(TrialLog& log, MinimalResult& result) {
  result.non_monotone = log.contradiction().has_value();
  if (result.non_monotone) {
    const KeptSet& failing = *log.contradiction();
    result.notes.push_back({"not-monotone", {{"kept", failing.size()}}});
    if (flips(failing, log, result.notes) ||
        (result.kept != failing && log.recorded(result.kept) && flips(result.kept, log, result.notes))) {
      result.make_unstable();
    }
  }
  for (const auto& [verdict, name] : std::array<std::pair<Verdict, const char*>, 3>{
           {{Verdict::Invalid, "invalid"}, {Verdict::TimedOut, "timed out"}, {Verdict::Unstable, "unstable"}}}) {
    if (const std::size_t n = log.count(verdict); n > 0) {
      result.notes.push_back({"tests-counted-as-failed", {{"count", n}, {"of", log.calls()}, {"as", name}}});
    }
  }
  result.trials = log.calls();
}

}  // namespace vernier
