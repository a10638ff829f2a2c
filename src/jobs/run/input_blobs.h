// --save-input-blob: the values of inputs as raw bytes, without shape or type, as trtexec's --loadInputs reads them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <utility>
#include <vector>

#include "vernier/tensor.h"

namespace vernier {

class InputBlobs {
 public:
  explicit InputBlobs(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Writes FOLDER/0000000000/NAME.bin for each input of sample 0. Characters that a file name lacks become '_'.
  /// Errors: Input when a file cannot be written, or two names would be one file.
  void add(std::size_t sample, const std::vector<NamedTensor>& inputs) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace vernier
