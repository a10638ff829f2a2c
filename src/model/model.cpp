#include "model/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/notes.h"
#include "model/raw_proto.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {

struct InitializerIndex {
  std::unordered_map<std::string, int> places;  // of the main graph's
  bool in_bodies = false;                       // bodies have some, too
};

namespace {

template <class Graph, class Visit>
void visit_graphs(Graph& graph, const Visit& visit) {
  visit(graph);
  for (auto& node : *[&] {
         if constexpr (std::is_const_v<Graph>) {
           return &graph.node();
         } else {
           return graph.mutable_node();
         }
       }()) {
    if constexpr (std::is_const_v<Graph>) {
      for (const onnx::AttributeProto& attribute : node.attribute()) {
        if (attribute.has_g()) visit_graphs(attribute.g(), visit);
        for (const onnx::GraphProto& body : attribute.graphs()) visit_graphs(body, visit);
      }
    } else {
      for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) visit_graphs(*attribute.mutable_g(), visit);
        for (onnx::GraphProto& body : *attribute.mutable_graphs()) visit_graphs(body, visit);
      }
    }
  }
}

/// The index speaks of as many initializers as the main graph has.
bool knows_all(const Model& model) {
  return model.index != nullptr &&
         model.proto.graph().initializer_size() == static_cast<int>(model.index->places.size());
}

const onnx::TensorProto* find_initializer(const Model& model, std::string_view name) {
  const auto& initializers = model.proto.graph().initializer();
  if (model.index != nullptr) {
    const auto place = model.index->places.find(std::string(name));
    if (place != model.index->places.end()) {
      if (place->second < initializers.size() && initializers.Get(place->second).name() == name) {
        return &initializers.Get(place->second);
      }
    } else if (!model.index->in_bodies && knows_all(model)) {
      return nullptr;
    }
  }
  const onnx::TensorProto* found = nullptr;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      if (found == nullptr && tensor.name() == name) found = &tensor;
    }
  });
  return found;
}

InputInfo info_of(const onnx::ValueInfoProto& value) {
  InputInfo info;
  info.name = value.name();
  info.dtype = static_cast<Dtype>(value.type().tensor_type().elem_type());
  info.any_shape = value.type().has_tensor_type() && !value.type().tensor_type().has_shape();
  for (const auto& dim : value.type().tensor_type().shape().dim()) {
    info.shape.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  }
  return info;
}

void collect_reads(const onnx::NodeProto& node, std::set<std::string>& reads) {
  for (const std::string& input : node.input()) {
    if (!input.empty()) reads.insert(input);
  }
  for_each_body(node, [&](const onnx::GraphProto& body) {
    for (const onnx::NodeProto& inner : body.node()) collect_reads(inner, reads);
    for (const onnx::ValueInfoProto& output : body.output()) reads.insert(output.name());
  });
}

}  // namespace

std::set<std::string> tensors_read(const onnx::NodeProto& node) {
  std::set<std::string> reads;
  collect_reads(node, reads);
  return reads;
}

void for_each_graph(onnx::GraphProto& graph, const std::function<void(onnx::GraphProto&)>& visit) {
  visit_graphs(graph, visit);
}

void for_each_graph(const onnx::GraphProto& graph, const std::function<void(const onnx::GraphProto&)>& visit) {
  visit_graphs(graph, visit);
}

onnx::ModelProto whole_proto(const Model& model) {
  std::size_t total = model.proto.ByteSizeLong() + (model.notes ? model.notes->bytes : 0);
  for (const auto& [name, tensor] : model.weights) total += tensor.byte_size();
  if (total > 2'000'000'000U) {
    throw Error(ErrorCode::ModelTooLarge,
                fmt::format("the model takes {} bytes, more than the 2 GB that one ONNX file can hold", total));
  }
  onnx::ModelProto whole = model.proto;
  if (model.notes) put_back_notes(*model.notes, whole);
  for_each_graph(*whole.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
      const auto weight = model.weights.find(tensor.name());
      if (weight != model.weights.end()) tensor = proto_of(weight->second, tensor.name());
    }
  });
  return whole;
}

void index_initializers(Model& model) {
  auto index = std::make_shared<InitializerIndex>();
  const auto& initializers = model.proto.graph().initializer();
  for (int i = 0; i < initializers.size(); ++i) index->places.emplace(initializers.Get(i).name(), i);
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    index->in_bodies = index->in_bodies || (&graph != &model.proto.graph() && graph.initializer_size() > 0);
  });
  model.index = std::move(index);
}

std::optional<Tensor> initializer(const Model& model, std::string_view name) {
  const auto weight = model.weights.find(std::string(name));
  if (weight != model.weights.end()) return weight->second;
  const onnx::TensorProto* found = find_initializer(model, name);
  if (found == nullptr) return std::nullopt;
  // Strings, such as names of classes, are constants without numbers: whoever asks sees the type, and no element.
  if (found->data_type() == onnx::TensorProto::STRING) return Tensor(Dtype::String, {0});
  return tensor_of(*found);
}

bool is_initializer(const Model& model, std::string_view name) {
  return model.weights.contains(std::string(name)) || find_initializer(model, name) != nullptr;
}

