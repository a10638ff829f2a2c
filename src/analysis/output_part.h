// A part of an output: a slice along one axis, or the values that no mask hides, judged like an output of its own. One
// pooled figure hides the small values of an output that holds large ones as well: boxes up to 640 and scores up to 1,
// scores and masks of -1e9.
//
// Here: what a part is, how it is written, and its values. Which parts an output has is decided in output_parts.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vernier/tensor.h"

namespace vernier {

/// On which side of the ordinary values a mask lies.
enum class MaskSide : std::uint8_t { Both, Negative, Positive };

/// Where a mask begins.
struct MaskLimit {
  float size = 0;  // 0: there is no mask
  MaskSide side = MaskSide::Both;

  bool operator==(const MaskLimit&) const = default;
  bool exists() const { return size > 0; }
  /// Whether a value is one of the mask: that large or larger, on that side. A NaN is.
  bool masks(float value) const {
    if (side == MaskSide::Negative) return !(value > -size);
    if (side == MaskSide::Positive) return !(value < size);
    return !(std::abs(value) < size);
  }
};

struct OutputPart {
  std::string name;    // "output0[:,4:]", "output0[:,7::3]", as given or as part_name() makes it
  std::string output;  // "output0"
  int axis = 0;        // from 0; of "[...,4:]" from -1 backwards
  std::int64_t begin = 0;
  std::optional<std::int64_t> end;        // exclusive; absent: to the end
  std::int64_t step = 1;                  // >= 1
  std::vector<std::int64_t> places = {};  // along the axis, rising; not empty: these, and not begin, end and step
  MaskLimit mask = {};                    // values of it count as 0

  bool same_values(const OutputPart& other) const {
    return output == other.output && axis == other.axis && begin == other.begin && end == other.end &&
           step == other.step && places == other.places && mask == other.mask;
  }
  /// No slice: the parts of such outputs leave out values alone.
  bool all_places() const { return places.empty() && begin == 0 && !end && step == 1; }
};

/// "output0[:,4:]": as NumPy writes it. Places that are no slice are "output0[:,[0,5:10]]", values that a mask leaves
/// "output0[>-100]", "output0[<100]" or "output0[abs<100]".
std::string part_name(const OutputPart& part);

/// Reads "NAME[:,4:]", "NAME[...,:4]", "NAME[:,3]", "NAME[:,2::3]" and what part_name() writes; nullopt when `text`
/// does not end in brackets with a slice in them. Errors: Usage for a slice backwards, along several axes, or along
/// none.
std::optional<OutputPart> parse_part(const std::string& text);

/// The same part with its ends and places counted from 0, for an output of this shape. Dimensions of -1 are not known.
/// Errors: Usage when the output has no such axis or place, or the slice no element.
OutputPart settled(OutputPart part, const Shape& shape);

/// The same of a part that a user names. Errors: Usage also for a slice that is all of the output.
OutputPart part_of_shape(const OutputPart& part, const Shape& shape);

/// How many places along the axis belong to a part that is settled, in an axis of that length.
std::int64_t places_of(const OutputPart& part, std::int64_t length);

/// The elements of `output` that belong to `part`, which is settled.
Tensor slice_of(const Tensor& output, const OutputPart& part);

}  // namespace vernier
