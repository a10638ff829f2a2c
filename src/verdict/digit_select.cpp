#include "verdict/digit_select.h"

#include <algorithm>
#include <bit>

#include "vernier/error.h"

namespace vernier {
namespace {

constexpr std::size_t kTable = std::size_t{1} << 16U;

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
  return digits == 0 ? Key{0} : static_cast<Key>(key >> (16 * (kDigits - digits)));
}

template <class T>
DigitSelect<T>::DigitSelect() : counts_(2 * kTable, 0) {}

template <class T>
void DigitSelect<T>::count_first(std::span<const T> finite) {
  // Two tables in turn: equal neighbours would wait for each other's increment.
  constexpr int kShift = 16 * (kDigits - 1);
  std::uint32_t* const even = counts_.data();
  std::uint32_t* const odd = even + kTable;
  std::size_t i = 0;
  for (; i + 2 <= finite.size(); i += 2) {
    ++even[key_of(finite[i]) >> kShift];
    ++odd[key_of(finite[i + 1]) >> kShift];
  }
  if (i < finite.size()) ++even[key_of(finite[i]) >> kShift];
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
void DigitSelect<T>::count_next(std::span<const T> block, bool all_finite) {
  using Bits = Key;
  constexpr Bits kExponent = sizeof(T) == 4 ? static_cast<Bits>(0x7F800000U) : static_cast<Bits>(0x7FF0000000000000U);
  const int shift = 16 * (kDigits - 1 - digit_);
  for (const T value : block) {
    const Key key = key_of(value);
    std::size_t table = table_of_first_[key >> (16 * (kDigits - 1))];
    if (table == 0) continue;
    if (!all_finite && (std::bit_cast<Bits>(value) & kExponent) == kExponent) continue;
    --table;
    if constexpr (kDigits > 2) {
      if (digit_ > 1) {
        const Key wanted = prefix(key, digit_);
        while (table < prefixes_.size() && prefixes_[table] < wanted) ++table;
        if (table == prefixes_.size() || prefixes_[table] != wanted) continue;
      }
    }
    ++counts_[table * kTable + ((key >> shift) & (kTable - 1))];
  }
}

template <class T>
void DigitSelect<T>::open_tables() {
  prefixes_.clear();
  for (const Query& query : queries_) {
    prefixes_.push_back(query.by_rank ? query.key : prefix(query.key, digit_));
  }
  std::sort(prefixes_.begin(), prefixes_.end());
  prefixes_.erase(std::unique(prefixes_.begin(), prefixes_.end()), prefixes_.end());
  for (Query& query : queries_) {
    const Key wanted = query.by_rank ? query.key : prefix(query.key, digit_);
    query.table =
        static_cast<std::size_t>(std::lower_bound(prefixes_.begin(), prefixes_.end(), wanted) - prefixes_.begin());
  }
  counts_.assign(prefixes_.size() * kTable, 0);
  table_of_first_.assign(kTable, 0);
  for (std::size_t table = prefixes_.size(); table-- > 0;) {
    table_of_first_[prefixes_[table] >> (16 * (digit_ - 1))] = static_cast<std::uint8_t>(table + 1);
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
        query.key = static_cast<Key>(digit_ == 0 ? Key{0} : query.key << 16U) | static_cast<Key>(digit);
      } else {
        const auto digit = static_cast<std::size_t>((query.key >> (16 * (kDigits - 1 - digit_))) & (kTable - 1));
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
