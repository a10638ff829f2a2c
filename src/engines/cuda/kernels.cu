// Our operators on a GPU, compiled by NVRTC at first use. Sums run in the order of src/numerics, so that a GPU gives the
// CPU's bits; only whole numbers are added atomically. No header of the standard library is there.
#include "one_value.h"
#include "records.h"

using namespace vernier;

namespace {

__device__ Count first_index() { return blockIdx.x * static_cast<Count>(blockDim.x) + threadIdx.x; }
__device__ Count stride() { return gridDim.x * static_cast<Count>(blockDim.x); }

__device__ Count scale_index(const Scales& scales, Count i) {
  const Count row = i / scales.inner, along = row % scales.channels;
  if (scales.block == 0) return along;
  const Count blocks = (scales.channels + scales.block - 1) / scales.block;
  return (row / scales.channels * blocks + along / scales.block) * scales.inner + i % scales.inner;
}

__device__ float rounded(const ValueGrid& grid, const Scales& scales, float value, Count i, ValueEvents* events) {
  if (scales.scales == nullptr) return round_value(grid, value, scales.scale, scales.zero_point, events);
  const Count at = scale_index(scales, i);
  const float zero = scales.zero_points == nullptr ? 0.0f : static_cast<float>(scales.zero_points[at]);
  return round_value(grid, value, scales.scales[at], zero, events);
}

__device__ void add_count(Count* to, Count value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xFFFFFFFFu, value, offset);
  if (threadIdx.x % 32 == 0 && value != 0) atomicAdd(to, value);
}

__device__ void add_events(EventRecord* record, const ValueEvents& events) {
  add_count(&record->saturated, events.saturated);
  add_count(&record->overflowed, events.overflowed);
  add_count(&record->subnormal, events.subnormal);
  add_count(&record->flushed, events.flushed);
  add_count(&record->nan, events.nan);
}

/// An unsigned number for each float that is not NaN, in the order of floats; never 0.
__device__ unsigned ordered(float value) {
  const unsigned bits = bits_of(value);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

__device__ float value_of_ordered(unsigned place) {
  return float_of((place & 0x80000000u) != 0 ? place & 0x7FFFFFFFu : ~place);
}

__device__ unsigned largest_of_warp(unsigned value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    const unsigned other = __shfl_down_sync(0xFFFFFFFFu, value, offset);
    value = value > other ? value : other;
  }
  return value;
}

}  // namespace

/// `record` null: nothing is counted.
extern "C" __global__ void round_values(const float* in, float* out, Count n, ValueGrid grid, Scales scales,
                                        EventRecord* record) {
  ValueEvents events;
  for (Count i = first_index(); i < n; i += stride()) {
    out[i] = rounded(grid, scales, in[i], i, record == nullptr ? nullptr : &events);
  }
  if (record != nullptr) add_events(record, events);
}

/// Each `length` neighbours in blocks of `block`, the last of which may be shorter, with scales that follow from their
/// values. `in` and `out` may be the same.
extern "C" __global__ void round_blocks(const float* in, float* out, Count rows, Count length, Count block,
                                        ValueGrid grid, BlockGrid scales, EventRecord* record) {
  ValueEvents events;
  const Count blocks = (length + block - 1) / block;
  for (Count i = first_index(); i < rows * blocks; i += stride()) {
    const Count along = i % blocks * block, first = i / blocks * length + along;
    const Count count = length - along < block ? length - along : block;
    round_block(grid, scales, in + first, out + first, static_cast<int>(count), record == nullptr ? nullptr : &events);
  }
  if (record != nullptr) add_events(record, events);
}

extern "C" __global__ void forget_range(RangeRecord* record) { *record = RangeRecord{}; }

/// By the scale and zero point that follow from `range`.
extern "C" __global__ void round_to_range(const float* in, float* out, Count n, ValueGrid grid,
                                          const RangeRecord* range, EventRecord* record) {
  const float min = range->max == 0 ? 0.0f : value_of_ordered(~range->inverted_min);
  const float max = range->max == 0 ? 0.0f : value_of_ordered(range->max);
  const RangeScale found = scale_of_range(min, max);
  ValueEvents events;
  for (Count i = first_index(); i < n; i += stride()) {
    out[i] = round_value(grid, in[i], found.scale, found.zero_point, record == nullptr ? nullptr : &events);
  }
  if (record != nullptr) add_events(record, events);
}

