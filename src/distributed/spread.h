// parallel_ordered (base/parallel.h) over the ranks of a job.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "distributed/ranks.h"
#include "distributed/wire.h"
#include "vernier/error.h"

namespace vernier {

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
  using Result = decltype(work(std::size_t{0}));
  constexpr double kRound = 0.1;  // seconds
  std::size_t share = std::max<std::size_t>(1, threads);
  for (std::size_t begin = 0; begin < count;) {
    const std::size_t end = std::min(count, begin + share * ranks.size());
    const std::size_t mine = std::min(end, begin + share * ranks.rank());
    const std::size_t mine_end = std::min(end, mine + share);
    std::vector<std::optional<Result>> own(mine_end - mine);
    std::optional<Error> failure;
    const Clock::time_point start = Clock::now();
    try {
      parallel_ordered(
          own.size(), threads, [&](std::size_t i) { return work(mine + i); },
          [&](std::size_t i, Result result) {
            own[i] = std::move(result);
            return true;
          });
    } catch (const Error& error) {
      failure = error;
    }
    const std::chrono::duration<double> spent = Clock::now() - start;
    Packer packer;
    packer.put(failure ? 0.0 : spent.count());
    packer.put(failure.has_value());
    if (failure) {
      packer.put(failure->kind());
      packer.put(std::string(failure->what()));
      packer.put(failure->hint());
    } else {
      for (const std::optional<Result>& result : own) pack(*result, packer);
    }
    const std::vector<Message> all = ranks.share(packer.take());
    double longest = 0;
    std::vector<Unpacker> parts;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      Unpacker& part = parts.emplace_back(all[rank]);
      longest = std::max(longest, part.get<double>());
      if (!part.get<bool>()) continue;
      const auto kind = part.get<ErrorKind>();
      const std::string what = part.get_text();
      throw Error(kind, what, part.get_text());
    }
    for (std::size_t i = begin; i < end; ++i) {
      const bool is_mine = i >= mine && i < mine_end;
      if (!take(i, is_mine ? std::move(*own[i - mine]) : unpack(parts[(i - begin) / share]))) return;
    }
    begin = end;
    // Alike on every rank, being made of what all of them know.
    if (longest < kRound / 2) share *= 2;
    if (longest > 2 * kRound) share = std::max(std::max<std::size_t>(1, threads), share / 2);
  }
}

}  // namespace vernier
