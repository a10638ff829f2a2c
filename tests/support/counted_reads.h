// Samples that count how often one is read: a run reads each of its samples once.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <utility>

#include "tiny_networks.h"
#include "vernier/samples.h"

namespace vernier::testing {

class CountedReads final : public SampleSource {
 public:
  explicit CountedReads(Samples samples) : samples_(std::move(samples)) {}
  std::size_t size() const override { return samples_.size(); }
  std::string description() const override { return samples_.description(); }
  bool is_random() const override { return false; }
  Sample at(std::size_t index) const override {
    ++reads_;
    return samples_.at(index);
  }
  std::size_t reads() const { return reads_; }

 private:
  Samples samples_;
  mutable std::atomic<std::size_t> reads_ = 0;
};

}  // namespace vernier::testing
