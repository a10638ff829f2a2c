#include "analysis/surgery.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engines/onnxruntime/operators.h"
#include "model/graph_edit.h"
#include "plan/round_node.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

onnx::ValueInfoProto value_info(const std::string& name, Dtype dtype) {
  onnx::ValueInfoProto value;
  value.set_name(name);
  value.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(dtype));
  return value;
}

using Rename = std::function<std::string(const std::string&)>;

void rename_all(onnx::GraphProto& graph, const Rename& rename) {
  const auto apply = [&](std::string& name) {
    if (!name.empty()) name = rename(name);
  };
  for (onnx::ValueInfoProto& value : *graph.mutable_input()) value.set_name(rename(value.name()));
  for (onnx::ValueInfoProto& value : *graph.mutable_output()) value.set_name(rename(value.name()));
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) tensor.set_name(rename(tensor.name()));
  graph.clear_value_info();
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    node.set_name(kLow + node.name());
    for (std::string& name : *node.mutable_input()) apply(name);
    for (std::string& name : *node.mutable_output()) apply(name);
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) rename_all(*attribute.mutable_g(), rename);
    }
  }
}

/// Names of the low half that mean the same thing in the reference: graph inputs and weights that share their bytes.
std::set<std::string> shared_names(const Model& ref, const Model& low, const std::vector<Carry>& carries) {
  std::set<std::string> shared;
  for (const onnx::ValueInfoProto& input : ref.proto.graph().input()) {
    const bool carried =
        std::any_of(carries.begin(), carries.end(), [&](const Carry& carry) { return carry.input == input.name(); });
    if (!carried) shared.insert(input.name());
  }
  std::map<std::string, const onnx::TensorProto*> initializers;
  for (const onnx::TensorProto& tensor : ref.proto.graph().initializer()) initializers[tensor.name()] = &tensor;
  for (const onnx::TensorProto& tensor : low.proto.graph().initializer()) {
    const auto same = initializers.find(tensor.name());
    if (same == initializers.end()) continue;
    const auto ref_weight = ref.weights.find(tensor.name());
    const auto low_weight = low.weights.find(tensor.name());
    const bool equal = ref_weight != ref.weights.end() && low_weight != low.weights.end()
                           ? ref_weight->second.bytes().data() == low_weight->second.bytes().data()
                           : ref_weight == ref.weights.end() && low_weight == low.weights.end() &&
                                 same->second->SerializeAsString() == tensor.SerializeAsString();
    if (equal) shared.insert(tensor.name());
  }
  return shared;
}

}  // namespace

void tap(onnx::GraphProto& graph, const std::set<std::string>& tensors,
         const std::function<onnx::NodeProto(const std::string&, const std::string&)>& make) {
  std::set<std::string> taken;
  for (const onnx::NodeProto& node : graph.node()) taken.insert(node.output().begin(), node.output().end());
  std::vector<onnx::NodeProto> made;
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (std::string& output : *node.mutable_output()) {
      if (output.empty() || !tensors.contains(output)) continue;
      const std::string name = output;
      do output += "/raw";
      while (taken.contains(output));
      made.push_back(make(output, name));
      made.back().set_name(made.back().name() + output.substr(name.size()));  // no two nodes may have one name
    }
  }
  for (onnx::NodeProto& node : made) *graph.add_node() = std::move(node);
}

