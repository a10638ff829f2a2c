// Which parts of the outputs are judged by themselves, because one pooled figure would hide the small values of one
// behind the large values of another.
//
// Two things show where a part ends:
//   - the Concat that joined the output, seen through what moves or computes in place behind it (Transpose, Reshape,
//     Sigmoid, ...): its operands are parts where their rms differ ten times or more. Neighbours within 10 dB are one
//     part: what is 10 dB smaller than the whole is judged with 10 dB less, no more. Where a Reshape behind it merged
//     the axis with others in front (17 x 3 x N to 51 x N), a part is every third place, or each run of its places.
//   - the channels along the axis of the classes, of one layer that makes boxes and scores: groups of neighbours are
//     parts where every channel on one side is ten times as large as every channel on the other.
// Rms is measured on a few samples, so that every part is there because of its values.
//
// No parts: axes that a Softmax, ArgMax or TopK compares (a row is one whole), the batch (but what a Concat joins along
// the first axis is none), states of recurrent layers,
// channels of many scales one among the other (x, y, z, x, ...), operands that are zero, and channels below 1e-6 of the
// largest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/output_part.h"
#include "analysis/subject.h"
#include "vernier/note.h"

namespace vernier {

struct FoundParts {
  std::vector<OutputPart> parts;  // settled, at most 32 an output
  std::vector<Note> notes;        // one an output that has some
};

/// Parts of those of the judged outputs of `subject`. Cost: at most eight samples through the network, and none where
/// the graph shows that there are no parts.
FoundParts find_output_parts(const Subject& subject);

/// An axis, and the ends of the segments along it that a Concat joined; no ends: each channel by itself.
struct PartAxis {
  int axis = 0;
  std::vector<std::int64_t> ends;
  /// Above 0: the segments repeat so often from `first` to `last` (x, y, score, x, y, score, ...), and the ends are
  /// those of one round. 0: they fill the axis once.
  std::int64_t rounds = 0;
  std::int64_t first = 0, last = 0;
};

/// Energy and number of the values of one segment.
struct SegmentSums {
  double energy = 0;
  double count = 0;
};

/// The first segment of each part behind the first; empty: one whole. `joined`: segments of a Concat, else single
/// channels.
std::vector<std::size_t> part_starts(std::span<const SegmentSums> segments, bool joined);

}  // namespace vernier
