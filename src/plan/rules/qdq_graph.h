// The questions that placement rules ask of a graph with Q/DQ pairs. Works on one graph at a time.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/model.h"
#include "numerics/round.h"
#include "vernier/tensor.h"

namespace vernier {

class QdqGraph {
 public:
  using Node = onnx::NodeProto;

  /// The main graph of `file`, which is as normalized_file() gives it and lives longer.
  explicit QdqGraph(const Model& file);

  /// The main graph, and every body of If, Loop and Scan that holds a QuantizeLinear or DequantizeLinear.
  static std::vector<QdqGraph> all_of(const Model& file);

  const onnx::GraphProto& graph() const { return graph_; }
  bool constant(const std::string& tensor) const { return is_initializer(file_, tensor); }
  std::optional<Tensor> value(const std::string& tensor) const { return initializer(file_, tensor); }

  /// Null for graph inputs and constants.
  const Node* maker(const std::string& tensor) const;
  const std::vector<const Node*>& readers(const std::string& tensor) const;
  /// Undefined where inference says nothing.
  Dtype type(const std::string& tensor) const;
  /// Absent where inference says nothing.
  std::optional<std::size_t> rank(const std::string& tensor) const;
  int opset() const { return default_opset(file_.proto); }
  /// Empty where inference says nothing; -1 for a dimension that the file leaves open.
  Shape shape(const std::string& tensor) const;
  bool is_output(const std::string& tensor) const { return outputs_.contains(tensor); }

  static bool quantizes(const Node& node);
  static bool dequantizes(const Node& node);
  /// The DequantizeLinear that makes the tensor, null when another node does.
  const Node* dequantizer(const std::string& tensor) const;
  /// The only reader when it is a QuantizeLinear and the tensor is no output.
  const Node* only_quantizer(const std::string& tensor) const;
  /// The DequantizeLinear reads codes that the file stores, directly or behind a QuantizeLinear of a constant.
  bool of_constant(const Node& dequantizer) const;

  /// Parameters of a QuantizeLinear or DequantizeLinear; nullopt when they are not constant or of another kind.
  std::optional<QuantParams> params(const Node& node) const;
  Dtype codes_type(const Node& node) const;

  /// Number of inputs from a DequantizeLinear, and of all data inputs (constants included), of the first `most`.
  struct Inputs {
    int dequantized = 0;
    int all = 0;
    std::vector<std::string> plain;  // not dequantized
  };
  Inputs inputs(const Node& node, int most) const;

 private:
  QdqGraph(const Model& file, const onnx::GraphProto& graph, std::map<std::string, ValueType> types);

  const Model& file_;
  const onnx::GraphProto& graph_;
  std::map<std::string, ValueType> types_;
  std::map<std::string, const Node*> makers_;
  std::map<std::string, std::vector<const Node*>> readers_;
  std::set<std::string> outputs_;
};

/// Conv, ConvTranspose, Gemm, MatMul.
bool has_weight(const onnx::NodeProto& node);

}  // namespace vernier
