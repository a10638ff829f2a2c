#include "analysis/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>

#include "analysis/own_error.h"
#include "analysis/reached_outputs.h"
#include "analysis/surgery.h"
#include "distributed/spread.h"
#include "engines/onnxruntime/operators.h"
#include "plan/placement.h"
#include "vernier/error.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Boundary = std::map<std::string, Tensor>;

/// Reference tensors at the start of each segment, for each sample: boundaries[segment][sample].
std::vector<std::vector<Boundary>> reference_boundaries(const Subject& subject, const std::vector<int>& starts,
                                                        const std::vector<std::size_t>& samples) {
  const std::map<std::string, ValueType> types = infer_types(subject.model);
  std::set<std::string> produced;
  for (const onnx::NodeProto& node : subject.model.proto.graph().node()) {
    produced.insert(node.output().begin(), node.output().end());
  }
  std::vector<std::set<std::string>> live;
  std::set<std::string> all;
  for (const int start : starts) {
    live.push_back(live_at(subject.model.proto.graph(), start));
    for (const std::string& name : live.back()) {
      if (produced.contains(name)) all.insert(name);
    }
  }
  Model model = subject.model;
  std::vector<std::pair<std::string, Dtype>> outputs;
  for (const std::string& name : all) {
    const auto type = types.find(name);
    outputs.emplace_back(name, type == types.end() ? Dtype::Float32 : type->second.dtype);
  }
  if (outputs.empty()) {
    const InputInfo first = model_outputs(subject.model).front();
    outputs.emplace_back(first.name, first.dtype);
  }
  set_outputs(model, outputs);
  const Session session = subject.session(model);
  std::vector<std::vector<Boundary>> boundaries(starts.size(), std::vector<Boundary>(samples.size()));
  std::size_t position = 0;
  run_samples(subject, session, samples, {}, "boundary tensors", [&](SampleResult result) {
    const Sample sample = subject.samples->at(result.index);
    std::map<std::string, Tensor> values(sample.begin(), sample.end());
    for (std::size_t i = 0; i < outputs.size(); ++i) values[outputs[i].first] = result.outputs[i];
    for (std::size_t k = 0; k < starts.size(); ++k) {
      for (const std::string& name : live[k]) {
        if (const auto value = values.find(name); value != values.end()) boundaries[k][position][name] = value->second;
      }
    }
    ++position;
    return true;
  });
  return boundaries;
}

struct MeasuredSegment {
  std::vector<LayerSensitivity> layers;
  std::size_t runs = 0;  // of its suffix, for each sample
};

void pack_segment(const MeasuredSegment& measured, Packer& packer) {
  packer.put(measured.runs);
  packer.put(measured.layers.size());
  for (const LayerSensitivity& sensitivity : measured.layers) {
    packer.put(sensitivity.layer);
    packer.put(sensitivity.outputs.size());
    for (const auto& [output, stats] : sensitivity.outputs) {
      packer.put(output);
      packer.put(static_cast<const OutputSums&>(stats));
    }
  }
}

MeasuredSegment unpack_segment(Unpacker& unpacker) {
  MeasuredSegment measured;
  measured.runs = unpacker.get<std::size_t>();
  measured.layers.resize(unpacker.get<std::size_t>());
  for (LayerSensitivity& sensitivity : measured.layers) {
    sensitivity.layer = unpacker.get_text();
    const auto outputs = unpacker.get<std::size_t>();
    for (std::size_t i = 0; i < outputs; ++i) {
      const std::string output = unpacker.get_text();
      static_cast<OutputSums&>(sensitivity.outputs[output]) = unpacker.get<OutputSums>();
    }
  }
  return measured;
}

std::map<std::string, Dtype> types_of(const Boundary& boundary) {
  std::map<std::string, Dtype> types;
  for (const auto& [name, tensor] : boundary) types[name] = tensor.dtype();
  return types;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.byte_size() == b.byte_size() && std::memcmp(a.bytes().data(), b.bytes().data(), a.byte_size()) == 0;
}

