// Which output of one run belongs to which of the other.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vernier/runs.h"

namespace vernier {

/// Places of the outputs of a run by name, of several with one name the first. For as long as `run` stays as it is.
std::unordered_map<std::string_view, std::size_t> places_by_name(const Iteration& run);

struct OutputPair {
  std::size_t got = 0, ref = 0;  // indices into the outputs
  std::string how;               // empty: same name
};

struct Pairing {
  std::vector<OutputPair> pairs;  // in the order of got
  std::string unmatched;          // in words; empty: every output has a partner
};

/// For each output of `got`: the one of the same name; else the first one whose name contains it or is contained in it,
/// whatever the case; else the one at the same position. One found in the latter two ways must not belong to another
/// output by name. Where that takes more than 10 million comparisons of names, those that are alike are not looked for.
/// Source: default_find_output_func of the peer, which leaves the unmatched out without a word.
Pairing pair_outputs(const Iteration& got, const Iteration& ref);

}  // namespace vernier
