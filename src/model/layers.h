// Which nodes are layers (docs/contract.md, 3): nodes on the float data path. Works on a prepared model.
//
// A layer has a float output from which data flows to a graph output, and its values depend on values of a graph input:
// what is made of constants and shapes alone is none, nor is what ends in shapes, indices or coordinates. Nodes with
// bodies and those that change the type alone (Cast, QuantizeLinear: Trait::NeverLayer) are none either; the path goes
// on behind them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "model/operator_traits.h"
#include "vernier/tensor.h"

namespace vernier {

/// The doc string of the nodes that enter_caches() adds.
inline constexpr std::string_view kCacheEntry = "what a KV cache holds";

struct Layer {
  std::string name;
  std::string op_type;
  std::string graph;                 // "" for the main graph, else the name of the node whose body holds it
  std::vector<std::string> inputs;   // float tensors that carry data (not weights, shapes, indices)
  std::vector<std::string> weights;  // float initializers it reads
  std::vector<std::string> outputs;  // float outputs
  Traits traits;                     // of its operator
  /// kFollows: moves or selects values without arithmetic (Reshape, Concat, MaxPool ...): its format follows its
  /// inputs, so that a tensor between two kept layers stays in high precision. Never a candidate of a search.
  bool follows = false;
  /// Trait::Weighted: Conv, ConvTranspose, Gemm, MatMul, the operators of the default INT8 scheme.
  bool weighted = false;
  /// The values that a KV cache holds (passes::enter_caches).
  bool cache = false;
};

/// All layers in graph order (topological), subgraphs included.
std::vector<Layer> find_layers(const Model& model);
/// The same with what infer_types has told of the model.
std::vector<Layer> find_layers(const Model& model, const std::map<std::string, ValueType>& types);
/// Those of find_layers() that compute in float32, which are the ones that are measured and lowered: the rest of a
/// prepared model computes in float64, and stays as it is: `others` gets their names.
std::vector<Layer> find_float32_layers(const Model& model, std::vector<std::string>* others = nullptr);
/// The first type other than float32 that a layer's data is known to have; float32 when there is none.
Dtype other_float_type(const Layer& layer, const std::map<std::string, ValueType>& types);

/// A node that puts new values behind those of a graph input, one of `inputs`: Concat, or TensorScatter.
bool joins_cache(const onnx::NodeProto& node, const std::set<std::string>& inputs);

/// True when the input `index` of `node` carries data, not a shape, axis, index, scale table or condition: decided by
/// the operator's ONNX schema (its type is a type variable that admits float).
bool carries_data(const onnx::NodeProto& node, int index, int opset);

/// Whether ONNX, at any opset, or ONNX Runtime has an operator of that name.
bool is_known_operator(const std::string& op_type);

/// True when the schema of `node` at `opset` lets that input (output) be of `dtype`.
bool schema_admits_input(const onnx::NodeProto& node, int index, int opset, Dtype dtype);
bool schema_admits_output(const onnx::NodeProto& node, int index, int opset, Dtype dtype);

/// Tensors whose shapes multiply_accumulates() asks for; empty for operators that it counts as 0.
std::vector<std::string> tensors_of_products(const Layer& layer, const onnx::NodeProto& node);

/// Multiply-accumulates of one sample from the shapes seen in a run (element counts by tensor name): Conv,
/// ConvTranspose, Gemm, MatMul; LSTM, GRU, RNN and DynamicQuantizeLSTM (each step of each direction with the weights of
/// input and state); Einsum (each operand behind the first with each combination of labels) and Attention (queries with
/// keys, scores with values); Attention, MultiHeadAttention, FusedMatMul, FusedGemm, DynamicQuantizeMatMul and
/// MatMulNBits of com.microsoft. 0 for other operators, and for those beside the first four where a shape is not known;
/// the body of a Loop or Scan counts once here (trip_counts.h). Units: multiply-accumulates, batch included.
std::int64_t multiply_accumulates(const Model& model, const Layer& layer, const onnx::NodeProto& node,
                                  const std::map<std::string, Shape>& shapes);
/// The same with a function that knows the shapes.
std::int64_t multiply_accumulates(const Layer& layer, const onnx::NodeProto& node,
                                  const std::function<Shape(const std::string& tensor)>& shape_of);

}  // namespace vernier
