// Labels from files: whole numbers, by sample.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "vernier/tensor.h"

namespace vernier {

/// A .npy of whole numbers, flat, or text with one a line. Errors: Input, naming the line.
std::vector<std::int64_t> read_labels(const std::filesystem::path& file);

/// A .npy of whole numbers with its shape. Errors: Input.
struct LabelArray {
  Shape shape;
  std::vector<std::int64_t> values;
};
LabelArray read_label_array(const std::filesystem::path& file);

}  // namespace vernier