/// One segment: its shadows give each layer's low outputs, its suffix turns them into sensitivities.
class Segment {
 public:
  Segment(const Subject& subject, const Plan& plan, const std::vector<std::string>& layers, int first, int last,
          const Boundary& example, RoundedWeights& weights, const ReachedOutputs& reached)
      : subject_(subject) {
    const std::map<std::string, Dtype> inputs = types_of(example);
    Subject part = subject;
    part.model = slice_with_everything(first, last, inputs);
    part.model.proto.mutable_graph()->clear_output();
    shadows_ = add_shadows(part.model, subject, plan, layers, weights, nullptr);
    if (shadows_.empty()) return;
    for (const Shadow& shadow : shadows_) {
      for (std::size_t o = 0; o < shadow.outputs.size(); ++o) {
        add_output(part.model, shadow.outputs[o], Dtype::Float32);
        slots_[shadow.tensors[o]] = static_cast<std::int64_t>(slots_.size());
      }
    }
    for (const auto& [tensor, slot] : slots_) add_output(part.model, tensor, Dtype::Float32);
    drop_unread_inputs(part.model);
    shadow_session_.emplace(subject.session(part.model));

    std::map<std::string, Dtype> judged;
    for (const std::string& name : subject.judged) judged[name] = Dtype::Float32;
    Model suffix = slice(subject.model, first, subject.model.proto.graph().node_size(), inputs, judged);
    std::set<std::string> injected;
    for (const auto& [tensor, slot] : slots_) injected.insert(tensor);
    tap(*suffix.proto.mutable_graph(), injected,
        [&](const std::string& raw, const std::string& tensor) { return inject_node(raw, tensor, slots_.at(tensor)); });
    std::vector<std::pair<std::string, Dtype>> ordered;
    for (const std::string& name : subject.judged) ordered.emplace_back(name, Dtype::Float32);
    set_outputs(suffix, ordered);
    suffix_session_.emplace(subject.session(suffix));
    for (const Shadow& shadow : shadows_) reached_.push_back(reached.from_any(shadow.tensors));
  }

  std::size_t size() const { return shadows_.size(); }
  const std::string& layer(std::size_t i) const { return shadows_[i].layer->name; }
  /// Judged outputs that layer `i` can change, by their places.
  const OutputSet& reached(std::size_t i) const { return reached_[i]; }
  /// Layers whose sensitivities one run tells.
  std::vector<std::vector<std::size_t>> groups() const {
    return groups_that_never_meet(reached_, subject_.judged.size());
  }

  /// Low and reference outputs of all layers of the segment on one sample.
  Boundary lower(const Boundary& boundary) const {
    const std::vector<Tensor> outputs = shadow_session_->run(boundary);
    Boundary values;
    for (std::size_t i = 0; i < outputs.size(); ++i) values[shadow_session_->output_names()[i]] = outputs[i];
    return values;
  }

  /// Judged outputs with only the layers of `group` low. Empty when their low outputs equal the reference bit for bit.
  std::vector<Tensor> run(const std::vector<std::size_t>& group, const Boundary& boundary, const Boundary& lows) const {
    Recorder recorder;
    bool differs = false;
    for (const std::size_t i : group) {
      const Shadow& shadow = shadows_[i];
      for (std::size_t o = 0; o < shadow.outputs.size(); ++o) {
        const Tensor& low = lows.at(shadow.outputs[o]);
        const std::string& tensor = shadow.tensors[o];
        differs = differs || !same_bytes(low, lows.at(tensor));
        recorder.injections[slots_.at(tensor)] = low;
      }
    }
    if (!differs) return {};
    return suffix_session_->run(boundary, &recorder);
  }

 private:
  Model slice_with_everything(int first, int last, const std::map<std::string, Dtype>& inputs) const {
    std::map<std::string, Dtype> outputs;
    for (int n = first; n < last; ++n) {
      for (const std::string& name : subject_.model.proto.graph().node(n).output()) {
        if (!name.empty()) outputs[name] = Dtype::Float32;
      }
    }
    return slice(subject_.model, first, last, inputs, outputs);
  }

  static void drop_unread_inputs(Model& model) {
    std::set<std::string> read;
    for (const onnx::NodeProto& node : model.proto.graph().node()) read.merge(tensors_read(node));
    auto& inputs = *model.proto.mutable_graph()->mutable_input();
    inputs.erase(std::remove_if(inputs.begin(), inputs.end(),
                                [&](const onnx::ValueInfoProto& value) { return !read.contains(value.name()); }),
                 inputs.end());
  }

