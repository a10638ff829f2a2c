#include "search/contiguous.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "search/conclude.h"
#include "search/trials.h"

namespace vernier {
namespace {

/// Both ends, then whatever `search` does between them; `search` returns the smallest count that passed.
class Ends {
 public:
  Ends(const std::vector<std::size_t>& order, const Oracle& oracle, const MinimalOptions& options)
      : order_(order), log_(oracle, options) {}

  const Trial* ask(std::size_t count) { return log_.ask(first(count)); }

  MinimalResult run(const std::function<std::size_t()>& search) {
    const Trial* all_high = ask(order_.size());
    if (all_high) result_.all_high = *all_high;
    if (!all_high) return finish(SearchEnd::Stopped, order_.size());
    // Asked even where everything high fails: the high format may be the worse one, and the figure says how far apart
    // the two are.
    const Trial* all_low = ask(0);
    if (all_low) result_.all_low = *all_low;
    if (all_low && passes(*all_low)) return finish(SearchEnd::NothingNeeded, 0);
    if (!passes(*all_high)) return finish(SearchEnd::Impossible, order_.size());
    const std::size_t found = all_low ? search() : order_.size();
    return finish(log_.stopped() ? SearchEnd::Stopped : SearchEnd::Found, found);
  }

 private:
  KeptSet first(std::size_t count) const {
    KeptSet kept(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(count));
    std::sort(kept.begin(), kept.end());
    return kept;
  }

  MinimalResult finish(SearchEnd end, std::size_t count) {
    result_.end = end;
    result_.kept = first(count);
    if (const Trial* trial = log_.recorded(result_.kept)) result_.final_trial = *trial;
    conclude_trials(log_, result_);
    return result_;
  }

  const std::vector<std::size_t>& order_;
  TrialLog log_;
  MinimalResult result_;
};

}  // namespace

MinimalResult search_bisect(const std::vector<std::size_t>& order, const Oracle& oracle,
                            const MinimalOptions& options) {
  Ends ends(order, oracle, options);
  return ends.run([&] {
    std::size_t good = order.size();
    std::size_t bad = 0;
    bool passed = true;  // everything kept did
    while (good - bad > 1) {
      // Halfway, rounded away from what was asked last, as the peer does.
      const std::size_t count = bad + (good - bad + (passed ? 0 : 1)) / 2;
      const Trial* trial = ends.ask(count);
      if (!trial) break;
      passed = passes(*trial);
      (passed ? good : bad) = count;
    }
    return good;
  });
}

MinimalResult search_linear(const std::vector<std::size_t>& order, std::size_t step, const Oracle& oracle,
                            const MinimalOptions& options) {
  Ends ends(order, oracle, options);
  return ends.run([&] {
    for (std::size_t count = step; count < order.size(); count += step) {
      const Trial* trial = ends.ask(count);
      if (!trial || passes(*trial)) return trial ? count : order.size();
    }
    return order.size();
  });
}

}  // namespace vernier
