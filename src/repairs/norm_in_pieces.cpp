#include "repairs/norm_in_pieces.h"

#include <cstddef>
#include <optional>
#include <span>

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
    return "the average includes more than its squares";
  }
  norm.mean = next->name();
  next = only_reader(walk, next->output(0));
  if (next != nullptr && next->op_type() == "Add") {
    for (const std::string& input : next->input()) {
      if (is_initializer(model, input) && initializer(model, input)->count() == 1) norm.epsilon = input;
    }
    if (norm.epsilon.empty()) return "the value added to the mean is not an epsilon";
    norm.add = next->name();
    next = only_reader(walk, next->output(0));
  }
  if (next == nullptr || next->op_type() != "Sqrt") return "no Sqrt follows the mean";
  norm.root = next->name();
  const std::string root = next->output(0);
  for (const onnx::NodeProto* reader : walk.readers(root)) {
    const onnx::NodeProto* divides = reader;
    std::string divisor = root;
    if (inverts(model, *reader, root)) {
      divisor = reader->output(0);
      divides = only_reader(walk, divisor);
      if (divides == nullptr || divides->op_type() != "Mul") return "another node reads its reciprocal";
      norm.inverse.push_back(reader->name());
    } else if (reader->op_type() != "Div" || reader->input(1) != root) {
      return "the root has a reader that is not a division";
    }
    const std::string& dividend = divides->input(divides->input(0) == divisor ? 1 : 0);
    if (dividend != norm.x) return "it divides a different tensor than the one it squares";
    norm.scaled.push_back(divides->name());
  }
  return norm.scaled.empty() ? "no tensor is divided by the root" : "";
}

namespace {

/// The reduction goes over the last dimension of a tensor of `rank` and keeps it; rank 0: not known.
bool over_last(const Model& model, const onnx::NodeProto& reduce, std::size_t rank) {
  if (reduce.op_type() != "ReduceMean" || attribute_int(reduce, "keepdims", 1) != 1) return false;
  std::vector<std::int64_t> axes = attribute_ints(reduce, "axes");
  if (reduce.input_size() > 1) {
    const std::optional<Tensor> constant = initializer(model, reduce.input(1));
    if (!constant || constant->dtype() != Dtype::Int64) return false;
    const std::span<const std::int64_t> values = constant->int64s();
    axes.assign(values.begin(), values.end());
  }
  return axes.size() == 1 && (axes[0] == -1 || (rank > 0 && axes[0] == static_cast<std::int64_t>(rank) - 1));
}

/// The constant of a Mul or Add behind `tensor` that has one value for each place of the last dimension; null: none.
const onnx::NodeProto* constant_step(const Model& model, const GraphWalk& walk, const std::string& tensor,
                                     const char* op_type, std::int64_t& width, std::string& constant) {
  const onnx::NodeProto* next = only_reader(walk, tensor);
  if (next == nullptr || next->op_type() != op_type || next->input(0) == next->input(1)) return nullptr;
  const std::string& name = next->input(next->input(0) == tensor ? 1 : 0);
  const std::optional<Tensor> value = initializer(model, name);
  if (!value || value->dtype() != Dtype::Float32 || value->shape().empty()) return nullptr;
  if (value->count() != value->shape().back() || (width > 0 && value->count() != width)) return nullptr;
  width = value->count();
  constant = name;
  return next;
}

/// The Sub that takes its own mean from a tensor and gives `x`; null: none.
const onnx::NodeProto* centring(const GraphWalk& walk, const std::string& x) {
  const onnx::NodeProto* difference = walk.maker(x);
  if (difference == nullptr || difference->op_type() != "Sub") return nullptr;
  const onnx::NodeProto* mean = walk.maker(difference->input(1));
  return mean != nullptr && mean->op_type() == "ReduceMean" && mean->input(0) == difference->input(0) ? difference
                                                                                                      : nullptr;
}

}  // namespace

std::string read_whole_norm(const Model& model, const GraphWalk& walk, const std::map<std::string, ValueType>& types,
                            const onnx::NodeProto& square, WholeNorm& norm) {
  if (std::string reason = read_norm(model, walk, square, norm.pieces); !reason.empty()) return reason;
  const onnx::NodeProto* difference = centring(walk, norm.pieces.x);
  norm.subtracts_mean = difference != nullptr;
  norm.input = norm.subtracts_mean ? difference->input(0) : norm.pieces.x;
  std::size_t rank = 0;
  if (const auto type = types.find(norm.input); type != types.end() && type->second.rank_known) {
    rank = type->second.shape.size();
    if (rank > 0 && type->second.shape.back() > 0) norm.width = type->second.shape.back();
  }
  if (!over_last(model, *only_reader(walk, square.output(0)), rank))
    return "it does not average over the last dimension";
  if (norm.pieces.scaled.size() != 1) return "its values are divided more than once";
  if (norm.subtracts_mean) {
    const onnx::NodeProto* mean = walk.maker(difference->input(1));
    if (!over_last(model, *mean, rank)) return "it does not average over the last dimension";
    if (walk.readers(difference->input(1)).size() != 1) return "another node reads its mean";
    norm.nodes = {mean->name(), difference->name()};
  }
  norm.nodes.insert({norm.pieces.square, norm.pieces.mean, norm.pieces.root, norm.pieces.scaled.front()});
  if (!norm.pieces.add.empty()) norm.nodes.insert(norm.pieces.add);
  norm.nodes.insert(norm.pieces.inverse.begin(), norm.pieces.inverse.end());
  for (const onnx::NodeProto* reader : walk.readers(norm.pieces.x)) {
    if (norm.subtracts_mean && !norm.nodes.contains(reader->name())) return "another node reads its differences";
  }
  const onnx::NodeProto* last = nullptr;
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    if (node.name() == norm.pieces.scaled.front()) last = &node;
  }
  if (const auto* mul = constant_step(model, walk, last->output(0), "Mul", norm.width, norm.scale)) {
    last = mul;
    norm.scaler = mul->name();
    norm.nodes.insert(mul->name());
    const auto* add =
        norm.subtracts_mean ? constant_step(model, walk, last->output(0), "Add", norm.width, norm.bias) : nullptr;
    if (add != nullptr) {
      last = add;
      norm.adder = add->name();
      norm.nodes.insert(add->name());
    }
  }
  if (norm.width == 0) return "the size of its last dimension is not known";
  norm.last = last->name();
  norm.output = last->output(0);
  return {};
}

}  // namespace vernier
