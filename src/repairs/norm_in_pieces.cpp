#include "repairs/norm_in_pieces.h"

#include "vernier/tensor.h"

namespace vernier {

const onnx::NodeProto* only_reader(const GraphWalk& walk, const std::string& tensor) {
  return walk.readers(tensor).size() == 1 ? walk.readers(tensor).front() : nullptr;
}

bool squares(const Model& model, const onnx::NodeProto& node) {
  if (node.op_type() == "Mul") return node.input(0) == node.input(1);
  if (node.op_type() != "Pow") return false;
  const auto exponent = initializer(model, node.input(1));
  return exponent && exponent->dtype() == Dtype::Float32 && exponent->count() == 1 && exponent->floats()[0] == 2;
}

namespace {

/// Reciprocal(root), or 1 / root, as exporters write a reciprocal root.
bool inverts(const Model& model, const onnx::NodeProto& node, const std::string& root) {
  if (node.op_type() == "Reciprocal") return true;
  if (node.op_type() != "Div" || node.input(1) != root) return false;
  const auto one = initializer(model, node.input(0));
  return one && one->dtype() == Dtype::Float32 && one->count() == 1 && one->floats()[0] == 1;
}

}  // namespace

std::string read_norm(const Model& model, const GraphWalk& walk, const onnx::NodeProto& square, NormInPieces& norm) {
  norm.square = square.name();
  norm.x = square.input(0);
  const onnx::NodeProto* next = only_reader(walk, square.output(0));
  if (next == nullptr || (next->op_type() != "ReduceMean" && next->op_type() != "ReduceSum")) {
    return "its squares are not averaged alone";
  }
  norm.mean = next->name();
  next = only_reader(walk, next->output(0));
  if (next != nullptr && next->op_type() == "Add") {
    for (const std::string& input : next->input()) {
      if (is_initializer(model, input) && initializer(model, input)->count() == 1) norm.epsilon = input;
    }
    if (norm.epsilon.empty()) return "something else than an epsilon is added to the mean";
    norm.add = next->name();
    next = only_reader(walk, next->output(0));
  }
  if (next == nullptr || next->op_type() != "Sqrt") return "no root is taken of the mean";
  norm.root = next->name();
  const std::string root = next->output(0);
  for (const onnx::NodeProto* reader : walk.readers(root)) {
    const onnx::NodeProto* divides = reader;
    std::string divisor = root;
    if (inverts(model, *reader, root)) {
      divisor = reader->output(0);
      divides = only_reader(walk, divisor);
      if (divides == nullptr || divides->op_type() != "Mul") return "its reciprocal goes elsewhere";
      norm.inverse.push_back(reader->name());
    } else if (reader->op_type() != "Div" || reader->input(1) != root) {
      return "something else than a division reads the root";
    }
    const std::string& dividend = divides->input(divides->input(0) == divisor ? 1 : 0);
    if (dividend != norm.x) return "it divides another tensor than the one that it squares";
    norm.scaled.push_back(divides->name());
  }
  return norm.scaled.empty() ? "nothing is divided by the root" : "";
}

}  // namespace vernier
