// What TensorRT chose for each layer, as the replays of versions up to 10 say it.
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "vernier/export.h"

namespace vernier {

/// Fields are as the file has them, numbers and lists as JSON; "?" where it has none.
struct TacticTensor {
  std::string dtype, strides, vectorized_dim, components;
  auto operator<=>(const TacticTensor&) const = default;
};

struct Tactic {
  std::string implementation, tactic;
  std::vector<TacticTensor> inputs, outputs;
  auto operator<=>(const Tactic&) const = default;
};

struct TacticReplay {
  std::string file;
  std::vector<std::pair<std::string, Tactic>> layers;  // in the order of the file
};
VERNIER_API std::string report_to_text(const TacticReplay& report);

/// Choices that are in bad replays and in no good one.
struct TacticsDiff {
  struct Suspect {
    Tactic tactic;
    std::size_t replays = 0;  // bad ones that hold it
  };
  std::size_t good = 0, bad = 0;                                     // replays
  std::vector<std::pair<std::string, std::vector<Suspect>>> layers;  // in the order in which they were met
};
VERNIER_API std::string report_to_text(const TacticsDiff& report);

}  // namespace vernier