extern "C" __global__ void round_to_tf32(const float* in, float* out, Count n) {
  for (Count i = first_index(); i < n; i += stride()) out[i] = round_value_to_tf32(in[i]);
}

extern "C" __global__ void observe_values(const float* in, Count n, RangeRecord* record) {
  unsigned inverted_min = 0, max = 0;
  Count nonfinite = 0;
  for (Count i = first_index(); i < n; i += stride()) {
    const float value = in[i] + 0.0f;  // -0 counts as +0
    if (is_finite(value)) {
      const unsigned place = ordered(value);
      inverted_min = inverted_min > ~place ? inverted_min : ~place;
      max = max > place ? max : place;
    } else {
      ++nonfinite;
    }
  }
  inverted_min = largest_of_warp(inverted_min);
  max = largest_of_warp(max);
  if (threadIdx.x % 32 == 0) {
    atomicMax(&record->inverted_min, inverted_min);
    atomicMax(&record->max, max);
  }
  add_count(&record->nonfinite, nonfinite);
}

namespace {

/// Figures of one lane, or of its block: sums and ends as ErrorRecord has them.
struct Figures {
  double sums[5] = {}, ends[2] = {};
};

__device__ double larger(double a, double b) { return b > a ? b : a; }

__device__ double tree_sum(const Figures* lanes, int which) {
  return ((lanes[0].sums[which] + lanes[1].sums[which]) + (lanes[2].sums[which] + lanes[3].sums[which])) +
         ((lanes[4].sums[which] + lanes[5].sums[which]) + (lanes[6].sums[which] + lanes[7].sums[which]));
}

}  // namespace

/// Sums of each block of pairs into `blocks`, which are laid out as accumulate_error() has them: whole groups of eight
/// pairs in blocks of 2048, and the pairs that are left over as a block of their own. `rounds` says whether `got` is
/// rounded to `grid` on the way, which has no scale; events are counted unless that record is null.
extern "C" __global__ void compare_blocks(const float* ref, const float* got, Count n, int rounds, ValueGrid grid,
                                          ErrorRecord* blocks, EventRecord* event_record) {
  __shared__ Figures lanes[kThreads];
  __shared__ Count odd[kBlocksOfThreads][4];
  const Count whole = n / kLanesOfBlock * kLanesOfBlock;
  const Count whole_blocks = (whole + kPairsOfBlock - 1) / kPairsOfBlock;
  const Count count = whole_blocks + (whole < n ? 1 : 0);
  const unsigned lane = threadIdx.x % kLanesOfBlock, group = threadIdx.x / kLanesOfBlock;
  const Count block = blockIdx.x * static_cast<Count>(kBlocksOfThreads) + group;
  ValueEvents events;
  Figures seen;
  Count counts[4] = {};
  if (lane < 4) odd[group][lane] = 0;
  __syncthreads();
  if (block < count) {
    const Count begin = block < whole_blocks ? block * kPairsOfBlock : whole;
    const Count limit = block < whole_blocks ? whole : n;
    const Count end = begin + kPairsOfBlock < limit ? begin + kPairsOfBlock : limit;
#pragma unroll 4
    for (Count i = begin + lane; i < end; i += kLanesOfBlock) {
      float r = ref[i];
      float g = rounds ? round_value(grid, got[i], 1.0f, 0.0f, event_record == nullptr ? nullptr : &events) : got[i];
      if (!is_finite(r) || !is_finite(g)) {
        const bool ref_finite = is_finite(r);
        counts[0] += !ref_finite;
        counts[1] += !ref_finite && r == g;
        counts[2] += ref_finite && is_nan(g);
        counts[3] += ref_finite && !is_nan(g);
        r = 0.0f;
        g = 0.0f;
      }
      const double x = r, y = g, e = y - x;
      seen.sums[0] += x * x;
      seen.sums[1] += y * y;
      seen.sums[2] += x * y;
      seen.sums[3] += e * e;
      seen.sums[4] += e;
      seen.ends[0] = larger(seen.ends[0], fabs(e));
      seen.ends[1] = larger(seen.ends[1], fabs(x));
    }
  }
  lanes[threadIdx.x] = seen;
  for (int i = 0; i < 4; ++i) {
    if (counts[i] != 0) atomicAdd(&odd[group][i], counts[i]);
  }
  __syncthreads();
  if (block < count && lane == 0) {
    const Figures* const first = lanes + threadIdx.x;
    ErrorRecord& record = blocks[block];
    for (int i = 0; i < 4; ++i) record.counts[i] = odd[group][i];
    for (int i = 0; i < 5; ++i) record.sums[i] = tree_sum(first, i);
    for (int i = 0; i < 2; ++i) {
      record.ends[i] = 0;
      for (unsigned each = 0; each < kLanesOfBlock; ++each) {
        record.ends[i] = larger(record.ends[i], first[each].ends[i]);
      }
    }
  }
  if (event_record != nullptr) add_events(event_record, events);
}

