// Ways in which images reach a network wrongly: the same picture in another order of channels, another range, or
// another layout. Each is a change that would undo one such mistake.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vernier/tensor.h"

namespace vernier {

/// y[c] = factor[c] * x[c] + offset[c], the channels swapped before.
struct ImageChange {
  std::string words;      // empty: nothing is changed
  std::string options;    // Vernier's own image options that read files so; empty: not known
  bool swap = false;      // the first and the last of three channels
  bool relayout = false;  // the bytes are in the other layout than the shape says
  std::vector<double> factor{1, 1, 1}, offset{0, 0, 0};
};

/// Where the channels of an image tensor lie; -1 when it is none: rank 4 with 1 or 3 channels behind the batch or last.
int image_axis(const Shape& shape);

/// Changes worth trying on values between `least` and `most`: as given first.
std::vector<ImageChange> image_changes(double least, double most, std::int64_t channels);

/// How many things are changed: the order of channels, the layout, the range; 0 as given.
int steps_of(const ImageChange& change);
bool rescales(const ImageChange& change);
/// Values get farther from each other: any network is surer of such inputs.
bool enlarges(const ImageChange& change);

/// Whether neighbours in the picture are clearly more alike when its bytes are read in the other layout, as they are in
/// pictures that reach a network in the wrong one. Smooth pictures in the right layout are not: what is read there
/// instead has more detail, which statistics of a network may take for a better fit.
bool smoother_in_other_layout(const Tensor& image);

/// The tensor, changed. Float32 of a shape that image_axis() takes.
Tensor changed(const Tensor& image, const ImageChange& change);

}  // namespace vernier
