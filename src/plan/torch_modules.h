// The torch module whose weight a layer reads: by the name of the weight, as torch's exporters keep it, or by the path
// in the metadata where an exporter has changed the weight. A path alone says less: a folded BatchNormalization leaves
// its own to the convolution. The older exporter writes no metadata, but its node names are paths.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/layers.h"
#include "model/model.h"

namespace vernier {

struct TorchModules {
  std::map<std::string, std::string> paths;    // by layer: "layers.0.fc1"
  std::map<std::string, std::string> why_not;  // layers with products that are no module's
};

/// Of `layers`, which belong to `original` as its file has it.
TorchModules torch_modules(const Model& original, const std::vector<Layer>& layers);

}  // namespace vernier
