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

struct EngineProfile {
  std::map<std::string, double> layers;  // microseconds
  double others = 0;                     // of kernels that compute no layer
};

EngineProfile profile_on(EngineRunner& engine, const Model& file, const SampleSource& samples) {
  const EngineReport report = engine.open(file, samples);
  const Sample sample = samples.at(0);
  TimeRequest warm_up;
  warm_up.sample = &sample;
  engine.time(warm_up);
  std::map<std::string, std::vector<std::string>> computed;  // by kernel
  for (const EngineKernel& kernel : report.kernels) computed[kernel.name] = {};
  for (const EngineLayer& layer : report.layers) {
    if (layer.kernel) computed[report.kernels[*layer.kernel].name].push_back(layer.name);
  }
  EngineProfile profile;
  for (const EngineKernelTime& time : engine.kernel_times(kRuns)) {
    const double microseconds = 1e6 * time.seconds;
    const std::vector<std::string>& layers = computed[time.name];
    if (layers.empty()) profile.others += microseconds;
    for (const std::string& layer : layers) profile.layers[layer] += microseconds / static_cast<double>(layers.size());
  }
  return profile;
}

}  // namespace

LayerTimes measure_layer_times(EngineRunner& engine, const Model& high, const Model& low, const SampleSource& samples) {
  const EngineProfile in_high = profile_on(engine, high, samples);
  const EngineProfile in_low = profile_on(engine, low, samples);
  LayerTimes times{in_high.layers, in_low.layers, 0, {}};
  const double elements = converted_elements(low);
  if (elements > 0) times.per_converted_element = std::max(0.0, in_low.others - in_high.others) / elements;
  return times;
}

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

bool has_kernels_on_cpu(Format format) { return format == Format::Int8 || format == Format::UInt8; }

void add_rungs(LayerTimes& times, const Experiment& experiment, const std::function<bool(Format)>& runs,
               const std::function<LayerTimes::OfLayers(const Plan&)>& measure) {
  const PlannedFormats lowest(experiment.all_low_plan());
  const auto add = [&](const Plan& plan, const LayerTimes::OfLayers& measured) {
    const PlannedFormats formats(plan);
    for (const Layer* layer : experiment.candidates()) {
      const Format format = formats.of(layer->name);
      const auto time = measured.find(layer->name);
      if (format == lowest.of(layer->name) || !runs(format) || time == measured.end()) continue;
      times.rungs[format].emplace(layer->name, time->second);
    }
  };
  for (const Layer* layer : experiment.candidates()) {
    const auto in_high = times.high.find(layer->name);
    if (!runs(lowest.of(layer->name)) && in_high != times.high.end()) times.low[layer->name] = in_high->second;
  }
  for (const Plan& plan : experiment.ends()) {
    const PlannedFormats formats(plan);
    const bool any = std::ranges::any_of(experiment.candidates(), [&](const Layer* layer) {
      const Format format = formats.of(layer->name);
      return format != lowest.of(layer->name) && runs(format);
    });
    if (any) add(plan, measure(plan));
  }
}

LayerTimes times_of_first(Ranks& ranks, const std::function<LayerTimes()>& measure) {
  if (ranks.alone()) return measure();
  Packer packer;
  const auto put = [&](const LayerTimes::OfLayers& layers) {
    packer.put(layers.size());
    for (const auto& [layer, time] : layers) {
      packer.put(layer);
      packer.put(time);
    }
  };
  if (ranks.first()) {
    const LayerTimes times = measure();
    put(times.high);
    put(times.low);
    packer.put(times.per_converted_element);
    packer.put(times.rungs.size());
    for (const auto& [format, layers] : times.rungs) {
      packer.put(std::string(format_name(format)));
      put(layers);
    }
  }
  const std::vector<Message> all = ranks.share(packer.take());
  Unpacker unpacker(all.front());
  const auto get = [&] {
    LayerTimes::OfLayers layers;
    for (auto left = unpacker.get<std::size_t>(); left > 0; --left) {
      const std::string layer = unpacker.get_text();
      layers[layer] = unpacker.get<double>();
    }
    return layers;
  };
  LayerTimes times;
  times.high = get();
  times.low = get();
  times.per_converted_element = unpacker.get<double>();
  for (auto left = unpacker.get<std::size_t>(); left > 0; --left) {
    const Format format = parse_format(unpacker.get_text()).value();
    times.rungs[format] = get();
  }
  return times;
}

}  // namespace vernier
