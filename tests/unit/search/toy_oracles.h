// Toy networks for searches: items with known damages, a noisy ranking of them, and oracles that misbehave on purpose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/certificate.h"
#include "search/minimal.h"

namespace vernier::toys {

struct Pair {
  std::size_t a = 0;
  std::size_t b = 0;
  double extra = 0;  // added when both are low; may be negative
};

struct Toy {
  std::vector<double> damage;  // of each item alone; 1 is the limit
  std::vector<Pair> pairs;
  std::vector<SearchItem> items;
  std::size_t optimum = 0;  // fewest items that pass when there are no pairs
};

/// Items that are predicted exactly.
Toy ranked(std::vector<double> damage);

/// `culprits` items that each break the limit, in a background that uses half of it. Prediction noise is log-normal.
Toy spiky(std::size_t count, std::size_t culprits, double sigma, std::uint64_t seed);

/// Log-normal damages, scaled so that the `optimum` largest must be kept.
Toy diffuse(std::size_t count, std::size_t optimum, double sigma, std::uint64_t seed);

/// Adds count / 5 random pair effects between -1/2 and +1 of the pair's geometric mean damage.
Toy with_interactions(Toy toy, std::uint64_t seed);

/// Layers with `rungs` formats each, cheapest first: an item for each step up, which needs the one below. All low has
/// damage 10. Costs are the weight of the layer times the bits that the step adds: 4, then 4, then 16.
Toy ladder(std::size_t layers, std::size_t rungs, double sigma, std::uint64_t seed);

/// The cheapest set that passes, by trying all of a toy that ladder() made.
double cheapest_cost(const Toy& toy);

double damage_of(const Toy& toy, const KeptSet& kept);

/// Judges by damage_of. With `early_stop`, failing tests report only that the limit was exceeded.
Oracle honest(const Toy& toy, bool early_stop = false);

/// A search and everything it asked.
struct Run {
  MinimalResult result;
  std::vector<RecordedTrial> trials;
  std::size_t beyond_ends() const { return trials.size() - 2; }
};

Run search(const Toy& toy, const Oracle& oracle, MinimalOptions options = {});

/// check_certificate() by running every test of it again. `items`: of those that need others.
CertificateCheck recheck(std::size_t item_count, const KeptSet& kept, const Certificate& certificate,
                         const Oracle& oracle, std::span<const SearchItem> items = {});

}  // namespace vernier::toys
