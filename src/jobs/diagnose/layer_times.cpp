#include "jobs/diagnose/layer_times.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "distributed/wire.h"
#include "engines/onnxruntime/session.h"
#include "jobs/common/node_times.h"
#include "vernier/samples.h"

namespace vernier {
namespace {

constexpr std::size_t kRuns = 9;

struct Profile {
  std::map<std::string, double> nodes;  // median microseconds
  std::map<std::string, double> by_operator;
};

Profile profile_of(const std::shared_ptr<const Runtime>& runtime, const Model& model, const Sample& sample) {
  const SessionOptions options{.optimize = true, .threads = 1, .integer_kernels = true};
  Profile profile;
  for (const NodeTime& time : node_times(runtime, model, options, sample, kRuns)) {
    profile.nodes[time.node] = time.microseconds;
    profile.by_operator[time.op_type] += time.microseconds;
  }
  return profile;
}

/// Elements that one run converts: of the tensors behind QuantizeLinear nodes that are no weights.
double converted_elements(const Model& low) {
  const std::map<std::string, ValueType> types = infer_types(low);
  double elements = 0;
  for (const onnx::NodeProto& node : low.proto.graph().node()) {
    if (node.op_type() != "QuantizeLinear") continue;
    const auto known = types.find(node.output(0));
    double count = 1;
    if (known != types.end()) {
      for (const std::int64_t dim : known->second.shape) count *= static_cast<double>(std::max<std::int64_t>(dim, 1));
    }
    elements += count;
  }
  return elements;
}

}  // namespace

LayerTimes measure_layer_times(const std::shared_ptr<const Runtime>& runtime, const Model& high, const Model& low,
                               const Sample& sample) {
  LayerTimes times;
  times.high = profile_of(runtime, high, sample).nodes;
  const Profile quantized = profile_of(runtime, low, sample);
  times.low = quantized.nodes;
  const auto spent = [&](const char* name) {
    const auto found = quantized.by_operator.find(name);
    return found == quantized.by_operator.end() ? 0.0 : found->second;
  };
  const double elements = converted_elements(low);
  if (elements > 0) times.per_converted_element = (spent("QuantizeLinear") + spent("DequantizeLinear")) / elements;
  return times;
}

LayerTimes times_of_first(Ranks& ranks, const std::function<LayerTimes()>& measure) {
  if (ranks.alone()) return measure();
  Packer packer;
  if (ranks.first()) {
    const LayerTimes times = measure();
    for (const auto* layers : {&times.high, &times.low}) {
      packer.put(layers->size());
      for (const auto& [layer, time] : *layers) {
        packer.put(layer);
        packer.put(time);
      }
    }
    packer.put(times.per_converted_element);
  }
  const std::vector<Message> all = ranks.share(packer.take());
  Unpacker unpacker(all.front());
  LayerTimes times;
  for (auto* layers : {&times.high, &times.low}) {
    for (auto left = unpacker.get<std::size_t>(); left > 0; --left) {
      const std::string layer = unpacker.get_text();
      (*layers)[layer] = unpacker.get<double>();
    }
  }
  times.per_converted_element = unpacker.get<double>();
  return times;
}

}  // namespace vernier
