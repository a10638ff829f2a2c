// What the worst samples look like, for the page: only where a user asks for it, as pages are mailed around.
#pragma once

#include <cstddef>
#include <vector>

#include "vernier/report/pictures.h"
#include "vernier/samples.h"

namespace vernier {

/// Pictures of the samples with these numbers (SampleSource::number()): of each the first input that is an image, 1 or
/// 3 channels, as the network gets it: its smallest value black, its largest white, the first channel red. Inputs that
/// are none give nothing. The longer side has kSamplePicture pixels at most.
std::vector<SamplePicture> sample_pictures(const SampleSource& samples, const std::vector<InputInfo>& inputs,
                                           const std::vector<std::size_t>& numbers);

inline constexpr int kSamplePicture = 96;

}  // namespace vernier
