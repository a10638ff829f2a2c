#include "analysis/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>

#include "analysis/reached_outputs.h"
#include "analysis/segment.h"
#include "analysis/surgery.h"
#include "distributed/spread.h"
#include "plan/placement.h"
#include "plan/round_node.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Types that are known of a model's tensors.
std::map<std::string, Dtype> known_types(const Subject& subject, const Model& model) {
  std::map<std::string, Dtype> types;
  for (const auto& [name, type] : infer_types(subject.model)) types[name] = type.dtype;
  for (const onnx::ValueInfoProto& value : model.proto.graph().value_info()) {
    types[value.name()] = static_cast<Dtype>(value.type().tensor_type().elem_type());
  }
  return types;
}

/// Tensors of `model`, the subject's own or what runs it, at the start of each segment, for each sample:
/// boundaries[segment][sample]. `constants` are inputs that no sample has.
std::vector<std::vector<Boundary>> reference_boundaries(const Subject& subject, const Model& original,
                                                        const std::vector<int>& starts,
                                                        const std::vector<std::size_t>& samples,
                                                        const Sample* constants) {
  const std::map<std::string, Dtype> types = known_types(subject, original);
  std::set<std::string> produced;
  for (const onnx::NodeProto& node : original.proto.graph().node()) {
    produced.insert(node.output().begin(), node.output().end());
  }
  std::vector<std::set<std::string>> live;
  std::set<std::string> all;
  for (const int start : starts) {
    live.push_back(live_at(original.proto.graph(), start));
    for (const std::string& name : live.back()) {
      if (produced.contains(name)) all.insert(name);
    }
  }
  Model model = original;
  std::vector<std::pair<std::string, Dtype>> outputs;
  for (const std::string& name : all) {
    const auto type = types.find(name);
    outputs.emplace_back(name, type == types.end() ? Dtype::Float32 : type->second);
  }
  if (outputs.empty()) {
    const InputInfo first = model_outputs(original).front();
    outputs.emplace_back(first.name, first.dtype);
  }
  set_outputs(model, outputs);
  const Session session =
      constants == nullptr ? subject.session(model) : Session(subject.runtime, model, {.optimize = false});
  std::vector<std::vector<Boundary>> boundaries(starts.size(), std::vector<Boundary>(samples.size()));
  std::size_t position = 0;
  const auto take = [&](SampleResult result) {
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
  };
  run_samples(subject, session, samples, {}, "boundary tensors", take, constants == nullptr ? Sample() : *constants);
  return boundaries;
}

/// Some of the samples on one segment.
struct SegmentPart {
  std::size_t segment = 0;
  std::size_t first = 0, end = 0;  // among the samples measured on
};

/// What a part found of one of its layers: of each sample, of the judged outputs that the layer reaches.
struct MeasuredLayer {
  std::string layer;
  struct Outcome {
    std::size_t output = 0;  // among the judged ones
    SampleOutcome outcome;
  };
  std::vector<std::vector<Outcome>> samples;
};

struct MeasuredPart {
  std::vector<MeasuredLayer> layers;
  std::size_t runs = 0;  // of its suffix, for each sample
};

void pack_part(const MeasuredPart& measured, Packer& packer) {
  packer.put(measured.runs);
  packer.put(measured.layers.size());
  for (const MeasuredLayer& layer : measured.layers) {
    packer.put(layer.layer);
    packer.put(layer.samples.size());
    for (const std::vector<MeasuredLayer::Outcome>& outputs : layer.samples) packer.put(outputs);
  }
}

MeasuredPart unpack_part(Unpacker& unpacker) {
  MeasuredPart measured;
  measured.runs = unpacker.get<std::size_t>();
  measured.layers.resize(unpacker.get<std::size_t>());
  for (MeasuredLayer& layer : measured.layers) {
    layer.layer = unpacker.get_text();
    layer.samples.resize(unpacker.get<std::size_t>());
    for (auto& outputs : layer.samples) outputs = unpacker.get_vector<MeasuredLayer::Outcome>();
  }
  return measured;
}

/// What a run from each start to the outputs costs, of a run of the whole network: half of it by nodes, half by bytes
/// that they write. Measured: by nodes alone the front of a network of large images costs twice what is said.
std::vector<double> suffix_shares(const onnx::GraphProto& graph, const std::map<std::string, std::size_t>& bytes_of,
                                  const std::vector<int>& starts) {
  std::vector<double> written(static_cast<std::size_t>(graph.node_size()) + 1, 0);  // by this node and those behind it
  for (int n = graph.node_size() - 1; n >= 0; --n) {
    double bytes = 1;
    for (const std::string& output : graph.node(n).output()) {
      if (const auto known = bytes_of.find(output); known != bytes_of.end())
        bytes += static_cast<double>(known->second);
    }
    written[static_cast<std::size_t>(n)] = written[static_cast<std::size_t>(n) + 1] + bytes;
  }
  std::vector<double> shares;
  for (const int start : starts) {
    const double nodes = static_cast<double>(graph.node_size() - start) / graph.node_size();
    shares.push_back((nodes + written[static_cast<std::size_t>(start)] / written.front()) / 2);
  }
  return shares;
}

