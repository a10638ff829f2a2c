#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "comparator/functions.h"
#include "vernier/comparison.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// One list against the other; T is std::int64_t for whole numbers.
template <class T>
class Lists {
 public:
  Lists(const Pair& pair, double tolerance) : pair_(pair), tolerance_(tolerance) {
    result_.function = CompareFunction::Indices;
    result_.threshold = tolerance;
  }

  FunctionResult compare() {
    const Shape& shape = pair_.shape();
    const std::int64_t length = shape.empty() ? 1 : shape.back();
    for (std::int64_t first = 0; first < pair_.count(); first += length) compare_list(first, length);
    result_.passed = mismatches_ == 0;
    if (mismatches_ > 1) result_.reason += fmt::format("; {} mismatches in all", mismatches_);
    return result_;
  }

 private:
  void compare_list(std::int64_t first, std::int64_t length) {
    const auto n = static_cast<std::size_t>(length);
    const std::span<const T> got = read_block(pair_.got(), first, n, got_room_);
    const std::span<const T> ref = read_block(pair_.ref(), first, n, ref_room_);
    // Fewer than none of an enormous tolerance: none.
    const auto judged = static_cast<std::size_t>(std::max(0.0, static_cast<double>(length) - tolerance_));
    places_.clear();
    for (std::size_t i = 0; i < judged; ++i) {
      if (got[i] == ref[i]) continue;
      if (places_.empty()) {
        for (std::size_t at = 0; at < n; ++at) places_.emplace(ref[at], at);  // keeps the first
      }
      const auto found = places_.find(got[i]);
      const double apart = found == places_.end()
                               ? std::numeric_limits<double>::infinity()
                               : std::abs(static_cast<double>(found->second) - static_cast<double>(i));
      result_.value = std::max(result_.value, apart);
      if (apart <= tolerance_) continue;
      if (mismatches_++ > 0) continue;
      const std::string where = place_text(first + static_cast<std::int64_t>(i), pair_.shape());
      result_.reason = std::isinf(apart)
                           ? fmt::format("value {} at {} is not in the reference's list", got[i], where)
                           : fmt::format("value {} at {} is {} off in the reference; {} allowed", got[i], where,
                                         plural(static_cast<std::size_t>(apart), "place"), tolerance_);
    }
  }

  const Pair& pair_;
  double tolerance_;
  FunctionResult result_;
  std::size_t mismatches_ = 0;
  std::vector<T> got_room_, ref_room_;
  std::unordered_map<T, std::size_t> places_;
};

}  // namespace

FunctionResult compare_indices(const Pair& pair, double tolerance) {
  return pair.in_integers() ? Lists<std::int64_t>(pair, tolerance).compare() : Lists<double>(pair, tolerance).compare();
}

}  // namespace vernier
