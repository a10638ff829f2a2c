// Mistakes in the Q/DQ pairs of a file.
#pragma once

#include <string>

namespace vernier {

struct FoundDefect {
  std::string kind, node, text;
  std::string cure{};    // empty: nothing to add
  bool refused = false;  // some engine refuses the file for it: what was measured of it is worth nothing
  bool scaled = false;   // other-values: those of the float model times a factor for each channel
  bool common = false;   // of a scaled weight: one factor of all values is wrong, whatever those of channels are
  bool undone = false;   // of a weight: with the float model's values in its place the outputs are worse
  bool moved = false;    // other-values: a bias that bias correction may have moved, until a measurement says otherwise
  // Of a bias whose scale is input scale times weight scale:
  bool of_weight_scale = false;  // it is right with the right scale of the weight, which another defect names
  bool common_factor = false;    // its values are right times one factor, as a wrong scale of the input leaves them
};

}  // namespace vernier
