#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"
#include "vernier/tensor.h"

namespace vernier::passes {
namespace {

bool may_differ(const onnx::NodeProto& node) {
  // A Dropout may be one that trains.
  return has_body(node) || has(node, Trait::Random) || is_onnx(node, "Dropout") || !of_onnx(node);
}

/// Everything of a node but its names.
std::string work_of(const onnx::NodeProto& node) {
  onnx::NodeProto work = node;
  work.clear_name();
  work.clear_doc_string();
  work.clear_metadata_props();
  for (std::string& output : *work.mutable_output()) output = output.empty() ? "" : "_";
  std::sort(work.mutable_attribute()->begin(), work.mutable_attribute()->end(),
            [](const onnx::AttributeProto& a, const onnx::AttributeProto& b) { return a.name() < b.name(); });
  return work.SerializeAsString();
}

std::size_t merge_initializers(Model& model) {
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  std::map<std::string, std::string> first;
  std::size_t merged = 0;
  const std::set<std::string> outputs = all_graph_outputs(model);
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    if (outputs.contains(tensor.name()) || tensor.data_type() == onnx::TensorProto::STRING) continue;
    const std::optional<Tensor> value = initializer(model, tensor.name());
    // Large weights that are equal are rare, and looking for them reads them all.
    if (!value || value->byte_size() > kWeightBytes) continue;
    std::string key = fmt::format("{} {} ", dtype_name(value->dtype()), shape_text(value->shape()));
    key.append(reinterpret_cast<const char*>(value->bytes().data()), value->byte_size());
    const auto [known, fresh] = first.emplace(key, tensor.name());
    if (fresh) continue;
    rename_reads(graph, tensor.name(), known->second);
    ++merged;
  }
  return merged;
}

}  // namespace

Outcome merge_equal_nodes(Model& model, const Context&) {
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  const std::set<std::string> outputs = all_graph_outputs(model);
  merge_initializers(model);
  std::map<std::string, const onnx::NodeProto*> first;
  std::set<std::string> gone;
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    if (may_differ(node)) continue;
    const auto [known, fresh] = first.emplace(work_of(node), &node);
    if (fresh) continue;
    if (std::any_of(node.output().begin(), node.output().end(),
                    [&](const std::string& name) { return outputs.contains(name); })) {
      continue;
    }
    for (int i = 0; i < node.output_size(); ++i) {
      if (!node.output(i).empty()) rename_reads(graph, node.output(i), known->second->output(i));
    }
    gone.insert(node.name());
  }
  remove_nodes(graph, [&](const onnx::NodeProto& node) { return gone.contains(node.name()); });
  remove_leftovers(model);
  Outcome outcome;
  if (!gone.empty()) outcome.notes.push_back({"equal-nodes-merged", {{"count", gone.size()}}});
  return outcome;
}

}  // namespace vernier::passes
