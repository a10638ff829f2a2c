// Mistakes in the Q/DQ pairs of a file.
#pragma once

#include <string>

namespace vernier {

struct FoundDefect {
  std::string kind, node, text;
  std::string cure{};    // empty: nothing to add
  bool refused = false;  // some engine refuses the file for it: what was measured of it is worth nothing
  bool scaled = false;   // other-values: those of the float model times a factor for each channel
  bool folded = false;   // other-values: of a layer in another form, with which the outputs of the file are right
  bool moved = false;    // other-values: a bias that bias correction may have moved, until a measurement says otherwise
};

}  // namespace vernier
