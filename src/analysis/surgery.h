// Cutting and joining graphs for measurement: taps on tensors, twins, slices. Tensors keep their names wherever another
// part of the graph reads them.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/subject.h"
#include "model/model.h"
#include "vernier/tensor.h"

namespace vernier {

/// Puts a node on a tensor of the main graph: its producer writes `TENSOR/raw`, the node that `make(raw, tensor)`
/// returns writes `TENSOR`, so every reader depends on it. Tensors that no node of the main graph makes are left alone.
/// One that has a node already gets another behind it.
void tap(onnx::GraphProto& graph, const std::set<std::string>& tensors,
         const std::function<onnx::NodeProto(const std::string& raw, const std::string& tensor)>& make);

/// A pair of tensors that Compare looks at.
struct Match {
  std::string ref;  // tensor of the reference
  std::string low;  // tensor of the other model
};

/// Reference and low model as two halves of one graph, sharing graph inputs (carried states excepted) and weights,
/// joined by a Compare on each match (slot = its index). Outputs: those named in `outputs` of the reference, then
/// "low/" and the same; carried states of both.
Model join(const Model& ref, const Model& low, const std::vector<Match>& matches,
           const std::vector<std::string>& outputs, const std::vector<Carry>& carries);

/// Nodes [first, last) of the main graph as a model of its own, with `inputs` and `outputs` (name -> element type);
/// nodes that no output needs are dropped, and only initializers that are read come along.
Model slice(const Model& model, int first, int last, const std::map<std::string, Dtype>& inputs,
            const std::map<std::string, Dtype>& outputs);

/// Replaces the graph outputs.
void set_outputs(Model& model, const std::vector<std::pair<std::string, Dtype>>& outputs);

/// Adds a tensor to the graph outputs.
void add_output(Model& model, const std::string& name, Dtype dtype);

}  // namespace vernier
