// Seconds per phase, for the record.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "vernier/report/figures.h"

namespace vernier {

class Stopwatch {
 public:
  explicit Stopwatch(std::vector<PhaseTime>& phases) : phases_(phases) {}
  /// Ends the phase that runs and starts the next.
  void phase(const std::string& name) {
    stop();
    name_ = name;
    start_ = std::chrono::steady_clock::now();
  }
  /// Ends the phase that runs; false when none does.
  bool stop() {
    if (name_.empty()) return false;
    phases_.push_back({name_, std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count()});
    name_.clear();
    return true;
  }

 private:
  std::vector<PhaseTime>& phases_;
  std::string name_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace vernier
