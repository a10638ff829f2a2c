// Whatever is in a file or folder of saved data, told by its content: results, inputs, or plain arrays.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "vernier/runs.h"

namespace vernier {

struct SavedData {
  enum class Kind { Results, Inputs, Arrays, OneArray };
  Kind kind = Kind::Results;
  bool named_after_file = false;  // the one run: the file itself has no name for it
  /// Inputs: one run. Arrays: one run named after the file. A run may have no iterations.
  std::vector<std::unique_ptr<Run>> runs;
};

/// Errors: Input, naming the file and the place: nothing that can be read as any of these; a pickle, with the command
/// that converts it. Cost and memory: as open_runs().
SavedData open_saved_data(const std::filesystem::path& path);

/// One for each form, in the file of its name.
SavedData open_saved_json(const std::filesystem::path& file);
SavedData open_saved_folder(const std::filesystem::path& folder);
SavedData open_saved_npz(const std::filesystem::path& file);
SavedData open_saved_npy(const std::filesystem::path& file);

}  // namespace vernier
