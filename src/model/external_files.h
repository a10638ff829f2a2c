// Which files a model's weights lie in, without reading the weights.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace vernier {

/// The files beside the model at `path` that hold weights of it, there or not. None for what is no ONNX model.
/// Cost: the message is parsed, no weight is read.
std::vector<std::filesystem::path> external_files(const std::filesystem::path& path);

/// Refuses to put weights of the model at `path` into a file `name` beside it that is there, and that no model at
/// `path` reads: another one may, and would silently get other weights. Names that begin with the model's own may
/// always be replaced. Errors: Input. Cost: as external_files(), where the file exists.
void refuse_data_of_others(const std::filesystem::path& path, const std::string& name);

}  // namespace vernier
