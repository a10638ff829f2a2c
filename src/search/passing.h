// What the steps of the minimal search hand on: the best set so far, what sets cost, and what single drops taught.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "search/cost.h"
#include "search/oracle.h"

namespace vernier {

/// A set that passed.
struct Passing {
  KeptSet kept;
  Trial trial;
};

/// A passing set, and the items with the predictions that led there.
struct Found {
  Passing passing;
  std::vector<SearchItem> items;
};

struct Costs {
  std::span<const SearchItem> items;
  std::span<const Border> borders;

  double of(const KeptSet& kept) const { return cost_of(items, borders, kept); }
  /// What dropping `item` saves; not above 0 when borders eat it up, or when another kept item needs it. The drops of
  /// several items save at least the sum of what each saves alone.
  double saved_by(const KeptSet& kept, std::size_t item) const;
};

/// What dropping one item alone did, learned on the way: NaN where it was not tried.
using Learned = std::vector<double>;

/// What may still be added to the damage of a passing set. NaN when its damage is not known.
double headroom(const Passing& best);

/// Damage expected from dropping each item of `best` alone: measured where it was tried, else predicted, scaled so that
/// the items already low account for the measured damage.
std::vector<double> expected_damages(const std::vector<SearchItem>& items, const Passing& best, const Learned& learned);

/// Records that dropping `item` from `best` failed: it does at least the headroom, exactly the difference if measured.
void learn(Learned& learned, const Passing& best, std::size_t item, const Trial& failed);

}  // namespace vernier
