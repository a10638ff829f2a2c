// What was done to a graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vernier/export.h"
#include "vernier/note.h"
#include "vernier/onnx_model.h"

namespace vernier {

struct InsertedNode {
  std::string name, op_type;
};

/// Weights whose values were edited.
struct EditedWeights {
  enum class Edit { Pruned, Stripped, Filled };
  struct Left {
    std::string weight, node, why;
  };
  Edit edit = Edit::Pruned;
  std::size_t count = 0;
  std::size_t bytes = 0;   // Stripped: that the model got smaller by
  std::size_t sparse = 0;  // Filled: 2:4 sparse ones among them
  std::vector<Left> left;  // Pruned: those that cannot be
};

/// The samples of a part, as the whole model computes them.
struct PartSamples {
  std::filesystem::path inputs, outputs;
  std::size_t samples = 0;
};

/// Original and result, run on the same samples.
struct ModelsCompared {
  struct Difference {
    std::string output;
    double max_abs_error = 0;
    double sqnr_db = 0;
  };
  std::string data;  // what the samples are
  bool identical = false;
  bool optimized = false;               // identical as the engine runs models by default; else without optimizations
  std::vector<Difference> differences;  // of float outputs, where not identical
};

struct SurgeonResult {
  std::filesystem::path output;
  OnnxModel model;  // the file, or where none was asked for the model itself
  std::size_t nodes_before = 0, nodes_after = 0;
  std::vector<std::pair<std::string, std::int64_t>> bounded;  // sizes from data, and their new bounds
  std::optional<InsertedNode> inserted;
  std::optional<EditedWeights> weights;
  std::vector<Note> notes;  // of the passes that edited the graph
  std::optional<PartSamples> samples;
  std::optional<ModelsCompared> compared;
  std::vector<Note> warnings;  // told to the sink as well
};
VERNIER_API std::string result_to_text(const SurgeonResult& result);

}  // namespace vernier
