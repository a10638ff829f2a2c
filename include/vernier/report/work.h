// What part of a network's work runs in low formats when everything that can be is lowered.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vernier {

/// Of one sample, and of all layers that compute; a layer that stays in the high format counts in the totals alone.
struct LoweredWork {
  std::int64_t macs = 0, total_macs = 0;                  // multiply-accumulates
  std::int64_t weight_bytes = 0, total_weight_bytes = 0;  // of the float model's constants that these layers read
  // Layers with multiply-accumulates that are not lowered:
  std::size_t recurrent = 0;  // LSTM, GRU, RNN
  std::size_t on_codes = 0;   // that compute on integers which the file stores
  std::size_t others = 0;
  /// Products with weights that are no layers: their results are compared or picked by, as of ArgMax, and lead to no
  /// output. 0: there are none, or all of them have less than 1 % of the weight bytes.
  std::size_t deciding = 0;
};

}  // namespace vernier
