// How far a phase is, told to whoever waits for it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

namespace vernier {

/// Called now and then; may throw Error{Interrupted} to end the work. Empty: nobody listens.
using Progress = std::function<void(const std::string& phase, std::size_t done, std::size_t total)>;

/// Tells of weights that are gone through one after the other, in megabytes, where there are so many that it takes a
/// while.
class WeightsProgress {
 public:
  WeightsProgress(const Progress& progress, std::string phase, std::size_t total_bytes)
      : progress_(progress), phase_(std::move(phase)), total_(total_bytes) {}

  void add(std::size_t bytes) {
    done_ += bytes;
    if (progress_ && total_ > kQuick) progress_(phase_, std::min(done_, total_) / kMegabyte, total_ / kMegabyte);
  }

 private:
  static constexpr std::size_t kMegabyte = 1'000'000;
  static constexpr std::size_t kQuick = 100 * kMegabyte;
  Progress progress_;
  std::string phase_;
  std::size_t total_;
  std::size_t done_ = 0;
};

}  // namespace vernier
