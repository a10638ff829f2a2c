// Which files a model's weights lie in, without reading the weights.
#pragma once

#include <filesystem>
#include <vector>

namespace vernier {

/// The files beside the model at `path` that hold weights of it, there or not. None for what is no ONNX model.
/// Cost: the message is parsed, no weight is read.
std::vector<std::filesystem::path> external_files(const std::filesystem::path& path);

}  // namespace vernier