/// Each segment in as few parts as let `workers` be busy equally long, parts of a segment in order; `finely`: a part
/// for each sample, where a part's session is made at once.
std::vector<SegmentPart> parts_of(const std::vector<double>& costs, std::size_t samples, std::size_t workers,
                                  bool finely) {
  const double all = std::accumulate(costs.begin(), costs.end(), 0.0);
  const double most = all / static_cast<double>(4 * workers);
  std::vector<SegmentPart> parts;
  for (std::size_t k = 0; k < costs.size(); ++k) {
    const auto every = std::max(1.0, static_cast<double>(samples));
    const double wanted = workers < 2 || costs[k] == 0 ? 1 : finely ? every : std::ceil(costs[k] / most);
    const auto count = static_cast<std::size_t>(std::clamp(wanted, 1.0, every));
    for (std::size_t part = 0; part < count; ++part) {
      parts.push_back({k, samples * part / count, samples * (part + 1) / count});
    }
  }
  return parts;
}

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

/// Bytes of tensors that only pass through operators that change no size, from those on either side.
void add_sizes_of_moved(const onnx::GraphProto& graph, std::map<std::string, std::size_t>& bytes_of) {
  const auto keeps_size = [](const onnx::NodeProto& node) {
    return node.domain() == kDomain || node.op_type().starts_with("Reorder") || node.op_type() == "QuickGelu" ||
           node.op_type() == "Relu" || node.op_type() == "Clip" || node.op_type() == "Sigmoid";
  };
  for (auto node = graph.node().rbegin(); node != graph.node().rend(); ++node) {
    const auto known = bytes_of.find(node->output(0));
    if (keeps_size(*node) && known != bytes_of.end()) bytes_of.emplace(node->input(0), known->second);
  }
  for (const onnx::NodeProto& node : graph.node()) {
    if (!keeps_size(node)) continue;
    const auto known = bytes_of.find(node.input(0));
    if (known != bytes_of.end()) bytes_of.emplace(node.output(0), known->second);
  }
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
                                    const SensitivityOptions& options, const SwitchedRuns* switched) {
  std::map<std::string, std::size_t> bytes_of;
  for (const auto& [name, shape] : reference.shapes) {
    bytes_of[name] = static_cast<std::size_t>(element_count(shape)) * sizeof(float);
  }
  const Model& model = switched == nullptr ? subject.model : switched->model();
  const int nodes = model.proto.graph().node_size();
  if (switched != nullptr) add_sizes_of_moved(model.proto.graph(), bytes_of);
  std::vector<int> starts = segment_starts(model.proto.graph(), bytes_of, options.segments);
  if (switched == nullptr) starts = with_activations(subject, plan, starts);
  const Sample as_float = switched == nullptr ? Sample() : switched->constants({});
  // A run costs what lies behind the start of its segment. Told in layers: those that as much work would be.
  std::map<std::string, int> place;
  for (int n = 0; n < nodes; ++n) place[model.proto.graph().node(n).name()] = n;
  const std::vector<double> suffix = suffix_shares(model.proto.graph(), bytes_of, starts);
  std::vector<double> costs(starts.size(), 0);
  for (const std::string& layer : layers) {
    const auto named = place.find(layer);
    const int at = switched != nullptr ? switched->place_of(layer) : named != place.end() ? named->second : -1;
    if (at < 0) continue;
    const auto k = static_cast<std::size_t>(std::ranges::upper_bound(starts, at) - starts.begin() - 1);
    costs[k] += suffix[k];
  }
  Ranks alone;
  Ranks& ranks = subject.ranks == nullptr ? alone : *subject.ranks;
  const std::vector<SegmentPart> parts = parts_of(
      costs, options.samples.size(), ranks.alone() ? 1 : ranks.size() * std::max<std::size_t>(1, subject.threads),
      /*finely=*/switched != nullptr);
  std::vector<double> part_costs;
  for (const SegmentPart& part : parts) {
    part_costs.push_back(costs[part.segment] * static_cast<double>(part.end - part.first));
  }
  // Each rank makes those that it needs: they are larger than what is computed of them.
  std::vector<std::size_t> place_of_sample(options.samples.size());
  std::vector<std::size_t> needed;
  const std::vector<std::size_t> rank_of = dealt_by_cost(part_costs, ranks.size());
  for (std::size_t s = 0; s < options.samples.size(); ++s) {
    const auto reads = [&](std::size_t p) {
      return rank_of[p] == ranks.rank() && parts[p].first <= s && s < parts[p].end;
    };
    place_of_sample[s] = needed.size();
    bool any = ranks.alone();
    for (std::size_t p = 0; p < parts.size(); ++p) any = any || reads(p);
    if (any) needed.push_back(options.samples[s]);
  }
  Subject here = subject;
  here.ranks = nullptr;
  const auto boundaries = reference_boundaries(here, model, starts, needed, switched == nullptr ? nullptr : &as_float);
  std::vector<std::vector<Tensor>> references;
  for (const std::size_t sample : needed) references.push_back(reference.outputs.get(sample));

  const ReachedOutputs reached(subject.model.proto.graph(), subject.judged);
  const auto segment_of = [&](std::size_t k) -> std::unique_ptr<Segment> {
    const int first = starts[k];
    const int last = k + 1 < starts.size() ? starts[k + 1] : nodes;
    const Boundary& example = boundaries[k].front();
    if (switched != nullptr) return switched_segment(subject, *switched, layers, first, last, example, reached);
    return injected_segment(subject, plan, layers, first, last, example, weights, reached);
  };
  // Each tells of its own part.
  const double work = std::accumulate(costs.begin(), costs.end(), 0.0) / static_cast<double>(ranks.size());
  std::mutex telling;
  double done = 0;
  const auto ran = [&](double runs, std::size_t k) {
    const std::lock_guard lock(telling);
    done += runs * suffix[k] / static_cast<double>(options.samples.size());
    if (!subject.progress || work <= 0) return;
    const auto all = static_cast<double>(layers.size());
    subject.progress("sensitivity", static_cast<std::size_t>(all * std::min(1.0, done / work)), layers.size());
  };
  // Parts side by side, each on one thread: so are their sessions built.
  const auto measure = [&](std::size_t p) {
    const SegmentPart& part = parts[p];
    const std::size_t k = part.segment;
    MeasuredPart found;
    const std::unique_ptr<Segment> segment = segment_of(k);
    const std::size_t size = segment->layers().size();
    found.layers.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      found.layers[i] = {segment->layers()[i].name, decltype(MeasuredLayer::samples)(part.end - part.first)};
    }
    const std::vector<std::vector<std::size_t>> groups = segment->groups(subject.judged.size());
    found.runs = groups.size();
    for (std::size_t s = part.first; s < part.end && size > 0; ++s) {
      segment->begin(boundaries[k][place_of_sample[s]]);
      for (const std::vector<std::size_t>& group : groups) {
        const std::vector<Tensor> outputs = segment->run(group);
        ran(static_cast<double>(group.size()), k);
        for (const std::size_t i : group) {
          for (std::size_t o = 0; o < subject.judged.size(); ++o) {
            if (!segment->layers()[i].reached.contains(o)) continue;
            const Tensor& ref = references[place_of_sample[s]][o];
            found.layers[i].samples[s - part.first].push_back(
                {o, outcome_of(ref, outputs.empty() ? ref : outputs[o], class_axis_of(subject, subject.judged[o]))});
          }
        }
      }
    }
    return found;
  };
  Sensitivities sensitivities;
  double share = 0;
  std::vector<LayerSensitivity> whole;  // of the segment whose parts are being taken
  const auto take = [&](std::size_t p, const MeasuredPart& found) {
    const SegmentPart& part = parts[p];
    whole.resize(found.layers.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      whole[i].layer = found.layers[i].layer;
      for (std::size_t s = part.first; s < part.end; ++s) {
        for (const auto& [output, outcome] : found.layers[i].samples[s - part.first]) {
          stats_of(whole[i].outputs, subject, subject.judged[output]).add(options.samples[s], outcome);
        }
      }
    }
    if (part.end < options.samples.size()) return true;
    share += static_cast<double>(nodes - starts[part.segment]) / nodes * static_cast<double>(found.runs);
    if (options.found && !whole.empty()) options.found(whole);
    for (LayerSensitivity& sensitivity : whole) sensitivities.layers.push_back(std::move(sensitivity));
    whole.clear();
    return true;
  };
  spread_by_cost(ranks, part_costs, subject.threads, measure, take, pack_part, unpack_part);
  if (!sensitivities.layers.empty())
    sensitivities.mean_suffix_share = share / static_cast<double>(sensitivities.layers.size());
  return sensitivities;
}

}  // namespace vernier
