// The guided prefix: items in order of usefulness, and where along that order the damage should cross the limit.
// Knows predictions and measured points, asks nobody.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "search/minimal.h"
#include "search/oracle.h"

namespace vernier {

/// Items by predicted damage per cost, most useful first, those that must be kept in front. An item that needs another
/// comes behind it.
struct Ranking {
  std::vector<std::size_t> order;
  /// residual[m] = predicted damage of all items behind the first m, must-keep items left out: [items + 1], falling.
  std::vector<double> residual;
  std::size_t mandatory = 0;
};

Ranking rank(std::span<const SearchItem> items);

/// The first `length` items of the ranking as a set.
KeptSet prefix(const Ranking& ranking, std::size_t length);

/// A tested prefix.
struct PrefixPoint {
  std::size_t length = 0;
  Trial trial;
};

/// The tightest tests on both sides of the limit: `failing` is the shorter one.
struct Bracket {
  PrefixPoint failing;
  PrefixPoint passing;
};

/// No prefix between the two is left to test.
bool is_closed(const Bracket& bracket, const Ranking& ranking);

/// Predicted damage of a prefix, in the unit of Trial::damage:
///
///   D(m) = D_near * (residual[m] / residual_near)^a
///
/// through the measured point nearest to the limit; `a` makes the curve meet the point on the other side too, because
/// damages add up badly far above the limit; a = 1 when only one side was measured.
/// Edges: NaN when neither side has a usable number.
double predicted_damage(const Bracket& bracket, const Ranking& ranking, std::size_t length);

/// The next prefix length to test, strictly inside the bracket: where the prediction comes just under the limit.
/// Errors: none; requires an open bracket. With no usable number on either side the length grows geometrically.
std::size_t aim(const Bracket& bracket, const Ranking& ranking);

/// The length that halves what is left, or doubles the kept set while nothing but "all" has passed.
std::size_t halve(const Bracket& bracket, const Ranking& ranking);

}  // namespace vernier
