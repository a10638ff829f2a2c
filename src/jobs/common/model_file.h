// A model as a file, for programs that read files; and a model that a job made.
#pragma once

#include <filesystem>
#include <optional>

#include "base/scratch_folder.h"
#include "model/model.h"
#include "vernier/external_data.h"
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

/// The result of a job: written to `output`, or as a value where that is empty. Errors: as write_model().
OnnxModel given_model(Model model, const std::filesystem::path& output, const ExternalDataOptions& external_data = {});

}  // namespace vernier
