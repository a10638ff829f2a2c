// A histogram between ranks, and in files that one build alone reads.
#pragma once

#include <cstdint>

#include "distributed/wire.h"
#include "numerics/histogram.h"
#include "numerics/metrics.h"

namespace vernier {

inline void pack_histogram(Packer& packer, const ValueHistogram& histogram) {
  packer.put(histogram.range());
  packer.put(histogram.counts());
}

inline ValueHistogram unpack_histogram(Unpacker& unpacker) {
  const auto range = unpacker.get<RangeStats>();
  return {range, unpacker.get_vector<std::int64_t>()};
}

}  // namespace vernier
