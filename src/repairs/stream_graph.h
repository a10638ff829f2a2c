// What the search for residual streams asks of a graph: its norms, the weights of its layers, shapes and readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/graph_walk.h"
#include "model/model.h"
#include "repairs/residual_stream.h"
#include "vernier/tensor.h"

namespace vernier {

/// A norm as the search sees it: one node or several.
struct NormSeen {
  StreamNorm norm;
  std::set<std::string> nodes;
};

/// A weight that a layer reads, possibly through a Transpose.
struct WeightSeen {
  std::string node;
  int input = 1;
  bool transposed = false;
  Shape shape;  // as the layer reads it
};

/// Questions about a graph that the search asks; made once for all streams.
class StreamGraph {
 public:
  explicit StreamGraph(const Model& whole);

  std::optional<Shape> shape_of(const std::string& tensor) const;

  /// Size of an axis, counted from the end; -1: not known; 1 where the tensor has no such axis.
  std::int64_t size_at(const std::string& tensor, int from_end) const;

  bool is_float(const std::string& name) const;

  /// Of an attribute, or of a constant input.
  std::optional<std::vector<std::int64_t>> ints(const onnx::NodeProto& node, const char* name, int input) const;

  /// Of a MatMul, Gemm or Conv, where a matrix can be folded into it.
  std::optional<WeightSeen> weight_of(const onnx::NodeProto& node) const;

  const Model& model;
  const GraphWalk walk;
  const std::map<std::string, ValueType> types;
  const std::map<std::string, int> counts;
  std::set<std::string> outputs;
  std::map<std::string, std::vector<NormSeen>> norms;  // by the tensor that they read
  std::vector<std::string> norm_inputs;                // in graph order

 private:
  void add_norm(NormSeen seen);

  void find_norm(const onnx::NodeProto& node);
};

/// How many channels a norm of that tensor has; 0: not known.
std::size_t width_of(const StreamGraph& graph, const std::string& norm_input);

}  // namespace vernier
