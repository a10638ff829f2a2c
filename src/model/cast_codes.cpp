#include "model/cast_codes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/graph_edit.h"
#include "model/model.h"
#include "model/operator_traits.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Node = onnx::NodeProto;

bool is_float_type(std::int64_t type) {
  return type == onnx::TensorProto::FLOAT || type == onnx::TensorProto::FLOAT16 || type == onnx::TensorProto::BFLOAT16;
}

/// Types that no tensor has for another reason than to be small.
bool is_tiny_type(std::int64_t type) {
  return (type >= onnx::TensorProto::FLOAT8E4M3FN && type <= onnx::TensorProto::FLOAT8E5M2FNUZ) ||
         type == onnx::TensorProto::UINT4 || type == onnx::TensorProto::INT4 || type == onnx::TensorProto::FLOAT4E2M1;
}

bool is_byte_type(std::int64_t type) { return type == onnx::TensorProto::INT8 || type == onnx::TensorProto::UINT8; }

class CastReader {
 public:
  explicit CastReader(const Model& model) : model_(model) {
    for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
      for (const onnx::TensorProto& constant : graph.initializer()) constants_[constant.name()] = &constant;
      for (const Node& node : graph.node()) {
        if (is_onnx(node, "Cast")) casts_.push_back(&node);
        if (is_onnx(node, "Constant") && node.attribute_size() == 1 && node.attribute(0).has_t()) {
          constants_[node.output(0)] = &node.attribute(0).t();
          values_[node.output(0)] = &node.attribute(0).t();
        }
        for (const std::string& output : node.output()) makers_[output] = &node;
        for (const std::string& input : node.input()) readers_[input].push_back(&node);
      }
    });
  }

  bool any() const {
    return std::ranges::any_of(casts_, [&](const Node* cast) {
      const std::int64_t to = attribute_int(*cast, "to", 0);
      if (is_tiny_type(to)) return !constants_.contains(cast->input(0)) || reaches_product(cast->output(0));
      return is_float_type(to) && (decodes(*cast) || rounds(cast->input(0)));
    });
  }

  std::set<std::string> weights() const {
    std::set<std::string> found;
    for (const Node* cast : casts_) {
      if (is_float_type(attribute_int(*cast, "to", 0)) && decodes(*cast)) found.insert(cast->output(0));
    }
    return found;
  }

 private:
  const Node* maker(const std::string& tensor) const {
    const auto found = makers_.find(tensor);
    return found == makers_.end() || found->second->input_size() == 0 ? nullptr : found->second;
  }

  /// A constant of codes, moved perhaps, that a weight is made of.
  bool decodes(const Node& cast) const {
    std::string source = cast.input(0);
    for (const Node* node = maker(source); node != nullptr && has(*node, Trait::Moves); node = maker(source)) {
      source = node->input(0);
    }
    const auto constant = constants_.find(source);
    if (constant == constants_.end()) return false;
    const int type = constant->second->data_type();
    const bool codes = is_tiny_type(type) || (is_byte_type(type) && holds_codes(source, *constant->second));
    return codes && reaches_product(cast.output(0));
  }

  /// Not a mask.
  bool holds_codes(const std::string& name, const onnx::TensorProto& proto) const {
    if (proto.dims_size() < 2) return false;
    const auto stored = values_.find(name);
    const std::optional<Tensor> value =
        stored == values_.end() ? initializer(model_, name) : std::optional(tensor_of(*stored->second));
    if (!value) return false;
    const std::set<std::byte> distinct(value->bytes().begin(), value->bytes().end());
    return distinct.size() > 2;
  }

  /// Whether a layer with weights reads `tensor`, behind nodes that move it or compute with constants.
  bool reaches_product(const std::string& tensor) const {
    std::set<std::string> seen;
    std::vector<std::string> open = {tensor};
    while (!open.empty()) {
      const std::string next = open.back();
      open.pop_back();
      const auto readers = readers_.find(next);
      if (readers == readers_.end() || !seen.insert(next).second) continue;
      for (const Node* node : readers->second) {
        if (has(*node, Trait::Weighted)) return true;
        const bool with_constants = std::ranges::all_of(
            node->input(), [&](const std::string& input) { return seen.contains(input) || is_constant(input); });
        const bool passes = is_onnx(*node, "Cast") || (has(*node, Trait::Moves) && node->input(0) == next) ||
                            (has(*node, Trait::Elementwise) && with_constants);
        if (passes) open.insert(open.end(), node->output().begin(), node->output().end());
      }
    }
    return false;
  }

  bool is_constant(const std::string& tensor) const {
    if (constants_.contains(tensor)) return true;
    const Node* node = maker(tensor);
    const auto known = [&](const std::string& input) { return input.empty() || constants_.contains(input); };
    return node != nullptr && std::ranges::all_of(node->input(), known);
  }

  /// Whether `tensor` was rounded to integers and cast to bytes, clipped perhaps.
  bool rounds(const std::string& tensor) const {
    const Node* node = maker(tensor);
    if (node == nullptr || !is_onnx(*node, "Cast") || !is_byte_type(attribute_int(*node, "to", 0))) return false;
    for (node = maker(node->input(0)); node != nullptr; node = maker(node->input(0))) {
      if (is_onnx(*node, "Round")) return true;
      const bool limits = is_onnx(*node, "Clip") || is_onnx(*node, "Min") || is_onnx(*node, "Max");
      if (!limits && !is_onnx(*node, "Add")) return false;
    }
    return false;
  }

  const Model& model_;
  std::map<std::string, const onnx::TensorProto*> constants_, values_;  // values_: of Constant nodes
  std::map<std::string, const Node*> makers_;
  std::map<std::string, std::vector<const Node*>> readers_;
  std::vector<const Node*> casts_;
};

bool has_casts(const Model& model) {
  bool casts = false;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    casts = casts || std::ranges::any_of(graph.node(), [](const Node& node) { return is_onnx(node, "Cast"); });
  });
  return casts;
}

}  // namespace

bool casts_quantized_values(const Model& model) { return has_casts(model) && CastReader(model).any(); }

std::set<std::string> decoded_weights(const Model& model) {
  return has_casts(model) ? CastReader(model).weights() : std::set<std::string>();
}

}  // namespace vernier