Model join(const Model& ref, const Model& low, const std::vector<Match>& matches,
           const std::vector<std::string>& outputs, const std::vector<Carry>& carries) {
  const std::set<std::string> shared = shared_names(ref, low, carries);
  const Rename rename = [&](const std::string& name) { return shared.contains(name) ? name : kLow + name; };

  Model twin = ref;
  twin.index.reset();
  onnx::GraphProto& graph = *twin.proto.mutable_graph();
  graph.clear_value_info();
  onnx::ModelProto low_proto = low.proto;
  onnx::GraphProto& half = *low_proto.mutable_graph();
  rename_all(half, rename);
  for (onnx::NodeProto& node : *half.mutable_node()) graph.add_node()->Swap(&node);
  for (onnx::TensorProto& tensor : *half.mutable_initializer()) {
    if (!shared.contains(tensor.name())) graph.add_initializer()->Swap(&tensor);
  }
  for (const auto& [name, weight] : low.weights) {
    if (!shared.contains(name)) twin.weights[kLow + name] = weight;
  }
  for (const onnx::ValueInfoProto& input : half.input()) {
    if (!shared.contains(input.name())) *graph.add_input() = input;
  }
  for (const onnx::OperatorSetIdProto& opset : low.proto.opset_import()) {
    if (!opset.domain().empty()) set_opset(twin.proto, opset.domain(), static_cast<int>(opset.version()));
  }

  // Both producers step aside, and Compare writes both names: whatever reads either tensor waits for the comparison.
  std::set<std::string> produced;
  for (const onnx::NodeProto& node : graph.node()) produced.insert(node.output().begin(), node.output().end());
  std::set<std::string> compared;
  std::vector<onnx::NodeProto> comparisons;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    const std::string got = kLow + matches[i].low;
    if (!produced.contains(matches[i].ref) || !produced.contains(got)) continue;
    compared.insert(matches[i].ref);
    compared.insert(got);
    comparisons.push_back(
        compare_node(matches[i].ref + "/raw", got + "/raw", matches[i].ref, got, static_cast<std::int64_t>(i)));
  }
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (std::string& output : *node.mutable_output()) {
      if (compared.contains(output)) output += "/raw";
    }
  }
  for (onnx::NodeProto& node : comparisons) *graph.add_node() = std::move(node);

  std::map<std::string, Dtype> dtypes;
  for (const InputInfo& output : model_outputs(ref)) dtypes[output.name] = output.dtype;
  std::vector<std::string> wanted = outputs;
  for (const Carry& carry : carries) {
    if (std::find(wanted.begin(), wanted.end(), carry.output) == wanted.end()) wanted.push_back(carry.output);
  }
  std::vector<std::pair<std::string, Dtype>> listed;
  for (const std::string& name : wanted) listed.emplace_back(name, dtypes[name]);
  for (const std::string& name : wanted) listed.emplace_back(rename(name), dtypes[name]);
  set_outputs(twin, listed);
  return twin;
}

Model slice(const Model& model, int first, int last, const std::map<std::string, Dtype>& inputs,
            const std::map<std::string, Dtype>& outputs) {
  Model piece;
  piece.path = model.path;
  piece.proto.set_ir_version(model.proto.ir_version());
  *piece.proto.mutable_opset_import() = model.proto.opset_import();
  onnx::GraphProto& graph = *piece.proto.mutable_graph();
  graph.set_name("slice");
  std::set<std::string> needed;
  for (const auto& [name, dtype] : outputs) needed.insert(name);
  std::vector<int> kept;
  for (int i = last - 1; i >= first; --i) {
    const onnx::NodeProto& node = model.proto.graph().node(i);
    if (std::none_of(node.output().begin(), node.output().end(),
                     [&](const std::string& output) { return needed.contains(output); })) {
      continue;
    }
    kept.push_back(i);
    for (const std::string& name : tensors_read(node)) needed.insert(name);
  }
  for (auto i = kept.rbegin(); i != kept.rend(); ++i) *graph.add_node() = model.proto.graph().node(*i);
  for (const onnx::TensorProto& tensor : model.proto.graph().initializer()) {
    if (needed.contains(tensor.name())) *graph.add_initializer() = tensor;
  }
  for (const auto& [name, weight] : model.weights) {
    piece.weights[name] = weight;
  }
  for (const auto& [name, dtype] : inputs) {
    if (needed.contains(name)) *graph.add_input() = value_info(name, dtype);
  }
  for (const auto& [name, dtype] : outputs) *graph.add_output() = value_info(name, dtype);
  return piece;
}

void set_outputs(Model& model, const std::vector<std::pair<std::string, Dtype>>& outputs) {
  model.proto.mutable_graph()->clear_output();
  for (const auto& [name, dtype] : outputs) add_output(model, name, dtype);
}

void add_output(Model& model, const std::string& name, Dtype dtype) {
  *model.proto.mutable_graph()->add_output() = value_info(name, dtype);
}

}  // namespace vernier