  const Subject& subject_;
  std::vector<Shadow> shadows_;
  std::vector<OutputSet> reached_;             // by each shadow
  std::map<std::string, std::int64_t> slots_;  // layer output -> Inject slot
  std::optional<Session> shadow_session_;
  std::optional<Session> suffix_session_;
};

/// Segment starts moved forward so that none lies between a layer and the activation that its result is taken behind.
std::vector<int> with_activations(const Subject& subject, const Plan& plan, const std::vector<int>& starts) {
  const onnx::GraphProto& graph = subject.model.proto.graph();
  std::map<std::string, const Layer*> by_name;
  for (const Layer& layer : subject.layers) by_name[layer.name] = &layer;
  const Placement placement(subject.model, graph, by_name, plan, runs_on_codes(by_name, plan));
  std::map<std::string, int> position;
  for (int n = 0; n < graph.node_size(); ++n) position[graph.node(n).name()] = n;
  // The last position of each layer that nothing before it reaches beyond.
  std::vector<int> reach(static_cast<std::size_t>(graph.node_size()), 0);
  for (int n = 0; n < graph.node_size(); ++n) {
    const onnx::NodeProto* activation = placement.activation_of(graph.node(n));
    const bool absorbed = activation != nullptr && placement.passes_codes(activation->name());
    const int end = absorbed ? position.at(activation->name()) : n;
    reach[static_cast<std::size_t>(n)] = std::max(end, n == 0 ? 0 : reach[static_cast<std::size_t>(n - 1)]);
  }
  std::vector<int> moved;
  for (const int start : starts) {
    int at = start;
    while (at > 0 && at < graph.node_size() && reach[static_cast<std::size_t>(at - 1)] >= at) ++at;
    if (at < graph.node_size() && (moved.empty() || at > moved.back())) moved.push_back(at);
  }
  return moved;
}

/// The sizes of live_at() in front of each node, all in one pass.
std::vector<std::size_t> live_bytes(const onnx::GraphProto& graph, const std::map<std::string, std::size_t>& bytes_of) {
  struct Life {
    std::ptrdiff_t first = 0;  // in front of this node
    std::ptrdiff_t last = -1;  // to in front of this one
  };
  std::map<std::string, Life> lives;
  for (const onnx::ValueInfoProto& input : graph.input()) lives[input.name()];
  for (int n = 0; n < graph.node_size(); ++n) {
    for (const std::string& name : tensors_read(graph.node(n))) {
      if (const auto life = lives.find(name); life != lives.end()) life->second.last = n;
    }
    for (const std::string& output : graph.node(n).output()) {
      if (!output.empty()) lives[output].first = n + 1;
    }
  }
  for (const onnx::ValueInfoProto& output : graph.output()) {
    if (const auto life = lives.find(output.name()); life != lives.end()) life->second.last = graph.node_size();
  }
  std::vector<std::size_t> more(static_cast<std::size_t>(graph.node_size()) + 2, 0);
  std::vector<std::size_t> less = more;
  for (const auto& [name, life] : lives) {
    if (life.last < life.first) continue;
    const auto known = bytes_of.find(name);
    const std::size_t bytes = known == bytes_of.end() ? 64 : known->second;
    more[static_cast<std::size_t>(life.first)] += bytes;
    less[static_cast<std::size_t>(life.last) + 1] += bytes;
  }
  std::vector<std::size_t> sizes;
  std::size_t size = 0;
  for (std::size_t at = 0; at < static_cast<std::size_t>(graph.node_size()); ++at) {
    size += more[at];
    size -= less[at];
    sizes.push_back(size);
  }
  return sizes;
}

}  // namespace

std::set<std::string> live_at(const onnx::GraphProto& graph, int at) {
  std::set<std::string> before;
  for (const onnx::ValueInfoProto& input : graph.input()) before.insert(input.name());
  for (int n = 0; n < at; ++n) before.insert(graph.node(n).output().begin(), graph.node(n).output().end());
  std::set<std::string> live;
  for (int n = at; n < graph.node_size(); ++n) {
    for (const std::string& name : tensors_read(graph.node(n))) {
      if (before.contains(name)) live.insert(name);
    }
  }
  for (const onnx::ValueInfoProto& output : graph.output()) {
    if (before.contains(output.name())) live.insert(output.name());
  }
  live.erase("");
  return live;
}

