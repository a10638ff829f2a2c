// Radix selection: order statistics of numbers that are never stored, by counting the digits of their bits, 11 at a
// time. Each pass over the numbers settles one digit of what was asked for; memory does not depend on how many there
// are.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace vernier {

template <class T>  // float or double
class DigitSelect {
 public:
  DigitSelect();

  /// First pass: finite numbers, in any portions.
  void count_first(std::span<const T> finite);

  // Between the first pass and the second.
  void ask_rank(std::uint64_t rank);  // from 0, smaller than their number
  void ask_below(T value);            // how many are smaller

  /// Ends a pass. True: another one is needed, through count_next().
  bool next_pass();

  /// The same numbers again; others that are not finite may stand between them unless `all_finite`.
  void count_next(std::span<const T> block, bool all_finite);

  // After the last pass. Errors: Internal for what was not asked.
  T at_rank(std::uint64_t rank) const;
  std::uint64_t below(T value) const;

 private:
  using Key = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr int kDigits = sizeof(T) == 4 ? 3 : 6;  // the first is the highest

  // Either a rank is known and its key sought, digit by digit, or the other way round.
  struct Query {
    bool by_rank = true;
    std::uint64_t rank = 0;  // by rank: among the numbers with the digits found so far; by key: how many are below
    Key key = 0;             // by rank: those digits as a number
    std::size_t table = 0;   // of this pass
  };

  static Key key_of(T value);
  static T value_of(Key key);
  static Key prefix(Key key, int digits);
  static std::size_t digit_at(Key key, int digit);
  template <int Digit>
  void count_digit(std::span<const T> block, bool all_finite);
  void open_tables();
  void close_tables();

  int digit_ = 0;  // this pass counts it
  /// One table of 2048 after another; behind the first pass table 0 takes what was not asked for.
  std::vector<std::uint32_t> counts_;
  std::vector<Key> prefixes_;  // of the tables, ascending
  /// For each pass behind the first: from a table of the pass before and its digit to the table of this one; 0: none.
  std::vector<std::vector<std::uint8_t>> next_tables_;
  std::vector<Query> queries_;
  std::vector<std::pair<std::uint64_t, std::size_t>> asked_ranks_;
  std::vector<std::pair<Key, std::size_t>> asked_keys_;
};

}  // namespace vernier
