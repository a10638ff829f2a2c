// What `vernier bench` measured in the files that trtexec writes, for programs that read these.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "json/json.h"
#include "vernier/report/bench.h"

namespace vernier {
namespace {

Json tensors_for_trtexec(const std::vector<EngineTensor>& tensors) {
  Json list = Json::array();
  for (const EngineTensor& tensor : tensors) {
    Json one = Json::object();
    one["Name"] = tensor.name;
    one["Datatype"] = tensor.type;
    one["Format"] = tensor.layout;
    list.add(std::move(one));
  }
  return list;
}

}  // namespace

std::string times_for_trtexec(const BenchRow& row) {
  Json list = Json::array();
  for (const double ms : row.milliseconds) {
    Json one = Json::object();
    one["computeMs"] = ms;
    list.add(std::move(one));
  }
  return json_text(list, kPrettyJson) + "\n";
}

std::string profile_for_trtexec(const BenchRow& row) {
  double whole = 0;
  for (const BenchLayer& layer : row.layers) whole += layer.ms;
  Json list = Json::array();
  Json count = Json::object();
  count["count"] = row.profiled;
  list.add(std::move(count));
  for (const BenchLayer& layer : row.layers) {
    Json one = Json::object();
    one["name"] = layer.kernel;
    one["medianMs"] = layer.ms;
    one["percentage"] = whole > 0 ? 100 * layer.ms / whole : 0.0;
    list.add(std::move(one));
  }
  return json_text(list, kPrettyJson) + "\n";
}

std::string layers_for_trtexec(const BenchRow& row) {
  Json layers = Json::array();
  for (const EngineKernel& kernel : row.built ? row.built->kernels : std::vector<EngineKernel>{}) {
    Json one = Json::object();
    one["Name"] = kernel.name;
    one["LayerType"] = kernel.kind;
    one["Inputs"] = tensors_for_trtexec(kernel.inputs);
    one["Constants"] = tensors_for_trtexec(kernel.constants);
    one["Outputs"] = tensors_for_trtexec(kernel.outputs);
    one["TacticName"] = kernel.tactic;
    std::string metadata;
    for (const std::string& node : kernel.nodes) {
      metadata += fmt::format("{}[ONNX Layer: {}]", metadata.empty() ? "" : "\x1e", node);
    }
    one["Metadata"] = metadata;
    layers.add(std::move(one));
  }
  Json document = Json::object();
  document["Layers"] = std::move(layers);
  return json_text(document, kPrettyJson) + "\n";
}

}  // namespace vernier