void remove_initializers(Model& model, const std::set<std::string>& names) {
  model.index.reset();
  for (const std::string& name : names) model.weights.erase(name);
  for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    auto& list = *graph.mutable_initializer();
    list.erase(std::remove_if(list.begin(), list.end(),
                              [&](const onnx::TensorProto& tensor) { return names.contains(tensor.name()); }),
               list.end());
  });
}

void set_initializer(Model& model, onnx::GraphProto& graph, const std::string& name, const Tensor& value) {
  auto& list = *graph.mutable_initializer();
  onnx::TensorProto* slot = nullptr;
  if (&graph == &model.proto.graph() && knows_all(model)) {
    const auto place = model.index->places.find(name);
    if (place != model.index->places.end() && list.Get(place->second).name() == name)
      slot = list.Mutable(place->second);
  } else {
    const auto same = std::ranges::find(list, name, &onnx::TensorProto::name);
    if (same != list.end()) slot = &*same;
  }
  if (slot == nullptr) return add_initializer(model, graph, name, value);
  store_initializer(model, *slot, name, value);
}

void add_initializer(Model& model, onnx::GraphProto& graph, const std::string& name, const Tensor& value) {
  if (model.index != nullptr) {
    if (model.index.use_count() > 1) model.index = std::make_shared<InitializerIndex>(*model.index);
    if (&graph == &model.proto.graph()) {
      model.index->places.emplace(name, graph.initializer_size());
    } else {
      model.index->in_bodies = true;
    }
  }
  store_initializer(model, *graph.add_initializer(), name, value);
}

void store_initializer(Model& model, onnx::TensorProto& slot, const std::string& name, const Tensor& value) {
  model.weights.erase(name);
  if (value.byte_size() < kWeightBytes) {
    slot = proto_of(value, name);
    return;
  }
  slot = onnx::TensorProto();  // Clear() would keep the memory
  slot.set_name(name);
  slot.set_data_type(static_cast<int>(value.dtype()));
  for (const std::int64_t dim : value.shape()) slot.add_dims(dim);
  slot.set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto& location = *slot.add_external_data();
  location.set_key("location");
  location.set_value("weights");  // replaced by the bytes in Model::weights wherever the model goes
  model.weights[name] = value;
}

std::vector<InputInfo> model_inputs(const Model& model) {
  std::vector<InputInfo> infos;
  for (const onnx::ValueInfoProto& input : model.proto.graph().input()) infos.push_back(info_of(input));
  return infos;
}

std::vector<InputInfo> model_outputs(const Model& model) {
  std::vector<InputInfo> infos;
  for (const onnx::ValueInfoProto& output : model.proto.graph().output()) infos.push_back(info_of(output));
  return infos;
}

std::vector<std::string> input_names(const Model& model) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& input : model.proto.graph().input()) names.push_back(input.name());
  return names;
}

std::size_t bytes_beside(const Model& model) {
  std::size_t bytes = 0;
  for (const auto& [name, weight] : model.weights) bytes += weight.byte_size();
  return bytes;
}

std::vector<std::string> output_names(const Model& model) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& output : model.proto.graph().output()) names.push_back(output.name());
  return names;
}

int default_opset(const onnx::ModelProto& proto) {
  for (const onnx::OperatorSetIdProto& opset : proto.opset_import()) {
    if (opset.domain().empty() || opset.domain() == "ai.onnx") return static_cast<int>(opset.version());
  }
  return 0;
}

int ir_version_of_opset(int opset) {
  if (opset >= 25) return 12;
  if (opset >= 23) return 11;
  if (opset >= 21) return 10;
  if (opset >= 19) return 9;
  if (opset >= 15) return 8;
  if (opset >= 12) return 7;
  if (opset >= 11) return 6;
  if (opset >= 10) return 5;
  return 4;  // the first in which initializers need not be graph inputs
}

std::int64_t portable_ir_version(const onnx::ModelProto& proto) {
  const std::int64_t needed = std::max(10, ir_version_of_opset(default_opset(proto)));
  return std::clamp<std::int64_t>(proto.ir_version(), 4, needed);
}

void set_opset(onnx::ModelProto& proto, const std::string& domain, int version) {
  for (onnx::OperatorSetIdProto& opset : *proto.mutable_opset_import()) {
    if (opset.domain() == domain) {
      opset.set_version(version);
      return;
    }
  }
  onnx::OperatorSetIdProto& opset = *proto.add_opset_import();
  opset.set_domain(domain);
  opset.set_version(version);
}

NamePool::NamePool(const Model& model) {
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::ValueInfoProto& value : graph.input()) taken_.emplace(value.name(), 1);
    for (const onnx::TensorProto& tensor : graph.initializer()) taken_.emplace(tensor.name(), 1);
    for (const onnx::NodeProto& node : graph.node()) {
      if (!node.name().empty()) taken_.emplace(node.name(), 1);
      for (const std::string& output : node.output()) taken_.emplace(output, 1);
    }
  });
}

std::string NamePool::unique(const std::string& wanted) {
  auto [entry, fresh] = taken_.try_emplace(wanted, 1);
  if (fresh) return wanted;
  for (;;) {
    std::string candidate = fmt::format("{}#{}", wanted, ++entry->second);
    if (taken_.try_emplace(candidate, 1).second) return candidate;
  }
}

}  // namespace vernier
