// A model as a file, for programs that read files.
#pragma once

#include <filesystem>
#include <optional>

#include "base/scratch_folder.h"
#include "vernier/onnx_model.h"

namespace vernier {

/// The file that a model is in; of one in memory a copy, which is there as long as this lives.
class ModelFile {
 public:
  /// Errors: Input when a copy cannot be written.
  explicit ModelFile(const OnnxModel& model) : path_(model.file()) {
    if (!model.in_memory()) return;
    path_ = scratch_.emplace() / "model.onnx";
    model.write(path_);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::optional<ScratchFolder> scratch_;
  std::filesystem::path path_;
};

}  // namespace vernier
