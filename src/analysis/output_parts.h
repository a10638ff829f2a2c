// Which parts of the outputs are judged by themselves, because one pooled figure would hide the small values of one
// behind the large values of another.
//
// Two things show where a part ends:
//   - the Concat that joined the output, seen through what moves or computes in place behind it (Transpose, Reshape,
//     Sigmoid, ...): its operands are parts where their rms differ ten times or more. Neighbours within 10 dB are one
//     part: what is 10 dB smaller than the whole is judged with 10 dB less, no more. Where a Reshape behind it merged
//     the axis with others in front (17 x 3 x N to 51 x N), a part is every third place, or each run of its places.
//   - the channels along the axis of the classes, of one layer that makes boxes and scores, and the places along an
//     axis that a ScatterND or ScatterElements writes in part: groups of channels are parts where every channel of one
//     is ten times as large as every channel of the other. A few channels that fall step by step are parts by decades.
// Where a mask (-1e9) stands among the values, all others are a part: its energy would hide them (output_masks.h).
// Rms is measured on a few samples, so that every part is there because of its values.
//
// No parts: axes that a Softmax, ArgMax or TopK compares (a row is one whole), the batch (what a Concat joins along the
// first axis is no batch), states of recurrent layers, channels of many scales one among the other (x, y, z, x, ...),
// operands that are zero, and channels below 1e-6 of the largest.
#pragma once

#include <cstdint>
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
/// the graph shows that there are no parts. All samples run until one holds a mask, where data decide whether it does.
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

}  // namespace vernier
