// Answers that a search is about to ask for, worked out side by side. A trial ends with the sample that decides it: the
// threads and ranks that share its samples have run others in vain by then, and where it makes a session of its own
// they wait for that. With several sets at hand each thread works on its own until that is answered, and helps with
// others then; and so does each rank.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "distributed/spread.h"
#include "search/oracle.h"

namespace vernier {

template <class Answer>
class SetsAhead {
 public:
  struct How {
    /// One set by all threads and ranks together.
    std::function<Answer(const KeptSet&)> together;
    /// The same answer on one thread of one rank, and on those that `spare` has; called on several. Empty: always
    /// together.
    std::function<Answer(const KeptSet&)> alone;
    SpareThreads* spare = nullptr;
    /// An answer that was worked out alone, and whatever else other ranks are to know of its set.
    std::function<void(const KeptSet&, const Answer&, Packer&)> pack;
    std::function<Answer(const KeptSet&, Unpacker&)> unpack;
    /// Told of each answer that was asked for: what is counted must not depend on how many work side by side.
    std::function<void(const Answer&)> asked;
  };

  /// `ranks` must outlive this. `threads` of each rank; all ranks must be asked alike.
  SetsAhead(Ranks& ranks, std::size_t threads, How how)
      : ranks_(ranks), threads_(std::max<std::size_t>(1, threads)), how_(std::move(how)) {}

  /// The sets that will probably be asked next, in this order. What was expected before is forgotten.
  void expect(std::vector<KeptSet> sets) { expected_ = std::move(sets); }
  /// Answered elsewhere: not worked out ahead.
  void skip(const KeptSet& set) { known_.insert(set); }

  /// Each time it is asked a set is worked out anew, unless that was done ahead and not asked for yet.
  Answer ask(const KeptSet& set) {
    const Answer answer = answer_to(set);
    how_.asked(answer);
    return answer;
  }

 private:
  Answer answer_to(const KeptSet& set) {
    if (const auto ready = ready_.extract(set); !ready.empty()) return ready.mapped();
    const std::vector<KeptSet> sets = with_next(set);
    const std::size_t workers = threads_ * ranks_.size();
    // Fewer sets than half the workers: sharing the samples of each keeps more of them busy.
    if (!how_.alone || sets.size() < 2 || 2 * sets.size() < workers) {
      known_.insert(set);
      return how_.together(set);
    }
    if (how_.spare != nullptr) how_.spare->begin(ranks_.alone() ? threads_ - sets.size() : 0);
    // There are no more sets than threads: one that has answered its own is free.
    const auto at = [&](std::size_t i) {
      const SpareThreads::Lent done(how_.spare);
      return std::pair(i, how_.alone(sets[i]));
    };
    spread_ordered(
        ranks_, sets.size(), threads_, at,
        [&](std::size_t i, std::pair<std::size_t, Answer> answer) {
          ready_[sets[i]] = std::move(answer.second);
          return true;
        },
        [&](const std::pair<std::size_t, Answer>& answer, Packer& packer) {
          packer.put(answer.first);
          how_.pack(sets[answer.first], answer.second, packer);
        },
        [&](Unpacker& unpacker) {
          const auto i = unpacker.get<std::size_t>();
          return std::pair(i, how_.unpack(sets.at(i), unpacker));
        });
    known_.insert(sets.begin(), sets.end());
    return ready_.extract(set).mapped();
  }

  /// `set`, and as many of those expected behind it as there are workers for.
  std::vector<KeptSet> with_next(const KeptSet& set) const {
    std::vector<KeptSet> sets{set};
    const auto at = std::find(expected_.begin(), expected_.end(), set);
    for (auto next = at == expected_.end() ? at : at + 1; next != expected_.end(); ++next) {
      if (sets.size() == threads_ * ranks_.size()) break;
      if (!known_.contains(*next)) sets.push_back(*next);
    }
    return sets;
  }

  Ranks& ranks_;
  std::size_t threads_;
  How how_;
  std::vector<KeptSet> expected_;
  std::set<KeptSet> known_;          // need not be worked out ahead (again)
  std::map<KeptSet, Answer> ready_;  // worked out and not asked for yet
};

}  // namespace vernier
