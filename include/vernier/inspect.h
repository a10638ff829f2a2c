// More jobs behind `vernier inspect`: text for people.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/sinks.h"

namespace vernier {

/// `vernier inspect model`: text for people. `show` holds any of layers, attrs, weights, formats.
struct InspectOptions {
  std::filesystem::path model;
  std::vector<std::string> show;
};
VERNIER_API std::string inspect_model(const InspectOptions& options);

/// The layers of a tactic replay and what TensorRT chose for each. Errors: Input.
VERNIER_API std::string inspect_tactics(const std::filesystem::path& replay);

struct DiffTacticsOptions {
  std::filesystem::path folder;     // holds good/ and bad/
  std::filesystem::path good, bad;  // files or folders in their place; empty: those of `folder`
};

/// Choices that bad replays hold and no good one does, layer by layer. Errors: Input, also when a side is empty.
VERNIER_API std::string diff_tactics(const DiffTacticsOptions& options);

/// Tensors that say how large others are, come from float data and have no upper bound. Errors: Input.
VERNIER_API std::string list_unbounded_sizes(const std::filesystem::path& model);

struct DrawOptions {
  std::filesystem::path model;
  std::filesystem::path output;  // .svg, .html or .dot
  std::filesystem::path report;  // report.json of diagnose: errors as colour; empty: formats as colour
};

/// The main graph as a picture, laid out by Graphviz's `dot`; a .dot file needs none. Returns what was written.
/// Errors: Usage for another extension; Backend when `dot` is missing or fails; Input, also above 3000 nodes.
VERNIER_API std::string draw_model(const DrawOptions& options, const JobSinks& sinks = {});

/// Weights of Conv, Gemm and MatMul that are 2:4 sparse, are not, or cannot be. Errors: Input.
VERNIER_API std::string inspect_sparsity(const std::filesystem::path& model);

}  // namespace vernier
