// What is in files of saved inputs and results, and what was joined of them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "vernier/comparison.h"
#include "vernier/export.h"
#include "vernier/tensor.h"

namespace vernier {

struct InspectedArray {
  std::string name;  // empty: the only input
  Dtype dtype = Dtype::Undefined;
  Shape shape;
  ValueStats stats;
  std::optional<Histogram> histogram;  // where it was asked for
  std::optional<std::string> values;   // where they were asked for: as NumPy prints them
};

struct InspectedRun {
  std::string name;
  std::size_t iterations = 0;
  std::vector<std::vector<InspectedArray>> shown;  // the first iteration, or all
};

struct DataInspection {
  enum class Kind { Results, Inputs, Arrays };
  std::string file;
  Kind kind = Kind::Results;
  bool all = false;                // all iterations were asked for
  std::vector<InspectedRun> runs;  // one, unless they are results
};
/// In the layout that users of the peer know.
VERNIER_API std::string report_to_text(const DataInspection& report);
/// Without values and histograms.
VERNIER_API std::string report_to_json(const DataInspection& report);

/// A file that was made of others.
struct JoinedData {
  std::filesystem::path file;
  std::size_t iterations = 0;      // or samples, of all runs together
  std::vector<std::string> names;  // of the inputs that were merged, or of the runs
};
VERNIER_API std::string merged_to_text(const JoinedData& result);
/// `names` empty: the file holds inputs.
VERNIER_API std::string joined_to_text(const JoinedData& result);

}  // namespace vernier
