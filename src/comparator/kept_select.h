// Order statistics of numbers that are kept: for series that are short enough. The same questions as digit_select.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace vernier {

template <class T>  // float or double
class KeptSelect {
 public:
  void reserve(std::size_t count) { values_.reserve(count); }
  /// Finite numbers only.
  void add(std::span<const T> values) { values_.insert(values_.end(), values.begin(), values.end()); }

  void ask_rank(std::uint64_t rank) { ranks_.push_back(rank); }
  void ask_below(T value) { below_.emplace_back(value, 0); }

  /// Answers what was asked. Time: about three passes for all ranks, one for each ask_below().
  void select() {
    std::sort(ranks_.begin(), ranks_.end());
    auto unordered = values_.begin();  // what lies before is in its place
    for (const std::uint64_t rank : ranks_) {
      const auto place = values_.begin() + static_cast<std::ptrdiff_t>(rank);
      if (place < unordered) continue;
      std::nth_element(unordered, place, values_.end());
      unordered = place + 1;
    }
    for (auto& [value, count] : below_) {
      std::uint32_t smaller = 0;  // as wide as the numbers, so that the loop can be vectors
      for (const T kept : values_) smaller += kept < value ? 1U : 0U;
      count = smaller;
    }
  }

  T at_rank(std::uint64_t rank) const { return values_[rank]; }
  std::uint64_t below(T value) const {
    return std::find_if(below_.begin(), below_.end(), [&](const auto& asked) { return asked.first == value; })->second;
  }

 private:
  std::vector<T> values_;
  std::vector<std::uint64_t> ranks_;
  std::vector<std::pair<T, std::uint64_t>> below_;
};

}  // namespace vernier
