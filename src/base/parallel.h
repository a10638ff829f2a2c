// Work on many samples side by side, results taken in order, so that sums do not depend on which thread was faster.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace vernier {

/// For whom a thread works: an address that somebody chose, null until then. Threads that parallel_ordered() starts
/// work for whom the one works that called it.
const void*& works_for();

/// Threads of works that run beside each other: each work begins on one of its own, and the others help it when theirs
/// have ended.
class SpareThreads {
 public:
  struct Give {
    void operator()(SpareThreads* from) const { from->give(); }
  };
  /// A thread may work until this is gone.
  using Lent = std::unique_ptr<SpareThreads, Give>;

  /// Before works begin.
  void begin(std::size_t free) { free_ = free; }

  void give() {
    const std::lock_guard lock(mutex_);
    ++free_;
    changed_.notify_one();
  }

  /// Waits for one; null: told to stop instead.
  Lent take(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [&] { return free_ > 0; })) return {};
    --free_;
    return Lent(this);
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::size_t free_ = 0;
};

/// Calls work(i) for i in [0, count) on `threads` threads and take(i, result) in the order of i, one at a time, while
/// other threads work on. `take` returns false to stop early: no further work starts, and results of later items
/// already begun are dropped. At most one result per thread waits to be taken; of items that take a few microseconds,
/// whose hand-over would cost more than they do, those of about a fifth of a millisecond. The first exception of either
/// is rethrown here after all threads ended. With `spare`, all threads but the first work only while it has one for
/// them.
template <class Work, class Take>
void parallel_ordered(std::size_t count, std::size_t threads, const Work& work, const Take& take,
                      SpareThreads* spare = nullptr) {
  if (threads <= 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!take(i, work(i))) return;
    }
    return;
  }
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kTurn{200};
  constexpr std::size_t kMostOfTurn = 64;
  std::mutex mutex;
  std::condition_variable turn;
  std::size_t next_to_start = 0;
  std::size_t next_to_take = 0;
  bool stopped = false;
  std::exception_ptr failure;
  std::stop_source nothing_to_start;
  const auto fail = [&] {
    const std::lock_guard lock(mutex);
    if (!failure) failure = std::current_exception();
    stopped = true;
    turn.notify_all();
  };
  const auto work_on_turns = [&](bool helps) {
    std::size_t most = 1;  // items of one turn
    std::vector<decltype(work(std::size_t{0}))> results;
    for (;;) {
      SpareThreads::Lent lent;
      if (helps && !(lent = spare->take(nothing_to_start.get_token()))) return;
      std::size_t first = 0, end = 0;
      {
        const std::lock_guard lock(mutex);
        if (stopped || next_to_start == count) return;
        first = next_to_start;
        // Near the end no thread takes what another could do meanwhile.
        end = first + std::clamp<std::size_t>((count - first) / threads, 1, most);
        next_to_start = end;
      }
      try {
        const Clock::time_point start = Clock::now();
        results.clear();
        for (std::size_t i = first; i < end; ++i) results.push_back(work(i));
        const Clock::duration spent = Clock::now() - start;
        if (spent > kTurn) most = std::max<std::size_t>(1, most / 2);
        if (spent < kTurn / 2) most = std::min(kMostOfTurn, most * 2);
        {
          std::unique_lock lock(mutex);
          turn.wait(lock, [&] { return stopped || next_to_take == first; });
          if (stopped) return;
        }
        // Nobody else takes until next_to_take moves on: without the lock, so that others may start meanwhile.
        bool more = true;
        for (std::size_t i = first; more && i < end; ++i) more = take(i, std::move(results[i - first]));
        const std::lock_guard lock(mutex);
        next_to_take = end;
        if (!more) stopped = true;
        turn.notify_all();
      } catch (...) {
        fail();
        return;
      }
    }
  };
  const auto worker = [&, whom = works_for()](bool helps) {
    works_for() = whom;
    work_on_turns(helps);
    nothing_to_start.request_stop();
  };
  {
    std::vector<std::jthread> pool;
    for (std::size_t t = 0; t < std::min(threads, count); ++t) pool.emplace_back(worker, spare != nullptr && t > 0);
  }
  if (failure) std::rethrow_exception(failure);
}

/// Cores this process may use (its affinity, not the machine's size).
std::size_t usable_cores();

}  // namespace vernier