/// Adds the blocks one after the other, as the CPU does: one thread a figure.
extern "C" __global__ void add_blocks(const ErrorRecord* blocks, Count count, ErrorRecord* record) {
  const unsigned figure = threadIdx.x;
  if (figure < 4) {
    Count sum = 0;
    for (Count i = 0; i < count; ++i) sum += blocks[i].counts[figure];
    record->counts[figure] = sum;
  } else if (figure < 9) {
    double sum = 0;
#pragma unroll 8
    for (Count i = 0; i < count; ++i) sum += blocks[i].sums[figure - 4];
    record->sums[figure - 4] = sum;
  } else if (figure < 11) {
    double largest = 0;
    for (Count i = 0; i < count; ++i) largest = larger(largest, blocks[i].ends[figure - 9]);
    record->ends[figure - 9] = largest;
  }
}

/// Squared powers of two of each run of `run` values: sixteen lanes in the order of sum_squared_powers_of_row().
/// One warp a run; `lanes`: sixteen for each.
extern "C" __global__ void sum_squared_powers(const float* in, Count n, Count run, float* lanes) {
  const Count which = first_index() / 32;
  const unsigned lane = threadIdx.x % 32;
  if (which * run >= n || lane >= kLanesOfPowers) return;
  const float* const values = in + which * run;
  const Count whole = run - run % kLanesOfPowers;
  float sum = 0;
#pragma unroll 8
  for (Count i = lane; i < whole; i += kLanesOfPowers) {
    const float power = float16_power_of(values[i]);
    sum += power * power;
  }
  if (whole + lane < run) {
    const float power = float16_power_of(values[whole + lane]);
    sum += power * power;
  }
  lanes[which * kLanesOfPowers + lane] = sum;
}

extern "C" __global__ void add_noise(const float* in, float* out, Count n, Count run, const float* lanes,
                                     double roundings, unsigned seed) {
  for (Count i = first_index(); i < n; i += stride()) {
    const float* const sums = lanes + i / run * kLanesOfPowers;
    double total = 0;
    for (unsigned lane = 0; lane < kLanesOfPowers; ++lane) total += static_cast<double>(sums[lane]);
    out[i] = with_hashed_noise(in[i], static_cast<unsigned>(i), seed,
                               noise_amplitude(total, static_cast<double>(run), roundings));
  }
}

/// Rounds to `grid`, which has no scale, if `rounds` says so, and adds the bias of each channel.
extern "C" __global__ void add_bias(float* values, Count n, const float* bias, Count channels, Count inner, int rounds,
                                    ValueGrid grid) {
  for (Count i = first_index(); i < n; i += stride()) {
    const float value = rounds ? round_value(grid, values[i], 1.0f, 0.0f, nullptr) : values[i];
    values[i] = value + bias[i / inner % channels];
  }
}
