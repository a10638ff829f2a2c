// What TensorRT was measured to do within a layer (vernier/arithmetic.h, docs/records/within-a-layer.md), as nodes of a
// simulated graph. Both roads to one, from a plan and from a file, ask here, and get the same noise for the same layer.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/model.h"
#include "vernier/arithmetic.h"
#include "vernier/format.h"
#include "vernier/note.h"
#include "vernier/tensor.h"

namespace vernier {

/// What any figure with such sums rests on, for reports.
inline Note sums_evidence() { return {"sums-evidence", {}}; }

/// How often the float16 sum of one result of a Conv, or of a MatMul or Gemm with a constant matrix, is rounded:
/// n = ceil(K / 16), K = weight elements an output channel has; once where each channel has its own input (depthwise),
/// and where the weight's shape is not known.
std::int64_t roundings_of_sum(const onnx::NodeProto& node, const Shape& weight);

/// Shapes of the constants that a layer with a weight reads; empty: none, or not known.
struct SumShapes {
  Shape weight, bias;
};
SumShapes sum_shapes(const Model& model, const onnx::NodeProto& node);

/// Who reads a tensor: nodes, and the graph's output, which a file gives in float32 or in a low type.
struct TensorReaders {
  std::vector<const onnx::NodeProto*> nodes;
  bool float_output = false;
  bool low_output = false;
};

class EngineSums {
 public:
  using ReadersOf = std::function<TensorReaders(const std::string& tensor)>;
  using ReadsFloat32 = std::function<bool(const onnx::NodeProto& reader)>;

  explicit EngineSums(const Arithmetic& arithmetic) : arithmetic_(arithmetic) {}

  /// Tensors that are not rounded although a plan or a file says float16 or bfloat16: what the MatMul `node` gives, and
  /// an activation behind it, where all who read it take it as float32. Empty for other nodes.
  std::vector<std::string> unrounded(const onnx::NodeProto& node, const ReadersOf& readers_of,
                                     const ReadsFloat32& reads_float32) const;

  /// What goes between `node` and the rounding of its result to `format`; `node` then writes under another name, and
  /// leaves its bias to what is returned. nullopt: nothing, it is rounded once.
  /// `layer`: its name in the file, from which the noise follows.
  std::optional<onnx::NodeProto> behind(onnx::NodeProto& node, Format format, const std::string& layer,
                                        const SumShapes& shapes) const;

  /// Lets `node`, a BatchNormalization in float16 that is about to be added to `graph`, compute as there: x times a
  /// scale that is rounded, plus a shift that is rounded. Its constants come from `model`.
  void round_norm(Model& model, onnx::GraphProto& graph, onnx::NodeProto& node, Format format) const;

  /// Tensors of one graph by name, as TF32. A body sees the names around it and may make none of them again: what it
  /// adds has `place` behind its name.
  struct Tf32Names {
    std::string place;
    std::map<std::string, std::string> of_tensor;
  };
  /// Lets `node`, a layer in float32 that is about to be added to `graph`, read TF32 where such layers do. Constants
  /// are rounded here; they come from `model` or, where that has none of that name, from `source`.
  void read_tf32(Model& model, const Model& source, onnx::GraphProto& graph, onnx::NodeProto& node, Tf32Names& names);

 private:
  Arithmetic arithmetic_;
  std::map<std::string, std::string> constants_;
};

}  // namespace vernier
