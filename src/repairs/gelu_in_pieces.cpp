#include "repairs/gelu_in_pieces.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <optional>
#include <vector>

#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr int kMostNodes = 16;  // on a way through a GELU: exporters write 5 to 9

bool is_elementwise(const onnx::NodeProto& node) {
  for (const char* op_type : {"Add", "Sub", "Mul", "Div", "Pow", "Erf", "Tanh", "Neg"}) {
    if (node.op_type() == op_type) return true;
  }
  return false;
}

/// A constant that does not widen what it meets.
std::optional<double> scalar(const Model& model, const std::string& name) {
  const std::optional<Tensor> value = initializer(model, name);
  if (!value || value->count() != 1 || value->shape().size() > 1) return {};
  if (value->dtype() == Dtype::Int64) return static_cast<double>(value->int64s()[0]);  // exponents may be
  if (value->dtype() != Dtype::Float32) return {};
  return static_cast<double>(value->floats()[0]);
}

/// What nodes make of one number.
class ScalarFunction {
 public:
  ScalarFunction(const Model& model, const GraphWalk& walk, std::string from)
      : model_(model), walk_(walk), from_(std::move(from)) {}

  /// Of `tensor` where the tensor it begins at is `x`; nothing where it depends on anything else.
  std::optional<double> operator()(const std::string& tensor, double x, int depth = 0) {
    if (tensor == from_) return x;
    const onnx::NodeProto* node = walk_.maker(tensor);
    if (node == nullptr) return scalar(model_, tensor);
    if (depth > kMostNodes || !is_elementwise(*node)) return {};
    const std::optional<double> a = (*this)(node->input(0), x, depth + 1);
    const std::optional<double> b = node->input_size() > 1 ? (*this)(node->input(1), x, depth + 1) : 0.0;
    if (!a || !b) return {};
    nodes.insert(node->name());
    const double value = result(node->op_type(), *a, *b);
    largest = std::max(largest, std::abs(value));
    return value;
  }

  std::set<std::string> nodes;  // that were asked
  double largest = 0;           // magnitude that any of them made

 private:
  static double result(const std::string& op, double a, double b) {
    if (op == "Add") return a + b;
    if (op == "Sub") return a - b;
    if (op == "Mul") return a * b;
    if (op == "Div") return a / b;
    if (op == "Pow") return std::pow(a, b);
    if (op == "Erf") return std::erf(a);
    return op == "Tanh" ? std::tanh(a) : -a;
  }

  const Model& model_;
  const GraphWalk& walk_;
  std::string from_;
};

double gelu_of(double x, bool tanh) {
  if (!tanh) return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

/// Constants are written with five digits and more; the two forms differ by up to 5e-4.
bool is_gelu(ScalarFunction& function, const std::string& result, bool tanh) {
  for (double x = -6; x <= 6; x += 0.375) {
    const std::optional<double> value = function(result, x);
    if (!value || !(std::abs(*value - gelu_of(x, tanh)) <= 2e-5 * (1 + std::abs(x)))) return false;
  }
  return true;
}

/// Tensors that the curve's argument may begin at, nearest first.
std::vector<std::string> beginnings(const GraphWalk& walk, const onnx::NodeProto& curve) {
  std::vector<std::string> found{curve.input(0)};
  for (std::size_t i = 0; i < found.size() && found.size() < kMostNodes; ++i) {
    const onnx::NodeProto* node = walk.maker(found[i]);
    if (node == nullptr || !is_elementwise(*node)) continue;
    for (const std::string& input : node->input()) {
      if (std::ranges::find(found, input) == found.end()) found.push_back(input);
    }
  }
  return found;
}

}  // namespace

std::string read_gelu(const Model& model, const GraphWalk& walk, const onnx::NodeProto& curve, GeluInPieces& gelu) {
  gelu.curve = curve.name();
  gelu.tanh = curve.op_type() == "Tanh";
  const onnx::NodeProto* last = nullptr;
  const std::vector<std::string> candidates = beginnings(walk, curve);
  const onnx::NodeProto* node = &curve;
  for (int i = 0; i < kMostNodes && last == nullptr; ++i) {
    const auto& readers = walk.readers(node->output(0));
    if (readers.size() != 1 || !is_elementwise(*readers.front())) break;
    node = readers.front();
    for (const std::string& x : candidates) {
      ScalarFunction function(model, walk, x);
      if (is_initializer(model, x) || !is_gelu(function, node->output(0), gelu.tanh)) continue;
      gelu.x = x;
      gelu.nodes = std::move(function.nodes);
      last = node;
      break;
    }
  }
  if (last == nullptr) return "it is not part of a GELU";
  gelu.last = last->name();
  ScalarFunction argument(model, walk, gelu.x);
  argument(curve.input(0), 1);
  gelu.argument = std::move(argument.nodes);
  for (const onnx::NodeProto& piece : model.proto.graph().node()) {
    if (!gelu.nodes.contains(piece.name()) || &piece == last) continue;
    for (const onnx::NodeProto* reader : walk.readers(piece.output(0))) {
      if (!gelu.nodes.contains(reader->name())) return "another layer reads one of its nodes";
    }
    for (const auto& output : model.proto.graph().output()) {
      if (output.name() == piece.output(0)) return "one of its nodes is an output of the network";
    }
  }
  return {};
}

double largest_in_argument(const Model& model, const GraphWalk& walk, const GeluInPieces& gelu, double x) {
  ScalarFunction argument(model, walk, gelu.x);
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    if (gelu.argument.contains(node.name())) argument(node.output(0), x);
  }
  return argument.largest;
}

}  // namespace vernier
