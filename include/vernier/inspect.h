// The jobs behind `vernier inspect model`, `sparsity` and `tactics`.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "vernier/export.h"
#include "vernier/onnx_model.h"
#include "vernier/report/inspect.h"
#include "vernier/report/tactics.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier {

struct InspectOptions {
  OnnxModel model;
  bool nodes = false;       // every node, with what it reads and gives
  bool attributes = false;  // of the nodes, which are then listed too
  bool weights = false;
  std::filesystem::path external_data_dir;    // as in MeasureOptions
  std::map<std::string, Shape> input_shapes;  // in the place of those in the file, for the sizes behind them
  bool skip_external_data = false;  // open no other files: they may be missing, and their values are not known
  bool infer_shapes = false;        // of list_like_polygraphy() alone: show types that the file does not say
};
/// What is in a model file, float or typed. Values of weights are not read. Errors: Input.
VERNIER_API ModelInspection inspect_model(const InspectOptions& options);
/// The same as Polygraphy's `inspect model` prints it, with values of weights, for scripts that read its text.
/// `input_shapes` have no effect. Errors: Input.
VERNIER_API std::string list_like_polygraphy(const InspectOptions& options);

/// The layers of a tactic replay and what TensorRT chose for each. Errors: Input.
VERNIER_API TacticReplay inspect_tactics(const std::filesystem::path& replay);

struct DiffTacticsOptions {
  std::filesystem::path folder;     // holds good/ and bad/
  std::filesystem::path good, bad;  // files or folders in their place; empty: those of `folder`
};

/// Choices that bad replays hold and no good one does, layer by layer. Errors: Input, also when a side is empty.
VERNIER_API TacticsDiff diff_tactics(const DiffTacticsOptions& options);

/// Tensors that say how large others are, come from float data and have no upper bound. Errors: Input.
VERNIER_API UnboundedSizes list_unbounded_sizes(const OnnxModel& model,
                                                const std::filesystem::path& external_data_dir = {});

struct DrawOptions {
  OnnxModel model;
  std::filesystem::path output;                  // .svg, .html or .dot
  std::filesystem::path report;                  // report.json of diagnose: errors as colour; empty: formats as colour
  std::filesystem::path external_data_dir = {};  // as in MeasureOptions
};

/// The main graph as a picture, laid out by Graphviz's `dot`; a .dot file needs none.
/// Errors: Usage for another extension; Backend when `dot` is missing or fails; Input, also above 3000 nodes.
VERNIER_API DrawnModel draw_model(const DrawOptions& options, const JobSinks& sinks = {});

/// Weights of Conv, Gemm and MatMul that are 2:4 sparse, are not, or cannot be. Errors: Input.
VERNIER_API SparsityReport inspect_sparsity(const OnnxModel& model,
                                            const std::filesystem::path& external_data_dir = {});

}  // namespace vernier
