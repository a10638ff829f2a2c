#include "jobs/common/missing_weights.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>

#include "model/graph_edit.h"
#include "model/raw_proto.h"
#include "model/stripped_weights.h"
#include "model/type_protos.h"
#include "vernier/error.h"

namespace vernier {
namespace {

/// Nothing where the file is none: why was said when it was read as a model.
std::optional<onnx::ModelProto> message_of(const OnnxModel& source) {
  try {
    return read_raw_proto(source);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Input) throw;
    return std::nullopt;
  }
}

}  // namespace

Model MissingWeights::read(const OnnxModel& source, const std::filesystem::path& external_data_dir) {
  return read_by([&](const OnnxModel& model) { return read_model(model, external_data_dir); }, source);
}

Model MissingWeights::read_unhashed(const OnnxModel& source, const std::filesystem::path& external_data_dir) {
  return read_by([&](const OnnxModel& model) { return read_model_unhashed(model, external_data_dir); }, source);
}

Model MissingWeights::read_by(const std::function<Model(const OnnxModel&)>& reader, const OnnxModel& source) {
  try {
    return reader(source);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Input) throw;
    std::optional<onnx::ModelProto> proto = message_of(source);
    if (!proto) throw;
    onnx::GraphProto& graph = *proto->mutable_graph();
    for (const onnx::ValueInfoProto& input : graph.input()) inputs_.insert(input.name());
    auto* const weights = graph.mutable_initializer();
    const auto first = std::stable_partition(weights->begin(), weights->end(), std::not_fn(is_stripped));
    stripped_.assign(first, weights->end());
    if (stripped_.empty()) throw;
    weights->erase(first, weights->end());
    for (const onnx::TensorProto& tensor : stripped_) {
      if (!inputs_.contains(tensor.name())) add_input(graph, tensor);
    }
    return reader(OnnxModel::of_bytes(proto->SerializeAsString(), source.name(),
                                      source.in_memory() ? source.folder() : source.file().parent_path()));
  }
}

std::vector<std::string> MissingWeights::names() const {
  std::vector<std::string> names;
  for (const onnx::TensorProto& tensor : stripped_) names.push_back(tensor.name());
  return names;
}

void MissingWeights::put_back(Model& model) const {
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  const std::map<std::string, int> readers = count_readers(model);
  for (const onnx::TensorProto& tensor : stripped_) {
    auto* const inputs = graph.mutable_input();
    if (!inputs_.contains(tensor.name())) {
      inputs->erase(std::remove_if(inputs->begin(), inputs->end(),
                                   [&](const onnx::ValueInfoProto& input) { return input.name() == tensor.name(); }),
                    inputs->end());
    }
    const auto found = readers.find(tensor.name());
    if (is_initializer(model, tensor.name())) continue;
    if (found != readers.end() && found->second > 0) *graph.add_initializer() = tensor;
  }
}

}  // namespace vernier
