// Which layers ONNX Runtime's CPU provider runs faster on codes, all together: a kernel on codes saves time, and each
// border between floats and codes costs some. The layers on codes are those of the minimum cut of both, by times that
// were measured once (kernel_times.h). What saves nothing is no reason for noise.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/layers.h"
#include "model/model.h"

namespace vernier {

/// Of `candidates`, layers of the main graph that have a kernel on codes, those that gain time there. `types`: as
/// infer_types tells; a first dimension that is not known counts as 1, another as 64, and a weighted layer of which
/// nothing is known as one that gains.
std::set<std::string> faster_on_codes(const Model& model, const std::vector<Layer>& layers,
                                      const std::set<std::string>& candidates,
                                      const std::map<std::string, ValueType>& types);

}  // namespace vernier
