// What a search sees: numbered items, their costs, and an oracle that judges a kept set. Never a model.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "vernier/verdict.h"

namespace vernier {

/// Items kept in high precision, ascending.
using KeptSet = std::vector<std::size_t>;

/// How often a check that may be flaky is asked again before anything is claimed of its answers: a coin gives the same
/// ones in 1 of 128 cases.
inline constexpr std::size_t kDecisive = 7;

/// One attempt of a search.
struct Trial {
  Verdict verdict = Verdict::Invalid;
  /// The metric in its own unit, for people.
  double metric = std::numeric_limits<double>::quiet_NaN();
  /// How much of the allowed damage is used: 1 is exactly the limit, below passes. For SQNR it is noise power over the
  /// allowed noise power, so that the damages of single layers add up. A lower bound when `stopped_early`; +inf for
  /// outputs that are not finite.
  double damage = std::numeric_limits<double>::quiet_NaN();
  /// The verdict was certain before all samples were run (the noise so far exceeds the whole allowance).
  bool stopped_early = false;
  std::size_t samples = 0;   // that decided; 0: not counted (an outside check)
  std::size_t also_run = 0;  // the same, by a second network that had to pass too
  double confidence = 1;     // that the verdict is that of all samples; 1: certain
  std::string why = {};
  std::string output = {};                // that the metric is of; empty: there is one
  std::optional<double> on_samples = {};  // the metric of these samples, where `metric` is a bound on new ones
};

/// Judges "these items high, all others low" on the full sample set. Error{Interrupted} ends the search with the best
/// set so far; other exceptions pass through.
using Oracle = std::function<Trial(const KeptSet&)>;

}  // namespace vernier
