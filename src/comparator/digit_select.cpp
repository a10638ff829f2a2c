#include "comparator/digit_select.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "vernier/error.h"

namespace vernier {
namespace {

// Tables of a digit stay in the first-level cache, and cost little where numbers are few.
constexpr int kBits = 11;
constexpr std::size_t kTable = std::size_t{1} << kBits;

}  // namespace

// Flipped so that keys order as the numbers do; -0 is 0.
template <class T>
typename DigitSelect<T>::Key DigitSelect<T>::key_of(T value) {
  constexpr int kSign = static_cast<int>(sizeof(T)) * 8 - 1;
  const Key bits = std::bit_cast<Key>(value + T{0});
  const Key negative = static_cast<Key>(Key{0} - (bits >> kSign));
  return bits ^ (negative | (Key{1} << kSign));
}

template <class T>
T DigitSelect<T>::value_of(Key key) {
  constexpr int kSign = static_cast<int>(sizeof(T)) * 8 - 1;
  const Key negative = static_cast<Key>((key >> kSign) - Key{1});
  return std::bit_cast<T>(static_cast<Key>(key ^ (negative | (Key{1} << kSign))));
}

template <class T>
typename DigitSelect<T>::Key DigitSelect<T>::prefix(Key key, int digits) {
  return digits == 0 ? Key{0} : static_cast<Key>(key >> (kBits * (kDigits - digits)));
}

template <class T>
std::size_t DigitSelect<T>::digit_at(Key key, int digit) {
  return static_cast<std::size_t>(key >> (kBits * (kDigits - 1 - digit))) & (kTable - 1);
}

template <class T>
DigitSelect<T>::DigitSelect() : counts_(2 * kTable, 0) {}

template <class T>
void DigitSelect<T>::count_first(std::span<const T> finite) {
  // Two tables in turn: equal neighbours would wait for each other's increment.
  std::uint32_t* const even = counts_.data();
  std::uint32_t* const odd = even + kTable;
  std::size_t i = 0;
  for (; i + 2 <= finite.size(); i += 2) {
    ++even[digit_at(key_of(finite[i]), 0)];
    ++odd[digit_at(key_of(finite[i + 1]), 0)];
  }
  if (i < finite.size()) ++even[digit_at(key_of(finite[i]), 0)];
}

template <class T>
void DigitSelect<T>::ask_rank(std::uint64_t rank) {
  asked_ranks_.emplace_back(rank, queries_.size());
  queries_.push_back({true, rank, 0, 0});
}

template <class T>
void DigitSelect<T>::ask_below(T value) {
  asked_keys_.emplace_back(key_of(value), queries_.size());
  queries_.push_back({false, 0, key_of(value), 0});
}

template <class T>
bool DigitSelect<T>::next_pass() {
  if (digit_ == 0) {
    for (std::size_t i = 0; i < kTable; ++i) counts_[i] += counts_[kTable + i];
    counts_.resize(kTable);
  }
  close_tables();
  if (++digit_ < kDigits && !queries_.empty()) {
    open_tables();
    return true;
  }
  counts_ = {};
  return false;
}

template <class T>
template <int Digit>
void DigitSelect<T>::count_digit(std::span<const T> block, bool all_finite) {
  using Bits = Key;
  constexpr Bits kExponent = sizeof(T) == 4 ? static_cast<Bits>(0x7F800000U) : static_cast<Bits>(0x7FF0000000000000U);
  std::array<const std::uint8_t*, Digit> next{};
  for (std::size_t i = 0; i < next.size(); ++i) next[i] = next_tables_[i].data();
  std::uint32_t* const counts = counts_.data();
  for (const T value : block) {
    if (!all_finite && (std::bit_cast<Bits>(value) & kExponent) == kExponent) continue;
    const Key key = key_of(value);
    // No branches: which numbers were asked for cannot be foreseen. The others end in table 0, which nobody reads.
    std::size_t table = next[0][digit_at(key, 0)];
    for (int digit = 1; digit < Digit; ++digit) {
      table = next[static_cast<std::size_t>(digit)][table * kTable + digit_at(key, digit)];
    }
    ++counts[table * kTable + digit_at(key, Digit)];
  }
}

template <class T>
void DigitSelect<T>::count_next(std::span<const T> block, bool all_finite) {
  if (digit_ == 1) return count_digit<1>(block, all_finite);
  if (digit_ == 2) return count_digit<2>(block, all_finite);
  if constexpr (kDigits > 3) {
    if (digit_ == 3) return count_digit<3>(block, all_finite);
    if (digit_ == 4) return count_digit<4>(block, all_finite);
    count_digit<5>(block, all_finite);
  }
}

template <class T>
void DigitSelect<T>::open_tables() {
  const std::vector<Key> parents = std::exchange(prefixes_, {});
  for (const Query& query : queries_) {
    prefixes_.push_back(query.by_rank ? query.key : prefix(query.key, digit_));
  }
  std::sort(prefixes_.begin(), prefixes_.end());
  prefixes_.erase(std::unique(prefixes_.begin(), prefixes_.end()), prefixes_.end());
  const auto table_of = [](const std::vector<Key>& tables, Key wanted) {
    return static_cast<std::size_t>(std::lower_bound(tables.begin(), tables.end(), wanted) - tables.begin());
  };
  for (Query& query : queries_) {
    query.table = table_of(prefixes_, query.by_rank ? query.key : prefix(query.key, digit_)) + 1;
  }
  counts_.assign((prefixes_.size() + 1) * kTable, 0);
  std::vector<std::uint8_t>& next = next_tables_.emplace_back((parents.size() + 1) * kTable, 0);
  for (std::size_t table = 0; table < prefixes_.size(); ++table) {
    const std::size_t parent = parents.empty() ? 0 : table_of(parents, static_cast<Key>(prefixes_[table] >> kBits)) + 1;
    next[parent * kTable + static_cast<std::size_t>(prefixes_[table] & (kTable - 1))] =
        static_cast<std::uint8_t>(table + 1);
  }
}

template <class T>
void DigitSelect<T>::close_tables() {
  std::vector<std::uint64_t> up_to(kTable);
  const std::size_t tables = counts_.size() / kTable;
  for (std::size_t table = 0; table < tables; ++table) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kTable; ++i) up_to[i] = sum += counts_[table * kTable + i];
    for (Query& query : queries_) {
      if (query.table != table) continue;
      if (query.by_rank) {
        const auto digit =
            static_cast<std::size_t>(std::upper_bound(up_to.begin(), up_to.end(), query.rank) - up_to.begin());
        if (digit > 0) query.rank -= up_to[digit - 1];
        query.key = static_cast<Key>(digit_ == 0 ? Key{0} : query.key << kBits) | static_cast<Key>(digit);
      } else {
        const std::size_t digit = digit_at(query.key, digit_);
        if (digit > 0) query.rank += up_to[digit - 1];
      }
    }
  }
}

template <class T>
T DigitSelect<T>::at_rank(std::uint64_t rank) const {
  for (const auto& [asked, query] : asked_ranks_) {
    if (asked == rank) return value_of(queries_[query].key);
  }
  throw Error(ErrorKind::Internal, "a rank that was not asked for");
}

template <class T>
std::uint64_t DigitSelect<T>::below(T value) const {
  for (const auto& [asked, query] : asked_keys_) {
    if (asked == key_of(value)) return queries_[query].rank;
  }
  throw Error(ErrorKind::Internal, "a number that was not asked for");
}

template class DigitSelect<float>;
template class DigitSelect<double>;

}  // namespace vernier
