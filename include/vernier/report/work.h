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
};

}  // namespace vernier
