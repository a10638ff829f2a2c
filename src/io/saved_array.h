// One array of saved inputs or results, decoded: Base64 of a .npy file, or what the oldest versions wrote.
#pragma once

#include <string>

#include "base/mapped_file.h"
#include "io/saved_index.h"
#include "vernier/tensor.h"

namespace vernier {

/// The array at `range` of `file`, decoded into memory of its own.
/// Errors: Input, starting with `where`: not Base64, not one .npy.
Tensor read_saved_array(const MappedFile& file, const SavedArray& range, const std::string& where);

}  // namespace vernier
