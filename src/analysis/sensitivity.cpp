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
#include "analysis/segment_starts.h"
#include "analysis/surgery.h"
#include "distributed/spread.h"
#include "plan/placement.h"
#include "plan/round_node.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// boundaries[segment][sample]
using Boundaries = std::vector<std::vector<Boundary>>;

/// Tensors of the float model at the start of each segment, for each sample.
Boundaries reference_boundaries(const Subject& subject, const std::vector<int>& starts,
                                const std::vector<std::size_t>& samples) {
  const onnx::GraphProto& graph = subject.model.proto.graph();
  std::map<std::string, Dtype> types;
  for (const auto& [name, type] : infer_types(subject.model)) types[name] = type.dtype;
  std::set<std::string> produced;
  for (const onnx::NodeProto& node : graph.node()) produced.insert(node.output().begin(), node.output().end());
  std::vector<std::set<std::string>> live;
  std::set<std::string> all;
  for (const int start : starts) {
    live.push_back(live_at(graph, start));
    for (const std::string& name : live.back()) {
      if (produced.contains(name)) all.insert(name);
    }
  }
  Model model = subject.model;
  std::vector<std::pair<std::string, Dtype>> outputs;
  for (const std::string& name : all) {
    const auto type = types.find(name);
    outputs.emplace_back(name, type == types.end() ? Dtype::Float32 : type->second);
  }
  if (outputs.empty()) {
    const InputInfo first = model_outputs(subject.model).front();
    outputs.emplace_back(first.name, first.dtype);
  }
  set_outputs(model, outputs);
  const Session session = subject.session(model);
  Boundaries boundaries(starts.size(), std::vector<Boundary>(samples.size()));
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
  run_samples(subject, session, samples, {}, "boundary tensors", take);
  return boundaries;
}

/// What stands in a run of `switched` in which nothing is low, with the sample itself.
Boundaries standing_boundaries(const Subject& subject, const SwitchedRuns& switched,
                               const std::vector<std::size_t>& samples) {
  Boundaries boundaries(switched.part_starts().size(), std::vector<Boundary>(samples.size()));
  std::map<std::size_t, std::size_t> position;
  for (const std::size_t sample : samples) {
    boundaries.front()[position.size()] = subject.samples->at(sample);
    position.emplace(sample, position.size());
  }
  if (boundaries.size() == 1) return boundaries;  // the session may be cut all the same, for its many nodes
  const Session& session = switched.session();
  SampleHooks hooks;
  hooks.constants = switched.constants({});
  hooks.run = [&](const Sample& fed, Recorder& recorder) {
    const std::size_t at = position.at(recorder.sample);
    const Sample& sample = boundaries.front()[at];
    return session.run_from(nullptr, fed, &recorder, [&](Standing standing) {
      standing.tensors.insert(sample.begin(), sample.end());
      boundaries[standing.part][at] = std::move(standing.tensors);
    });
  };
  run_samples(
      subject, session, samples, {}, "boundary tensors", [](const SampleResult&) { return true; }, hooks);
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

/// Each segment in as few parts as let `workers` be busy equally long, parts of a segment in order; `finely`: a part
/// for each sample.
std::vector<SegmentPart> parts_of(const std::vector<double>& costs, std::size_t samples, std::size_t workers,
                                  bool finely) {
  const double all = std::accumulate(costs.begin(), costs.end(), 0.0);
  const double most = all / static_cast<double>(4 * workers);
  std::vector<SegmentPart> parts;
  for (std::size_t k = 0; k < costs.size(); ++k) {
    const auto every = std::max(1.0, static_cast<double>(samples));
    const double wanted = costs[k] == 0 ? 1 : finely ? every : workers < 2 ? 1 : std::ceil(costs[k] / most);
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

}  // namespace

Sensitivities measure_sensitivities(const Subject& subject, const Plan& plan, const std::vector<std::string>& layers,
                                    const OutputStore& reference, const std::map<std::string, Shape>& shapes,
                                    RoundedWeights& weights, const SensitivityOptions& options,
                                    const SwitchedRuns* switched) {
  const onnx::GraphProto& graph = (switched == nullptr ? subject.model : switched->model()).proto.graph();
  const int nodes = graph.node_size();
  const TensorBytes bytes_of = bytes_of_tensors(graph, shapes);
  const std::vector<int> starts =
      switched == nullptr ? with_activations(subject, plan, segment_starts(graph, bytes_of, options.segments))
                          : switched->part_starts();
  // A run costs what lies behind the start of its segment. Told in layers: those that as much work would be.
  std::map<std::string, int> place;
  for (int n = 0; n < nodes; ++n) place[graph.node(n).name()] = n;
  const std::vector<double> work_from_node = work_from(graph, bytes_of);
  std::vector<double> suffix;
  for (const int start : starts) suffix.push_back(work_from_node[static_cast<std::size_t>(start)]);
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
      /*finely=*/switched != nullptr);  // they make no sessions
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
  const Boundaries boundaries =
      switched == nullptr ? reference_boundaries(here, starts, needed) : standing_boundaries(here, *switched, needed);
  std::vector<std::vector<Tensor>> references;
  for (const std::size_t sample : needed) references.push_back(reference.get(sample));

  const ReachedOutputs reached(subject.model.proto.graph(), subject.judged);
  const auto segment_of = [&](std::size_t k) -> std::unique_ptr<Segment> {
    if (switched != nullptr) return switched_segment(subject, *switched, layers, k, reached);
    const Boundary& example = boundaries[k].front();
    const int last = k + 1 < starts.size() ? starts[k + 1] : nodes;
    return injected_segment(subject, plan, layers, starts[k], last, example, weights, reached);
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
                {o, outcome_at(subject, o, ref, outputs.empty() ? ref : outputs[o])});
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
