// What a trial of a search, and an outside check, say of a candidate; and how a search of trials ends.
#pragma once

#include <span>
#include <string_view>

#include "vernier/export.h"
#include "vernier/words.h"

namespace vernier {

/// A bad set, a timeout, or a model that a back end refuses is an answer, not an exception.
enum class Verdict { Good, Bad, Invalid, TimedOut, Unstable };
/// "good", "bad", "invalid", "timed-out", "unstable".
VERNIER_API std::span<const std::string_view> words_of(Verdict which);

enum class SearchEnd {
  Certified,      // a passing set with a complete certificate
  Found,          // passes, and no smaller set of the form that was searched does
  NothingNeeded,  // all low passes
  Impossible,     // all high fails: the metric, the data or the reference is the problem
  Stopped,        // budget or Ctrl-C: the set passes but is not proven minimal
  Unstable,       // the oracle contradicted itself
};
/// "certified", "found", "nothing-needed", "impossible", "stopped", "unstable".
VERNIER_API std::span<const std::string_view> words_of(SearchEnd which);

/// Who says of a trial whether it is good.
enum class DecidedBy {
  Requirement,  // on simulated figures
  Engine,       // the requirement, on figures that an engine gave
  Labels,       // the share of right labels
  Script,       // a number that the user's script or function makes of outputs
  Comparison,   // tolerances, as those of `vernier run`
  Program,      // an outside check
  Person,       // who is asked at the terminal
};
/// "requirement", "engine", "labels", "script", "comparison", "program", "person".
VERNIER_API std::span<const std::string_view> words_of(DecidedBy which);

}  // namespace vernier
