// parallel_ordered (base/parallel.h) over the ranks of a job.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "distributed/ranks.h"
#include "distributed/wire.h"
#include "vernier/error.h"

namespace vernier {

/// What one rank worked out of the items that fell to it.
template <class Result>
struct RankResults {
  std::vector<Result> results;
  std::optional<Error> failure;  // then there are none
};

template <class Work>
auto work_on(const std::vector<std::size_t>& items, std::size_t threads, const Work& work) {
  RankResults<decltype(work(std::size_t{0}))> found;
  try {
    parallel_ordered(
        items.size(), threads, [&](std::size_t i) { return work(items[i]); },
        [&](std::size_t, auto result) {
          found.results.push_back(std::move(result));
          return true;
        });
  } catch (const Error& error) {
    found.failure = error;
  }
  return found;
}

/// What all ranks worked out, one part for each.
struct SharedResults {
  std::vector<Message> messages;  // what parts read
  std::vector<Unpacker> parts;
  double longest = 0;  // seconds that any of them took
};

/// `took`: seconds of this rank. An Error of one rank is thrown on all.
template <class Result, class Pack>
SharedResults share_results(Ranks& ranks, const RankResults<Result>& mine, double took, const Pack& pack) {
  Packer packer;
  packer.put(took);
  packer.put(mine.failure.has_value());
  if (mine.failure) {
    packer.put(mine.failure->code());
    packer.put(std::string(mine.failure->what()));
    packer.put(mine.failure->hint());
  } else {
    for (const Result& result : mine.results) pack(result, packer);
  }
  SharedResults shared;
  shared.messages = ranks.share(packer.take());
  for (const Message& message : shared.messages) {
    Unpacker& part = shared.parts.emplace_back(message);
    shared.longest = std::max(shared.longest, part.get<double>());
    if (!part.get<bool>()) continue;
    const auto code = part.get<ErrorCode>();
    const std::string what = part.get_text();
    throw Error(code, what, part.get_text());
  }
  return shared;
}

/// As parallel_ordered(count, threads, work, take), each rank working on some of the items: `take` is called on every
/// rank, for every item, in order, so that ranks stay alike. `pack(result, Packer&)` and `unpack(Unpacker&) -> result`
/// carry results of other ranks. `take` must decide alike everywhere. An Error of `work` on one rank is thrown on all.
///
/// Items are dealt in rounds, one run of neighbours to each rank. A round is as long as makes talking cheap (about a
/// tenth of a second), no longer: when `take` stops, what the round computed beyond is lost.
template <class Work, class Take, class Pack, class Unpack>
void spread_ordered(Ranks& ranks, std::size_t count, std::size_t threads, const Work& work, const Take& take,
                    const Pack& pack, const Unpack& unpack) {
  if (ranks.alone()) return parallel_ordered(count, threads, work, take);
  using Clock = std::chrono::steady_clock;
  constexpr double kRound = 0.1;  // seconds
  std::size_t most = std::max<std::size_t>(1, threads);
  for (std::size_t begin = 0; begin < count;) {
    const std::size_t round = std::min(count - begin, most * ranks.size());
    const auto first_of = [&](std::size_t rank) { return begin + round * rank / ranks.size(); };
    std::vector<std::size_t> mine(first_of(ranks.rank() + 1) - first_of(ranks.rank()));
    std::iota(mine.begin(), mine.end(), first_of(ranks.rank()));
    const Clock::time_point start = Clock::now();
    auto own = work_on(mine, threads, work);
    const std::chrono::duration<double> spent = Clock::now() - start;
    SharedResults shared = share_results(ranks, own, spent.count(), pack);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      for (std::size_t i = first_of(rank); i < first_of(rank + 1); ++i) {
        const bool is_mine = rank == ranks.rank();
        if (!take(i, is_mine ? std::move(own.results[i - mine.front()]) : unpack(shared.parts[rank]))) return;
      }
    }
    begin += round;
    // Alike on every rank, being made of what all of them know.
    if (shared.longest < kRound / 2) most *= 2;
    if (shared.longest > 2 * kRound) most = std::max(std::max<std::size_t>(1, threads), most / 2);
  }
}

/// Which of `workers` does each item: the dearest first, each to the one that has least to do so far.
inline std::vector<std::size_t> dealt_by_cost(const std::vector<double>& costs, std::size_t workers) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return costs[i]; });
  std::vector<double> load(workers, 0);
  std::vector<std::size_t> dealt(costs.size());
  for (const std::size_t item : order) {
    const auto least = std::ranges::min_element(load);
    dealt[item] = static_cast<std::size_t>(least - load.begin());
    *least += costs[item];
  }
  return dealt;
}

/// As spread_ordered of as many items as there are `costs`, all dealt at once by these: for few items that are known to
/// take unlike long, of which none is in vain. `take` begins when all are worked out.
template <class Work, class Take, class Pack, class Unpack>
void spread_by_cost(Ranks& ranks, const std::vector<double>& costs, std::size_t threads, const Work& work,
                    const Take& take, const Pack& pack, const Unpack& unpack) {
  if (ranks.alone()) return parallel_ordered(costs.size(), threads, work, take);
  const std::vector<std::size_t> rank_of = dealt_by_cost(costs, ranks.size());
  std::vector<std::size_t> mine;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (rank_of[i] == ranks.rank()) mine.push_back(i);
  }
  auto own = work_on(mine, threads, work);
  SharedResults shared = share_results(ranks, own, 0, pack);
  std::size_t next = 0;  // of mine
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const bool is_mine = rank_of[i] == ranks.rank();
    if (!take(i, is_mine ? std::move(own.results[next++]) : unpack(shared.parts[rank_of[i]]))) return;
  }
}

}  // namespace vernier