std::vector<int> segment_starts(const onnx::GraphProto& graph, const std::map<std::string, std::size_t>& bytes_of,
                                std::size_t segments) {
  std::vector<int> starts{0};
  const int nodes = graph.node_size();
  const std::vector<std::size_t> live = live_bytes(graph, bytes_of);
  const auto size_at = [&](int at) { return live[static_cast<std::size_t>(at)]; };
  const int stride = std::max(1, nodes / static_cast<int>(std::max<std::size_t>(1, segments)));
  for (int target = stride; target < nodes; target += stride) {
    int best = target;
    std::size_t best_bytes = size_at(target);
    for (int at = std::max(starts.back() + 1, target - stride / 3); at <= std::min(nodes - 1, target + stride / 3);
         ++at) {
      const std::size_t bytes = size_at(at);
      if (bytes < best_bytes) {
        best = at;
        best_bytes = bytes;
      }
    }
    if (best > starts.back()) starts.push_back(best);
  }
  return starts;
}

Sensitivities measure_sensitivities(const Subject& subject, const Plan& plan, const std::vector<std::string>& layers,
                                    const Reference& reference, RoundedWeights& weights,
                                    const SensitivityOptions& options) {
  std::map<std::string, std::size_t> bytes_of;
  for (const auto& [name, shape] : reference.shapes) {
    bytes_of[name] = static_cast<std::size_t>(element_count(shape)) * sizeof(float);
  }
  const int nodes = subject.model.proto.graph().node_size();
  const std::vector<int> starts =
      with_activations(subject, plan, segment_starts(subject.model.proto.graph(), bytes_of, options.segments));
  // Every rank has them all: they are larger than what is computed of them.
  Subject here = subject;
  here.ranks = nullptr;
  const auto boundaries = reference_boundaries(here, starts, options.samples);
  std::vector<std::vector<Tensor>> references;
  for (const std::size_t sample : options.samples) references.push_back(reference.outputs.get(sample));

  const ReachedOutputs reached(subject.model.proto.graph(), subject.judged);
  // Segments side by side, each on one thread: building their sessions takes as long as running them.
  Sensitivities sensitivities;
  double share = 0;
  const auto measure = [&](std::size_t k) {
    const int first = starts[k];
    const int last = k + 1 < starts.size() ? starts[k + 1] : nodes;
    MeasuredSegment found;
    const Segment segment(subject, plan, layers, first, last, boundaries[k].front(), weights, reached);
    found.layers.resize(segment.size());
    for (std::size_t i = 0; i < segment.size(); ++i) found.layers[i].layer = segment.layer(i);
    const std::vector<std::vector<std::size_t>> groups = segment.groups();
    found.runs = groups.size();
    for (std::size_t s = 0; s < options.samples.size() && segment.size() > 0; ++s) {
      const Boundary lows = segment.lower(boundaries[k][s]);
      for (const std::vector<std::size_t>& group : groups) {
        const std::vector<Tensor> outputs = segment.run(group, boundaries[k][s], lows);
        for (const std::size_t i : group) {
          for (std::size_t o = 0; o < subject.judged.size(); ++o) {
            if (!segment.reached(i).contains(o)) continue;
            const Tensor& ref = references[s][o];
            stats_of(found.layers[i].outputs, subject, subject.judged[o])
                .add_sample(options.samples[s], ref, outputs.empty() ? ref : outputs[o]);
          }
        }
      }
    }
    return found;
  };
  const auto take = [&](std::size_t k, MeasuredSegment found) {
    share += static_cast<double>(nodes - starts[k]) / nodes * static_cast<double>(found.runs);
    for (LayerSensitivity& sensitivity : found.layers) sensitivities.layers.push_back(std::move(sensitivity));
    if (subject.progress) subject.progress("sensitivity", sensitivities.layers.size(), layers.size());
    return true;
  };
  Ranks alone;
  spread_ordered(subject.ranks == nullptr ? alone : *subject.ranks, starts.size(), subject.threads, measure, take,
                 pack_segment, unpack_segment);
  if (!sensitivities.layers.empty())
    sensitivities.mean_suffix_share = share / static_cast<double>(sensitivities.layers.size());
  return sensitivities;
}

}  // namespace vernier
