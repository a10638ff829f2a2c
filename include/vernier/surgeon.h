// The jobs behind `vernier surgeon`: each reads a model, edits its graph, gives or writes what came out, and says what
// was done (report/surgeon.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vernier/export.h"
#include "vernier/external_data.h"
#include "vernier/measure.h"
#include "vernier/onnx_model.h"
#include "vernier/open_shape.h"
#include "vernier/report/surgeon.h"
#include "vernier/run.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"
#include "vernier/words.h"

namespace vernier {

/// A tensor of the model, and what is said of it; absent: as inferred.
struct TensorChoice {
  std::string name;
  std::optional<OpenShape> shape;
  std::optional<Dtype> dtype;
};

struct ExtractOptions {
  OnnxModel model;
  std::filesystem::path output;                   // empty: a value in the result
  std::vector<TensorChoice> inputs;               // empty: the model's own
  std::vector<TensorChoice> outputs;              // empty: the model's own
  std::map<std::string, OpenShape> input_shapes;  // of the model's inputs, in the place of those in the file
  bool fix_open_sizes = false;                    // those that `input_shapes` leave open: to 1
  std::filesystem::path external_data_dir;        // as in MeasureOptions
  ExternalDataOptions external_data;
  /// Needs `output`. Samples of the whole model: the inputs and outputs that the part has on them are written beside
  /// it, to STEM_inputs.json and STEM_outputs.json.
  std::optional<MeasureOptions> with_data;
  std::vector<std::filesystem::path> custom_operators;  // as in MeasureOptions
};

/// The part of the graph between tensors.
/// Errors: Usage when a tensor is unknown, has another type, or an input that the part needs is not listed; Input.
VERNIER_API SurgeonResult extract_model(const ExtractOptions& options, const JobSinks& sinks = {});

/// Words of the peer, which do the same here. "basic", "recursive".
enum class Partitioning { Basic, Recursive };
VERNIER_API std::span<const std::string_view> words_of(Partitioning which);

struct SanitizeOptions {
  OnnxModel model;
  std::filesystem::path output;  // empty: a value in the result
  bool fold_constants = false;
  int passes = 0;  // of folding; 0: until nothing is left
  /// Nodes are tried one by one where folding all at once fails.
  std::optional<Partitioning> partitioning;
  bool fold_shapes = true;
  /// Bytes; 0: 64 MB, and 1 MB where a value is 8 times what it is made of; below zero: only empty values are folded.
  std::int64_t fold_size_limit = 0;
  bool cleanup = false;
  bool simplify = false;  // fusions, and nodes that do nothing or repeat another
  std::map<std::string, OpenShape> input_shapes;
  bool fix_open_sizes = false;  // those that `input_shapes` leave open: to 1
  OutputChoice outputs;
  /// Bounds for sizes that come from data, by tensor; "" for all others.
  std::map<std::string, std::int64_t> size_bounds;
  ExternalDataOptions external_data;
  MeasureOptions measure;  // samples that original and result are compared on
};

/// Errors: Usage, Input, Backend.
VERNIER_API SurgeonResult sanitize_model(const SanitizeOptions& options, const JobSinks& sinks = {});

struct InsertOptions {
  OnnxModel model;
  std::filesystem::path output;  // empty: a value in the result
  std::vector<std::string> inputs, outputs;
  std::string op_type;
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;  // 3, 0.5, text, [1, 2]
  std::filesystem::path external_data_dir;                      // as in MeasureOptions
  ExternalDataOptions external_data;
};

/// Puts a node between tensors: what read an output that exists reads the new node's; producers of `outputs` that
/// nothing needs any more are removed. What ONNX's checker has against the node is a warning: engines know operators
/// that ONNX does not. Errors: Usage when a tensor is unknown, or an attribute is none.
VERNIER_API SurgeonResult insert_node(const InsertOptions& options, const JobSinks& sinks = {});

struct WeightEditOptions {
  OnnxModel model;
  std::filesystem::path output;             // empty: a value in the result
  std::vector<std::string> excluded;        // weight-strip: initializers that keep their values
  std::filesystem::path external_data_dir;  // as in MeasureOptions
  ExternalDataOptions external_data;
};

/// 2:4 sparsity for the weights of Conv, Gemm and MatMul: of each four values along the summed dimension the two
/// smallest become zero.
VERNIER_API SurgeonResult prune_weights(const WeightEditOptions& options);

/// Weights and biases of Conv, ConvTranspose, Gemm and MatMul, tables of 1024 elements and more that Gather and Slice
/// read, and constants of unknown operators lose their values; names, types and shapes stay, and what was 2:4 sparse is
/// marked.
VERNIER_API SurgeonResult strip_weights(const WeightEditOptions& options);

/// Gives stripped weights values again: random ones, the same for the same name, 2:4 sparse where they were.
VERNIER_API SurgeonResult reconstruct_weights(const WeightEditOptions& options);

}  // namespace vernier
