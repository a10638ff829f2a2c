// Samples in two halves, so that each can judge what the other half taught.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "vernier/samples.h"

namespace vernier {

/// Fewer samples than this stay together: each half would teach too little, and tell less.
inline constexpr std::size_t kFewestToHalve = 10;

/// Indices of samples, in their order.
using Halves = std::array<std::vector<std::size_t>, 2>;

/// Each sample in one of two halves, drawn from a fixed seed; of an odd count the second has one more.
Halves halves_by_lot(std::size_t samples);

/// Some of a source's samples; `index` names them. `all` must outlive it.
class ChosenSamples final : public SampleSource {
 public:
  ChosenSamples(const SampleSource& all, std::vector<std::size_t> index);
  std::size_t size() const override { return index_.size(); }
  Sample at(std::size_t index) const override { return all_.at(index_.at(index)); }
  std::string description() const override { return all_.description(); }
  bool is_random() const override { return all_.is_random(); }

 private:
  const SampleSource& all_;
  std::vector<std::size_t> index_;
};

}  // namespace vernier
