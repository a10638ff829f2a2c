#include "jobs/common/gpu_pays.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

#include "model/graph_edit.h"
#include "model/layers.h"
#include "model/sample_shapes.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

// diagnose with a limit: ViT-B/16 with 64 images is 1.1e12 and 7.4 times as fast, ResNet-50 with 64 is 2.6e11 and twice
// as fast, MobileNetV2 with 100 is 3e10 and takes 5 times as long. Jobs of fewer passes gain less.
constexpr double kPaysFrom = 5e11;

double pays_from() {
  const char* const given = std::getenv("VERNIER_GPU_FROM");
  return given == nullptr ? kPaysFrom : std::strtod(given, nullptr);
}

}  // namespace

double multiply_accumulates_of(const Model& model, const Sample& sample) {
  const std::map<std::string, Shape> shapes = shapes_for(model, sample);
  const std::map<std::string, const onnx::NodeProto*> nodes = nodes_by_name(model.proto.graph());
  double all = 0;
  for (const Layer& layer : find_layers(model)) {
    if (!layer.graph.empty()) continue;
    const auto found = nodes.find(layer.name);
    if (found == nodes.end()) continue;
    const onnx::NodeProto& node = *found->second;
    const bool known = std::ranges::all_of(tensors_of_products(layer, node), [&](const std::string& tensor) {
      return shapes.contains(tensor) || is_initializer(model, tensor);
    });
    if (known) all += static_cast<double>(multiply_accumulates(model, layer, node, shapes));
  }
  return all;
}

bool gpu_pays(const Model& model, const SampleSource& samples, const std::set<Format>& formats) {
  if (formats.size() < 2 || samples.size() == 0) return false;
  try {
    return multiply_accumulates_of(model, samples.at(0)) * static_cast<double>(samples.size()) >= pays_from();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Interrupted) throw;
    return false;  // what is wrong with the sample or the model is told later
  }
}

}  // namespace vernier
