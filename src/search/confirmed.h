// A minimal search whose oracle is nearly right: a second, slower judge has the last word on what it finds.
// Simulations of a plan and of the file made from it round the same values, but may sum in another order, and a set
// that meets the limit by a hair in one can miss it in the other.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "search/minimal.h"

namespace vernier {

/// Damage of a finished set by the judge that decides, in the oracle's unit; NaN when it could not be measured, which
/// ends the search with the set as it is. `room` as in ConfirmedResult.
using Confirm = std::function<double(const MinimalResult& result, double room)>;

struct ConfirmedResult {
  MinimalResult minimal;  // of the last round; its `trials` are the calls of all rounds
  /// What the oracle's damages were multiplied with in the last round. Damages in `minimal` are as the oracle gave
  /// them; above 1 its certificate holds for the limit divided by this, as a note says.
  double room = 1;
};

/// search_minimal, repeated with less allowance as long as `confirm` refuses a set that the oracle passed. The
/// allowance shrinks by the ratio of the two damages. Answers of earlier rounds are not asked again, only the limit
/// moves. Where the set that is confirmed at last has far less allowance than the one that was refused before, the
/// rounds that are left look for a cheaper one in between.
///
/// Calls:  of confirm: one a round, for sets that passed; at most kConfirmRounds rounds; once more for the result where
///         another set was asked about last.
/// Edges:  the last set confirmed or not is returned: the caller knows what confirm said. No further round when the two
///         differ by more than a factor of options.most_room (that is a fault, not noise), after a contradiction or an
///         empty budget, or when nothing passes with less allowance.
/// Errors: those of search_minimal; what confirm throws passes through.
ConfirmedResult search_confirmed(const std::vector<SearchItem>& items, const Oracle& oracle, const Confirm& confirm,
                                 const MinimalOptions& options);

inline constexpr std::size_t kConfirmRounds = 4;

}  // namespace vernier
