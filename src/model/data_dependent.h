// Dimensions that depend on the values of data, not on shapes ("DDS"), and have no upper bound: engines that allocate
// ahead of time cannot build them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/model.h"

namespace vernier {

/// Tensors that say how large another tensor will be (limit of Range, shape of ConstantOfShape, Expand, Tile, Resize,
/// OneHot), whose values come from float data, and that no Min or Clip with a constant bounds. In graph order.
std::vector<std::string> unbounded_sizes(const Model& model);

/// Puts Min(tensor, bound) between that tensor and those that read it as a size. Errors: Input when its type is not
/// known, or its opset has no Min for it.
void bound_size(Model& model, const std::string& tensor, std::int64_t bound);

}  // namespace vernier
