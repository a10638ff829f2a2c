// Files of saved inputs and results: looked into, joined.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

#include "vernier/export.h"
#include "vernier/report/data_files.h"
#include "vernier/sinks.h"

namespace vernier {

/// `vernier inspect data`: saved inputs or results in any form, a .npz or a .npy.
struct InspectDataOptions {
  std::filesystem::path path;
  bool all = false;          // all iterations, not only the first
  bool show_values = false;  // as NumPy prints them
  bool histogram = false;
  std::optional<std::size_t> edge_items = 3;   // values at each end of a dimension; absent: all
  std::optional<std::size_t> line_width = 75;  // absent: lines end where rows do
};
/// Memory: one iteration, and what is told of all that were asked for.
/// Errors: Input: nothing that is saved data, and at which byte a JSON file is broken.
VERNIER_API DataInspection inspect_data(const InspectDataOptions& options);

struct SavedFilesOptions {
  std::vector<std::filesystem::path> paths;  // at least one
  std::filesystem::path output;              // saved inputs or results; its form as InputWriter and RunWriter choose it
};

/// `vernier data merge`: sample i of the output holds the arrays of iteration i of every file, outputs of results
/// become inputs. Memory: one iteration of every file.
VERNIER_API JoinedData merge_data(const SavedFilesOptions& options, const JobSinks& sinks = {});

/// `vernier data concat`: the iterations of the files one after the other, run by run. Runs go by their names; the time
/// at the end of a runner's name is not looked at. All files must hold inputs, or all results. Memory: one iteration.
VERNIER_API JoinedData concat_data(const SavedFilesOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
