#include "search/trim.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace vernier {
namespace {

// Share of the headroom that a trimmed block may use up by prediction.
constexpr double kHeadroomUse = 0.9;

/// Up to `limit` items that are expected to be droppable together, least useful first. With no known headroom the
/// count alone decides. Items that once failed alone are left to the certification: each round of trimming ends.
KeptSet droppable_block(const std::vector<SearchItem>& items, const Costs& costs, const Passing& best,
                        const Learned& learned, std::size_t limit) {
  const std::vector<double> expected = expected_damages(items, best, learned);
  const double room = headroom(best);
  std::vector<std::pair<double, std::size_t>> candidates;  // damage per cost saved
  for (const std::size_t i : best.kept) {
    const double saved = costs.saved_by(best.kept, i);
    if (std::isfinite(expected[i]) && std::isnan(learned[i]) && saved > 0)
      candidates.emplace_back(expected[i] / saved, i);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  KeptSet block;
  double used = 0;
  for (const auto& [worth, i] : candidates) {
    if (block.size() == limit) break;
    if (!std::isnan(room) && used + expected[i] > kHeadroomUse * room) continue;
    used += expected[i];
    block.push_back(i);
  }
  std::sort(block.begin(), block.end());
  return block;
}

}  // namespace

Passing trim(const std::vector<SearchItem>& items, const Costs& costs, Passing best, TrialLog& log, Learned& learned) {
  // A known headroom limits the first block better than a count does.
  std::size_t limit = std::isnan(headroom(best)) ? 1 : best.kept.size();
  for (;;) {
    const KeptSet block = droppable_block(items, costs, best, learned, limit);
    if (block.empty()) return best;
    const KeptSet smaller = without(best.kept, block);
    const Trial* trial = log.ask(smaller);
    if (!trial) return best;
    if (passes(*trial)) {
      best = {smaller, *trial};
      limit = 2 * block.size();
    } else {
      if (block.size() == 1) learn(learned, best, block.front(), *trial);
      limit = std::max<std::size_t>(1, block.size() / 2);
    }
  }
}

Passing certify(const std::vector<SearchItem>& items, const Costs& costs, const Passing& best, TrialLog& log,
                Learned& learned) {
  const std::vector<double> expected = expected_damages(items, best, learned);
  KeptSet order = best.kept;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool a_failed = !std::isnan(learned[a]);
    const bool b_failed = !std::isnan(learned[b]);
    return a_failed != b_failed ? b_failed : expected[a] < expected[b];
  });
  std::erase_if(order, [&](std::size_t i) { return costs.saved_by(best.kept, i) <= 0; });
  std::vector<KeptSet> drops;
  for (const std::size_t i : order) drops.push_back(without(best.kept, std::array{i}));
  log.expect(drops);
  for (const std::size_t i : order) {
    const KeptSet smaller = without(best.kept, std::array{i});
    const Trial* trial = log.ask(smaller);
    if (!trial) return best;
    if (passes(*trial)) return {smaller, *trial};
    learn(learned, best, i, *trial);
  }
  return best;
}

Passing regroup(const std::vector<SearchItem>& items, const Costs& costs, const Passing& best, TrialLog& log,
                const Learned& learned) {
  const double cost = costs.of(best.kept);
  const std::vector<double> expected = expected_damages(items, best, learned);
  const auto kept = [&](std::size_t i) { return std::binary_search(best.kept.begin(), best.kept.end(), i); };
  for (const Border& border : costs.borders) {
    KeptSet more = best.kept;
    KeptSet less;
    double damage = 0;
    bool untried = true;  // what fails without one of them fails without all
    for (const std::size_t i : border.items) {
      (kept(i) ? less : more).push_back(i);
      damage += kept(i) ? expected[i] : 0;
      untried = untried && (!kept(i) || std::isnan(learned[i]));
    }
    if (less.empty()) continue;
    std::sort(more.begin(), more.end());
    std::sort(less.begin(), less.end());
    std::vector<KeptSet> cheaper;
    if (more.size() > best.kept.size() && costs.of(more) < cost) cheaper.push_back(more);
    const KeptSet rest = without(best.kept, less);
    if (less.size() > 1 && untried && !(damage > headroom(best)) && costs.of(rest) < cost) cheaper.push_back(rest);
    for (const KeptSet& set : cheaper) {
      const Trial* trial = log.ask(set);
      if (!trial) return best;
      if (passes(*trial)) return {set, *trial};
    }
  }
  return best;
}

}  // namespace vernier
