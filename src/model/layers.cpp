#include "model/layers.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "model/graph_edit.h"
#include "model/input_role.h"
#include "model/operator_traits.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

bool is_float(Dtype dtype) {
  return dtype == Dtype::Float32 || dtype == Dtype::Float16 || dtype == Dtype::BFloat16 || dtype == Dtype::Float64;
}

/// Where each tensor of a model comes from, over all graphs.
class DataPath {
 public:
  DataPath(const Model& model, const std::map<std::string, ValueType>& types)
      : opset_(default_opset(model.proto)), types_(types), constants_(initializer_names(model)) {
    index(model.proto.graph());
    for (const onnx::ValueInfoProto& input : model.proto.graph().input()) {
      varying_.insert(input.name());
      inputs_.insert(input.name());
    }
    mark_varying(model.proto.graph());
    for (const onnx::ValueInfoProto& output : model.proto.graph().output()) want(output.name());
    while (!pending_.empty()) {
      const std::string tensor = pending_.back();
      pending_.pop_back();
      walk_back(tensor);
    }
  }

  /// A node that enter_caches() added: a Sum of one input, behind a join of a graph input.
  bool holds_cache(const onnx::NodeProto& node) const {
    if (node.doc_string() != kCacheEntry || node.input_size() != 1) return false;
    const auto join = sources_.find(node.input(0));
    return join != sources_.end() && joins_cache(*join->second.node, inputs_);
  }

  bool wanted(const std::string& tensor) const { return wanted_.contains(tensor); }
  bool varies(const std::string& tensor) const { return varying_.contains(tensor); }
  bool constant(const std::string& tensor) const { return constants_.contains(tensor); }
  int opset() const { return opset_; }

  /// By inference where it knows, else by schema: behind an operator that ONNX does not know nothing is inferred.
  bool float_output(const onnx::NodeProto& node, int i) const {
    const auto type = types_.find(node.output(i));
    if (type != types_.end() && type->second.dtype != Dtype::Undefined) return is_float(type->second.dtype);
    return may_output_float(node, i, opset_);
  }
  bool float_tensor(const std::string& name) const {
    const auto type = types_.find(name);
    return type == types_.end() || type->second.dtype == Dtype::Undefined || is_float(type->second.dtype);
  }

 private:
  struct Source {
    const onnx::NodeProto* node = nullptr;  // the producer, or the node whose body has the tensor as an input
    int body_input = -1;
    const onnx::GraphProto* body = nullptr;
  };

  void index(const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& output : node.output()) sources_[output] = {&node, -1, nullptr};
      for_each_body(node, [&](const onnx::GraphProto& body) {
        for (int i = 0; i < body.input_size(); ++i) sources_[body.input(i).name()] = {&node, i, &body};
        index(body);
      });
    }
  }

  /// A tensor varies when its values depend on values of a graph input; what depends on shapes only is as good as
  /// constant.
  void mark_varying(const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      bool varies = !has(node, Trait::ReadsShape) &&
                    std::any_of(node.input().begin(), node.input().end(),
                                [&](const std::string& input) { return varying_.contains(input); });
      for_each_body(node, [&](const onnx::GraphProto& body) {
        for (const onnx::ValueInfoProto& input : body.input()) varying_.insert(input.name());
        mark_varying(body);
        for (const onnx::ValueInfoProto& output : body.output()) varies = varies || varying_.contains(output.name());
      });
      if (varies) varying_.insert(node.output().begin(), node.output().end());
    }
  }

  void want(const std::string& tensor) {
    if (!tensor.empty() && wanted_.insert(tensor).second) pending_.push_back(tensor);
  }

  void walk_back(const std::string& tensor) {
    const auto source = sources_.find(tensor);
    if (source == sources_.end()) return;
    const onnx::NodeProto& node = *source->second.node;
    if (source->second.body_input >= 0) {
      walk_out_of_body(node, *source->second.body, source->second.body_input);
      return;
    }
    bool has_body = false;
    for_each_body(node, [&](const onnx::GraphProto& body) {
      has_body = true;
      const auto at = std::find(node.output().begin(), node.output().end(), tensor) - node.output().begin();
      // The first output of a Loop's body is its condition.
      const auto inner = static_cast<int>(at) + (node.op_type() == "Loop" ? 1 : 0);
      if (inner < body.output_size()) want(body.output(inner).name());
    });
    if (has_body) return;
    for (int i = 0; i < node.input_size(); ++i) {
      if (input_role(node, i, opset_) == InputRole::Data) want(node.input(i));
    }
  }

  /// A body's input is the node's own input at first, and what the body hands to its next turn afterwards.
  void walk_out_of_body(const onnx::NodeProto& node, const onnx::GraphProto& body, int input) {
    if (input < node.input_size()) want(node.input(input));
    if (node.op_type() == "Loop" && input >= 2 && input - 1 < body.output_size()) want(body.output(input - 1).name());
    if (node.op_type() == "Scan") {
      const std::int64_t states = body.input_size() - attribute_int(node, "num_scan_inputs", 0);
      if (input < states && input < body.output_size()) want(body.output(input).name());
    }
  }

  int opset_;
  const std::map<std::string, ValueType>& types_;
  std::set<std::string> constants_;
  std::set<std::string> inputs_;
  std::unordered_map<std::string, Source> sources_;
  std::unordered_set<std::string> varying_;
  std::unordered_set<std::string> wanted_;
  std::vector<std::string> pending_;
};

