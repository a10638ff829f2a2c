#include "search/guess.h"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "search/prefix.h"
#include "search/ranking_quality.h"

namespace vernier {
namespace {

// Guided tests that may miss before the bracket is simply halved: interpolation crawls when one item jumps.
constexpr std::size_t kGuidedMisses = 3;
// Ranking noise allowed before the notes call the ranking poor (measured against predicted damage, either way).
constexpr double kPoorRanking = 3.0;
constexpr std::size_t kTestsBeforeJudgingRanking = 3;

bool poor(double ratio) { return ratio > 0 && (ratio > kPoorRanking || ratio < 1 / kPoorRanking); }

/// What can be done about a poor ranking, each once.
enum class Mend { MoreSamples, Trials, None };

Mend next(Mend mend) { return mend == Mend::MoreSamples ? Mend::Trials : Mend::None; }

/// `items` with better predictions. nullopt: there are none of this kind.
std::optional<std::vector<SearchItem>> mended(Mend mend, std::vector<SearchItem> items, const TrialLog& log,
                                              const MinimalOptions& options, double ratio, MinimalResult& result) {
  if (mend == Mend::None || (mend == Mend::MoreSamples && !options.rerank)) return std::nullopt;
  const std::vector<double> predicted =
      mend == Mend::MoreSamples ? options.rerank() : predictions_from_trials(items, log);
  if (predicted.size() != items.size()) return std::nullopt;
  for (std::size_t i = 0; i < items.size(); ++i) items[i].predicted_damage = predicted[i];
  result.notes.push_back({"ranking-mended", {{"ratio", ratio}, {"more_samples", mend == Mend::MoreSamples}}});
  result.ranking_mended = true;
  return items;
}

Found guess_with(Mend mend, const std::vector<SearchItem>& items, TrialLog& log, const MinimalOptions& options,
                 MinimalResult& result) {
  const Ranking ranking = rank(items);
  bool judged = false;
  Bracket bracket{{0, result.all_low}, {ranking.order.size(), result.all_high}};
  std::size_t tests = 0;
  std::size_t misses = 0;
  while (!is_closed(bracket, ranking)) {
    const std::size_t width = bracket.passing.length - bracket.failing.length;
    const std::size_t length = misses >= kGuidedMisses ? halve(bracket, ranking) : aim(bracket, ranking);
    const double predicted = predicted_damage(bracket, ranking, length);
    const Trial* trial = log.ask(prefix(ranking, length));
    if (!trial) break;
    ++tests;
    if (has_exact_damage(*trial) && predicted > 0) result.prediction_ratio = trial->damage / predicted;
    (passes(*trial) ? bracket.passing : bracket.failing) = {length, *trial};
    const bool halved = 2 * (bracket.passing.length - bracket.failing.length) <= width;
    misses = halved ? 0 : misses + 1;
    if (judged || tests != kTestsBeforeJudgingRanking || !poor(result.prediction_ratio)) continue;
    judged = true;
    const double ratio = result.prediction_ratio;
    for (; mend != Mend::None; mend = next(mend)) {
      const auto better = mended(mend, items, log, options, ratio, result);
      if (!better) continue;
      // The shortest passing prefix so far stays as good as it is, whatever the new order finds.
      const Passing found{prefix(ranking, bracket.passing.length), bracket.passing.trial};
      Found again = guess_with(next(mend), *better, log, options, result);
      if (again.passing.kept.size() > found.kept.size()) again.passing = found;
      return again;
    }
    result.notes.push_back({"ranking-poor", {{"tests", tests}, {"ratio", ratio}}});
  }
  return {{prefix(ranking, bracket.passing.length), bracket.passing.trial}, items};
}

}  // namespace

Found guess(const std::vector<SearchItem>& items, TrialLog& log, const MinimalOptions& options, MinimalResult& result) {
  return guess_with(Mend::MoreSamples, items, log, options, result);
}

}  // namespace vernier
