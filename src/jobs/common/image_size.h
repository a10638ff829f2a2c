// Images of another size than the one that a network was made for, which it takes without a word.
#pragma once

#include <optional>

#include "model/model.h"
#include "vernier/note.h"
#include "vernier/samples.h"

namespace vernier {

/// What the first of `samples` has otherwise than the network's usual images, in words; nullopt: nothing, or nothing
/// says what they are. It can be known of an input of 1, 3 or 4 channels that leaves height or width open:
///
///  - the file's metadata give a size: imgsz, image_size, img_size or input_size, as "640" or "[640, 640]";
///  - the file records shapes of images inside (value_info, outputs) that these images do not lead to;
///  - a Reshape in front of a Gemm or MatMul makes rows of a map of fixed height and width: other images fill several.
///
/// Networks that refuse other sizes (Flatten in front of a Gemm) say so when they run. Cost: an inference of shapes.
std::optional<Note> other_image_size(const Model& model, const SampleSource& samples);

}  // namespace vernier
