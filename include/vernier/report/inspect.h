// What is in a model file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "vernier/export.h"
#include "vernier/report/text.h"
#include "vernier/tensor.h"

namespace vernier {

/// A value of a graph. Names are those of the file.
struct InspectedTensor {
  enum class Kind { Tensor, Sequence, Other, Unknown };
  std::string name;  // empty: an input or output that a node leaves out
  Kind kind = Kind::Unknown;
  Dtype dtype = Dtype::Undefined;  // of a tensor
  std::optional<std::vector<std::string>>
      dims;  // "3", the name that the file gives an open one, "?"; absent: any shape
};

struct InspectedGraph;

struct InspectedAttribute {
  struct OfTensor {
    Shape shape;
  };
  struct OfGraphs {
    std::vector<InspectedGraph> bodies;
    bool listed = false;  // an attribute that holds any number of them
  };
  /// Empty: of a kind that is not shown.
  using Value = std::variant<std::monostate, std::int64_t, float, std::string, std::vector<std::int64_t>,
                             std::vector<float>, std::vector<std::string>, OfTensor, OfGraphs>;
  std::string name;
  Value value;
};

struct InspectedNode {
  enum class Role { None, Layer, MovesData };
  std::string name, op_type;
  std::string module{};  // of torch that it comes from: "model.layers.0.mlp"; empty: not known
  Role role = Role::None;
  std::vector<InspectedTensor> inputs, outputs;
  std::vector<InspectedAttribute> attributes;
};

struct InspectedGraph {
  std::vector<InspectedTensor> inputs, outputs;
  std::vector<InspectedNode> nodes;
};

struct InspectedWeight {
  std::string name;
  Dtype dtype = Dtype::Undefined;
  Shape shape;
};

/// Counts are over all graphs of the model, bodies included.
struct ModelInspection {
  std::string file, graph;
  int opset = 0;
  std::int64_t ir_version = 0;
  std::size_t nodes = 0, initializers = 0;
  std::int64_t initializer_bytes = 0;
  std::vector<std::pair<std::string, std::int64_t>> domains;  // beside ONNX's own, with their versions
  std::vector<InspectedTensor> inputs, outputs;
  std::size_t layers = 0, weighted_layers = 0, moving_layers = 0;  // on the float data path
  std::int64_t parameters = 0;                                     // float values
  std::int64_t coded_parameters = 0;                               // values that a DequantizeLinear reads as codes
  std::int64_t parameter_bytes = 0;                                // of both
  std::int64_t multiply_accumulates = 0;                           // of layers whose shapes are known
  std::size_t layers_of_unknown_shape = 0;                         // weighted ones
  std::size_t layers_counted_once = 0;                             // in loops whose number of steps is not known
  bool open_sizes_as_one = false;                                  // the inputs have some, counted as 1
  std::vector<std::pair<std::string, std::size_t>> operators;      // most frequent first
  std::optional<InspectedGraph> main;                              // where nodes were asked for
  bool with_attributes = false;
  std::optional<std::vector<InspectedWeight>> weights;  // where they were asked for
};
VERNIER_API std::string report_to_text(const ModelInspection& report, const TextOptions& options = {});
VERNIER_API std::string report_to_json(const ModelInspection& report);

/// Tensors that say how large others are, come from float data and have no upper bound.
struct UnboundedSizes {
  std::string file;
  std::vector<std::string> tensors;
};
VERNIER_API std::string report_to_text(const UnboundedSizes& report);

struct WeightSparsity {
  std::string weight, node;
  Shape shape;
  bool sparse = false;           // 2:4
  std::string why_not_prunable;  // empty: it is, or could be made so
};

struct SparsityReport {
  std::string file;
  std::vector<WeightSparsity> weights;  // of Conv, Gemm and MatMul
};
VERNIER_API std::string report_to_text(const SparsityReport& report);

/// A picture that was written.
struct DrawnModel {
  std::filesystem::path file;
  std::size_t nodes = 0;
  bool by_error = false;  // colour: each layer's own error; else its format
};
VERNIER_API std::string result_to_text(const DrawnModel& result);

}  // namespace vernier
