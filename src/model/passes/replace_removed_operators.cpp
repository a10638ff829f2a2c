#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"
#include "model/pieces.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/tensor.h"

namespace vernier::passes {
namespace {

/// A chain of elementwise nodes in the place of `node`: the last one keeps its name and output.
class Chain {
 public:
  Chain(Model& model, onnx::GraphProto& graph, const onnx::NodeProto& node, NamePool& names)
      : pieces_(model, graph, node, names), value_(node.input(0)) {}

  void apply(const std::string& op_type) { value_ = pieces_.add(op_type, {value_}); }

  void apply(const std::string& op_type, const std::string& parameter, const Tensor& with) {
    apply(op_type);
    pieces_.last().add_input(pieces_.constant("." + parameter, with));
  }

  onnx::NodeProto& last() { return pieces_.last(); }

  std::vector<onnx::NodeProto> finish() {
    if (pieces_.empty()) apply("Identity");
    return pieces_.finish();
  }

 private:
  Pieces pieces_;
  std::string value_;
};

void scale_by(Chain& chain, float factor) {
  if (factor != 1.0F) chain.apply("Mul", "scale", Tensor::of({}, std::vector<float>{factor}));
}

void image_scaler(Chain& chain, const onnx::NodeProto& node) {
  scale_by(chain, attribute_float(node, "scale", 1.0F));
  const onnx::AttributeProto* bias = find_attribute(node, "bias");
  if (bias == nullptr || bias->floats_size() == 0) return;
  const std::vector<float> values(bias->floats().begin(), bias->floats().end());
  chain.apply("Add", "bias", Tensor::of({1, bias->floats_size(), 1, 1}, values));
}

void affine(Chain& chain, const onnx::NodeProto& node) {
  scale_by(chain, attribute_float(node, "alpha", 1.0F));
  const float beta = attribute_float(node, "beta", 0.0F);
  if (beta != 0.0F) chain.apply("Add", "beta", Tensor::of({}, std::vector<float>{beta}));
}

void crop(Chain& chain, const onnx::NodeProto& node) {
  const std::vector<std::int64_t> border = attribute_ints(node, "border");
  const std::vector<std::int64_t> size = attribute_ints(node, "scale");
  const bool sensible = std::all_of(border.begin(), border.end(), [](std::int64_t b) { return b >= 0; });
  if (border.size() != 4 || !sensible || (!size.empty() && size.size() != 2)) {
    throw Error(
        ErrorCode::UnknownOperator,
        fmt::format("node '{}' (Crop): 'border' needs 4 values of 0 or more and scale 2, the file has {} and {}",
                    printable(node.name()), border.size(), size.size()));
  }
  const std::int64_t left = border[0];
  const std::int64_t top = border[1];
  // A Slice end of 0 would mean an empty slice; beyond the end it means all of it.
  const auto to_end = [](std::int64_t b) { return b == 0 ? std::numeric_limits<std::int32_t>::max() : -b; };
  chain.apply("Slice");
  set_attribute(chain.last(), "axes", std::vector<std::int64_t>{2, 3});
  set_attribute(chain.last(), "starts", std::vector<std::int64_t>{top, left});
  const bool sized = !size.empty();
  set_attribute(
      chain.last(), "ends",
      std::vector<std::int64_t>{sized ? top + size[0] : to_end(border[3]), sized ? left + size[1] : to_end(border[2])});
}

void parametric_softplus(Chain& chain, const onnx::NodeProto& node) {
  if (const float beta = attribute_float(node, "beta", 1.0F); beta != 1.0F) {
    chain.apply("Mul", "beta", Tensor::of({}, std::vector<float>{beta}));
  }
  chain.apply("Softplus");
  scale_by(chain, attribute_float(node, "alpha", 1.0F));
}

void scaled_tanh(Chain& chain, const onnx::NodeProto& node) {
  if (const float beta = attribute_float(node, "beta", 1.0F); beta != 1.0F) {
    chain.apply("Mul", "beta", Tensor::of({}, std::vector<float>{beta}));
  }
  chain.apply("Tanh");
  scale_by(chain, attribute_float(node, "alpha", 1.0F));
}

struct Rule {
  const char* op_type;
  void (*rewrite)(Chain&, const onnx::NodeProto&);
};
constexpr Rule kRules[] = {{"ImageScaler", image_scaler},
                           {"Affine", affine},
                           {"Crop", crop},
                           {"ParametricSoftplus", parametric_softplus},
                           {"ScaledTanh", scaled_tanh}};

}  // namespace

Outcome replace_removed_operators(Model& model, const Context&) {
  // Broadcasting of Mul and Add by shape alone, and Slice with attributes, is what opsets 7 to 9 have.
  const int opset = default_opset(model.proto);
  NamePool names(model);
  std::map<std::string, int> counts;
  for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (int i = 0; i < graph.node_size(); ++i) {
      const onnx::NodeProto node = graph.node(i);
      const auto rule = std::find_if(std::begin(kRules), std::end(kRules),
                                     [&](const Rule& r) { return node.op_type() == r.op_type; });
      if (rule == std::end(kRules) || !of_onnx(node)) continue;
      if (opset < 7 || opset > 9 || node.input_size() != 1 || node.output_size() != 1) {
        throw Error(ErrorCode::UnknownOperator,
                    fmt::format("node '{}': operator {} of opset {} was removed from ONNX and cannot be replaced",
                                printable(node.name()), node.op_type(), opset));
      }
      Chain chain(model, graph, node, names);
      rule->rewrite(chain, node);
      replace_node(graph, i, chain.finish());
      ++counts[node.op_type()];
    }
  });
  Outcome outcome;
  for (const auto& [op_type, count] : counts) {
    outcome.notes.push_back({"removed-operators-replaced", {{"count", count}, {"operator", op_type}}});
    outcome.changed_arithmetic = true;
  }
  return outcome;
}

}  // namespace vernier::passes