Layer layer_of(const onnx::NodeProto& node, const std::string& graph, const DataPath& path) {
  Layer layer;
  layer.name = node.name();
  layer.op_type = node.op_type();
  layer.graph = graph;
  for (int i = 0; i < node.input_size(); ++i) {
    const InputRole role = input_role(node, i, path.opset());
    const std::string& input = node.input(i);
    if (input.empty() || role == InputRole::Other || !path.float_tensor(input)) continue;
    if (path.constant(input)) {
      layer.weights.push_back(input);
    } else if (role == InputRole::Data) {
      layer.inputs.push_back(input);
    }
  }
  for (int i = 0; i < node.output_size(); ++i) {
    if (!node.output(i).empty() && path.float_output(node, i)) layer.outputs.push_back(node.output(i));
  }
  layer.traits = traits_of(node);
  layer.follows = layer.traits.any(kFollows);
  layer.weighted = layer.traits.any(Trait::Weighted);
  layer.cache = graph.empty() && path.holds_cache(node);
  if (layer.cache) layer.op_type = "KvCache";
  return layer;
}

void collect(const onnx::GraphProto& graph, const std::string& holder, const DataPath& path,
             std::vector<Layer>& layers) {
  for (const onnx::NodeProto& node : graph.node()) {
    bool has_body = false;
    for_each_body(node, [&](const onnx::GraphProto& body) {
      has_body = true;
      collect(body, node.name(), path, layers);
    });
    if (has_body || has(node, Trait::NeverLayer)) continue;
    const bool on_path = std::any_of(node.output().begin(), node.output().end(), [&](const std::string& output) {
      return path.wanted(output) && path.varies(output);
    });
    if (!on_path) continue;
    Layer layer = layer_of(node, holder, path);
    if (!layer.outputs.empty()) layers.push_back(std::move(layer));
  }
}

}  // namespace

Dtype other_float_type(const Layer& layer, const std::map<std::string, ValueType>& types) {
  for (const std::vector<std::string>* names : {&layer.inputs, &layer.weights, &layer.outputs}) {
    for (const std::string& name : *names) {
      const auto type = types.find(name);
      if (type == types.end() || type->second.dtype == Dtype::Undefined) continue;
      if (type->second.dtype != Dtype::Float32) return type->second.dtype;
    }
  }
  return Dtype::Float32;
}

std::vector<Layer> find_float32_layers(const Model& model, std::vector<std::string>* others) {
  const std::map<std::string, ValueType> types = infer_types(model);
  std::vector<Layer> layers = find_layers(model, types);
  std::erase_if(layers, [&](const Layer& layer) {
    const bool other = other_float_type(layer, types) != Dtype::Float32;
    if (other && others != nullptr) others->push_back(layer.name);
    return other;
  });
  return layers;
}

bool joins_cache(const onnx::NodeProto& node, const std::set<std::string>& inputs) {
  const bool joins = (is_onnx(node, "Concat") && node.input_size() == 2) || is_onnx(node, "TensorScatter");
  return joins && inputs.contains(node.input(0));
}

std::vector<Layer> find_layers(const Model& model) { return find_layers(model, infer_types(model)); }

std::vector<Layer> find_layers(const Model& model, const std::map<std::string, ValueType>& types) {
  const DataPath path(model, types);
  std::vector<Layer> layers;
  collect(model.proto.graph(), "", path, layers);
  return layers;
}

}  // namespace vernier
