// Where a written model's weights go.
#pragma once

#include <cstdint>
#include <string>

namespace vernier {

/// Weights in files beside the model. Models above 1.9 GB, which one ONNX file cannot hold, are written so in any case.
struct ExternalDataOptions {
  bool wanted = false;
  std::string file;                    // a name in the model's folder; empty: the model's name with .data behind it
  std::int64_t size_threshold = 1024;  // bytes; what is smaller stays in the model
  bool one_file = true;                // else one file a weight, MODEL.0.data, MODEL.1.data ...
};

}  // namespace vernier
