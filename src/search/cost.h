// What a kept set costs: its items, and the conversions at its borders. Grouping is what makes a fix fast: two kept
// neighbours share a border, two apart pay for two.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "search/oracle.h"

namespace vernier {

/// In place of an item's number: there is none.
inline constexpr std::size_t kNoItem = std::numeric_limits<std::size_t>::max();

/// One switchable unit.
struct SearchItem {
  /// Predicted damage of running only this item low, in the unit of Trial::damage (any positive factor is fine: it is
  /// rescaled by what is measured). +inf: must be kept.
  double predicted_damage = 0;
  /// Cost of keeping it high, > 0 (1 per layer, or multiply-accumulates).
  double cost = 1;
  /// The item without which keeping this one changes nothing: the rung below, of a layer that may take several formats.
  /// Its number is smaller, and nothing else needs it. kNoItem: this one stands alone.
  std::size_t needs = kNoItem;
};

/// A tensor that is converted when its maker and its readers do not run in one format: paid once, when some of `items`
/// are kept and some are not.
struct Border {
  std::vector<std::size_t> items;  // at least two
  double cost = 0;                 // in the unit of SearchItem::cost, >= 0
};

///   sum of SearchItem::cost over kept + sum of Border::cost over borders with items on both sides
/// Edges: all and none kept have no borders. Cost: O(items + borders).
double cost_of(std::span<const SearchItem> items, std::span<const Border> borders, const KeptSet& kept);

}  // namespace vernier
