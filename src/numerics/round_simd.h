// What round.cpp and encode.cpp ask of the SIMD code: one checked job, run on the best instruction set of this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "numerics/grid.h"
#include "vernier/format.h"

namespace vernier {

enum class RoundOutput {
  Values,  // s * q: values on the grid
  Steps,   // q alone: values on the grid of scale 1 (for integers: code - zero point)
  Counted  // values, and RoundEvents
};

/// Pointers of a call that was checked: sizes match, scales are positive, zero points and codes are in range.
struct RoundJob {
  Format format;
  GridLayout layout;
  const float* values;
  float* out;                      // values itself or disjoint
  const float* scale;              // one for each channel; not read for formats without a scale
  const std::int32_t* zero_point;  // one for each channel, or nullptr for all zero
  float lowest;                    // integer codes allowed
  float highest;
};

RoundJob make_job(const QuantParams& params, const GridLayout& layout, std::span<const float> values,
                  std::span<float> out);

/// Format float32 is not a job: there is nothing to round. `events` is only touched by RoundOutput::Counted.
void run_round_job(const RoundJob& job, RoundOutput output, RoundEvents& events);

}  // namespace vernier
