// Ranks that are threads of one process, for tests.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "distributed/ranks.h"

namespace vernier {

/// Where threads meet: the n-th call of each gives all what each brought.
class Meeting {
 public:
  explicit Meeting(std::size_t size) : brought_(size) {}
  std::vector<Message> all_gather(std::size_t rank, const Message& mine) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return !leaving_; });
    brought_[rank] = mine;
    if (++count_ == brought_.size()) {
      leaving_ = true;
      arrived_.notify_all();
    }
    arrived_.wait(lock, [&] { return leaving_; });
    std::vector<Message> all = brought_;
    if (--count_ == 0) {
      leaving_ = false;
      arrived_.notify_all();
    }
    return all;
  }
  std::size_t size() const { return brought_.size(); }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Message> brought_;
  std::size_t count_ = 0;
  bool leaving_ = false;
};

class ThreadTransport : public Transport {
 public:
  ThreadTransport(Meeting& meeting, std::size_t rank) : meeting_(meeting), rank_(rank) {}
  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return meeting_.size(); }
  std::vector<Message> all_gather(Message mine) override { return meeting_.all_gather(rank_, mine); }
  void finish() override { meeting_.all_gather(rank_, {}); }

 private:
  Meeting& meeting_;
  std::size_t rank_;
};

/// Runs `body` on `size` ranks side by side.
inline void on_ranks(std::size_t size, const std::function<void(Ranks&)>& body) {
  Meeting meeting(size);
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([&meeting, &body, rank] {
      Ranks ranks(std::make_unique<ThreadTransport>(meeting, rank));
      body(ranks);
      ranks.finish();
    });
  }
}

}  // namespace vernier
