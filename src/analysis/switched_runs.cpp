#include "analysis/switched_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "analysis/run_tensors.h"
#include "analysis/segment_starts.h"
#include "base/parallel.h"
#include "engines/onnxruntime/blocked_layout.h"
#include "engines/onnxruntime/gpu_side.h"
#include "engines/onnxruntime/optimized_graph.h"
#include "engines/onnxruntime/recorder.h"
#include "engines/onnxruntime/runtime.h"
#include "numerics/metrics.h"
#include "plan/round_node.h"

namespace vernier {
namespace {

// Of a GPU's memory, for the weights of a network, some of which are there rounded, too.
constexpr std::size_t kShareOfGpu = 8;

// Beside the weights, the most that a search holds of runs that were: of MobileNetV2 those of two plans over twenty
// photographs. Measured there: twice as much lets trials begin no farther on, half as much a tenth less.
constexpr std::size_t kMostStanding = std::size_t{64} << 20U;
constexpr std::size_t kPlansStanding = 2;
constexpr std::size_t kSamplesStanding = 32;  // the hardest: many trials run no others

constexpr std::size_t kMostParts = 12;

/// How many parts pay.
std::size_t part_count(const onnx::GraphProto& graph, const TensorBytes& bytes_of, std::size_t part_bytes) {
  std::size_t written = 0;
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& output : node.output()) {
      if (const auto known = bytes_of.find(output); known != bytes_of.end()) written += known->second;
    }
  }
  return std::clamp<std::size_t>(written / part_bytes, 1, kMostParts);
}

bool may_switch(const Subject& subject) {
  // A GPU reads the weights where they lie, and rounds them in less time than a session takes.
  if (const GpuSide* const gpu = subject.runtime->gpu()) {
    return bytes_beside(subject.model) <= gpu->bytes() / kShareOfGpu;
  }
  return !subject.optimize || has_few_nodes(subject.model);
}

using Initializers = std::map<std::string, Tensor>;

Initializers initializers_of(const Model& model) {
  Initializers values;
  for (const onnx::TensorProto& tensor : model.proto.graph().initializer()) {
    values[tensor.name()] = initializer(model, tensor.name()).value();
  }
  return values;
}

bool alike(const Initializers::value_type& a, const Initializers::value_type& b) {
  return a.first == b.first && a.second.dtype() == b.second.dtype() && a.second.shape() == b.second.shape();
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.bytes().data() == b.bytes().data() || std::memcmp(a.bytes().data(), b.bytes().data(), a.byte_size()) == 0;
}

/// Two optimized graphs, compared from their outputs backwards: the order of nodes, and what the optimizer calls its
/// own nodes and tensors, differ from run to run.
class SameGraph {
 public:
  SameGraph(const onnx::GraphProto& first, const onnx::GraphProto& other)
      : first_(makers(first)), other_(makers(other)) {
    same_ = first.output_size() == other.output_size();
    for (int o = 0; same_ && o < first.output_size(); ++o) pair(first.output(o).name(), other.output(o).name());
    while (same_ && !open_.empty()) {
      const auto [a, b] = open_.back();
      open_.pop_back();
      same_ = a != nullptr && b != nullptr && bare(*a) == bare(*b) && a->input_size() == b->input_size() &&
              a->output_size() == b->output_size();
      for (int i = 0; same_ && i < a->input_size(); ++i) pair(a->input(i), b->input(i));
      for (int o = 0; same_ && o < a->output_size(); ++o) pair(a->output(o), b->output(o));
    }
  }

  explicit operator bool() const { return same_; }
  /// What the first graph calls a tensor of the other; empty: it reads none like that.
  std::string name(const std::string& other) const {
    const auto known = names_.find(other);
    return known == names_.end() ? std::string() : known->second;
  }

 private:
  using Makers = std::map<std::string, const onnx::NodeProto*>;

  static Makers makers(const onnx::GraphProto& graph) {
    Makers makers;
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& output : node.output()) makers[output] = &node;
    }
    return makers;
  }

  static std::string bare(onnx::NodeProto node) {
    node.clear_name();
    node.clear_input();
    node.clear_output();
    return node.SerializeAsString();
  }

  void pair(const std::string& a, const std::string& b) {
    if (a.empty() || b.empty()) {
      same_ = same_ && a.empty() == b.empty();
      return;
    }
    const auto [known, fresh] = names_.emplace(b, a);
    same_ = same_ && known->second == a;
    if (!fresh) return;
    const auto of_a = first_.find(a);
    const auto of_b = other_.find(b);
    if (of_a == first_.end() && of_b == other_.end()) return;  // inputs and initializers
    open_.emplace_back(of_a == first_.end() ? nullptr : of_a->second, of_b == other_.end() ? nullptr : of_b->second);
  }

  Makers first_, other_;
  std::map<std::string, std::string> names_;
  std::vector<std::pair<const onnx::NodeProto*, const onnx::NodeProto*>> open_;
  bool same_ = true;
};

/// The initializers of `other` under the names that `first` has for them. Absent when it is another graph.
std::optional<Initializers> renamed_as_in(const onnx::GraphProto& first, const Model& other) {
  const SameGraph same(first, other.proto.graph());
  if (!same) return std::nullopt;
  Initializers renamed;
  for (auto& [name, value] : initializers_of(other)) {
    if (const std::string known = same.name(name); !known.empty()) renamed[known] = value;
  }
  return renamed;
}

/// Which node of the switchable graph reads an initializer of the optimized one.
class Readers {
 public:
  Readers(const onnx::GraphProto& optimized, const SwitchableModel& graph) : graph_(graph) {
    for (const onnx::NodeProto& node : optimized.node()) {
      for (const std::string& output : node.output()) makers_[output] = &node;
      for (const std::string& input : node.input()) readers_[input].push_back(&node);
    }
    for (const onnx::NodeProto& node : graph.model().proto.graph().node()) {
      known_.insert(node.output().begin(), node.output().end());
    }
  }

  /// Empty when it cannot be told, or is more than one.
  std::string of(const std::string& initializer) const {
    if (const auto same = graph_.constant_readers().find(initializer); same != graph_.constant_readers().end()) {
      return same->second;
    }
    std::set<std::string> nodes;
    const auto readers = readers_.find(initializer);
    if (readers == readers_.end()) return {};
    for (const onnx::NodeProto* reader : readers->second) {
      // Data comes first; what the optimizer adds up within a convolution comes behind it.
      for (const std::string& input : reader->input()) {
        std::set<std::string> found;
        behind(input, found);
        nodes.insert(found.begin(), found.end());
        if (!found.empty()) break;
      }
    }
    return nodes.size() == 1 ? *nodes.begin() : std::string();
  }

 private:
  /// The nodes that the Switches in front of `tensor` belong to, looked for through what the optimizer put between.
  void behind(const std::string& tensor, std::set<std::string>& nodes) const {
    if (const auto found = graph_.switched_readers().find(tensor); found != graph_.switched_readers().end()) {
      nodes.insert(found->second);
      return;
    }
    const auto maker = makers_.find(tensor);
    if (known_.contains(tensor) || maker == makers_.end()) return;
    for (const std::string& input : maker->second->input()) behind(input, nodes);
  }

  const SwitchableModel& graph_;
  std::map<std::string, const onnx::NodeProto*> makers_;
  std::map<std::string, std::vector<const onnx::NodeProto*>> readers_;
  std::set<std::string> known_;  // tensors of the switchable graph
};

void make_input(onnx::GraphProto& graph, const std::string& name, const Tensor& like) {
  onnx::ValueInfoProto& input = *graph.add_input();
  input.set_name(name);
  auto& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<int>(like.dtype()));
  for (const std::int64_t size : like.shape()) type.mutable_shape()->add_dim()->set_dim_value(size);
}

/// Of a Switch.
std::optional<std::size_t> slot_of(const onnx::NodeProto& node) {
  const std::int64_t slot = node.domain() == kDomain ? attribute_int(node, "slot", -1) : -1;
  return slot < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(slot));
}

}  // namespace

SwitchedRuns::SwitchedRuns(SwitchableModel graph, Model model, Session session, std::vector<int> part_starts,
                           std::map<std::string, Fed> fed, std::map<std::string, int> places)
    : graph_(std::move(graph)),
      model_(std::move(model)),
      session_(std::move(session)),
      part_starts_(std::move(part_starts)),
      fed_(std::move(fed)),
      places_(std::move(places)),
      parts_(part_starts_.size()) {
  const auto& nodes = model_.proto.graph().node();
  for (int n = 0; n < nodes.size(); ++n) {
    Part& part = parts_[static_cast<std::size_t>(std::ranges::upper_bound(part_starts_, n) - part_starts_.begin() - 1)];
    if (const auto slot = slot_of(nodes[n])) part.slots.insert(*slot);
    for (const std::string& input : nodes[n].input()) {
      if (fed_.contains(input)) part.fed.insert(input);
    }
  }
}

std::map<std::string, int> SwitchedRuns::places_of(const SwitchableModel& graph, const onnx::GraphProto& laid,
                                                   const std::map<std::string, Fed>& fed) {
  std::map<std::size_t, int> first_of_slot;
  std::map<std::string, int> first_of_constants;  // by node
  for (int n = 0; n < laid.node_size(); ++n) {
    if (const auto slot = slot_of(laid.node(n))) first_of_slot.emplace(*slot, n);
    for (const std::string& input : laid.node(n).input()) {
      if (const auto constant = fed.find(input); constant != fed.end()) {
        first_of_constants.emplace(constant->second.node, n);
      }
    }
  }
  std::map<std::string, int> places;
  for (const auto& [layer, slots] : graph.slots_alone()) {
    int place = laid.node_size();
    for (const auto& [slot, chain] : slots) {
      if (const auto found = first_of_slot.find(slot); found != first_of_slot.end()) {
        place = std::min(place, found->second);
      }
    }
    if (const auto found = first_of_constants.find(layer); found != first_of_constants.end()) {
      place = std::min(place, found->second);
    }
    places[layer] = place == laid.node_size() ? 0 : place;
  }
  return places;
}

int SwitchedRuns::place_of(const std::string& layer) const {
  const auto known = places_.find(layer);
  return known == places_.end() ? -1 : known->second;
}

std::unique_ptr<SwitchedRuns> SwitchedRuns::of(const Subject& subject, const std::vector<Plan>& ends,
                                               RoundedWeights& weights, const std::map<std::string, Shape>& shapes,
                                               std::size_t part_bytes) {
  if (!may_switch(subject)) return nullptr;
  std::optional<SwitchableModel> graph = SwitchableModel::of(subject.model, subject.layers, ends, weights);
  if (!graph) return nullptr;
  Model model;
  std::vector<Initializers> variants;
  bool same_graph = true;
  const auto laid_out = [&](std::size_t v) {
    if (v > 0 && graph->is_float(v)) return Model();
    Model made = graph->model_with(v);
    give_tensors(subject, subject.judged, made);
    return subject.optimizes() ? optimized_model(subject.runtime, made) : made;
  };
  const auto take = [&](std::size_t v, Model made) {
    if (v == 0) {
      model = std::move(made);
      variants.push_back(initializers_of(model));
    } else if (graph->is_float(v)) {
      variants.push_back(variants.front());
    } else {
      std::optional<Initializers> renamed = renamed_as_in(model.proto.graph(), made);
      same_graph = renamed && std::ranges::equal(*renamed, variants.front(), alike);
      if (same_graph) variants.push_back(*std::move(renamed));
    }
    return same_graph;
  };
  parallel_ordered(graph->variants(), subject.threads, laid_out, take);
  if (!same_graph) return nullptr;

  const Readers readers(model.proto.graph(), *graph);
  std::map<std::string, Fed> fed;
  for (const auto& [name, value] : variants.front()) {
    const bool same =
        std::ranges::all_of(variants, [&](const Initializers& variant) { return same_bits(variant.at(name), value); });
    if (same) continue;
    Fed constant{readers.of(name), {}};
    if (constant.node.empty()) return nullptr;
    for (const Initializers& variant : variants) constant.variants.push_back(variant.at(name));
    fed.emplace(name, std::move(constant));
  }
  std::set<std::string> names;
  for (const auto& [name, constant] : fed) names.insert(name);
  remove_initializers(model, names);
  for (const auto& [name, constant] : fed) {
    make_input(*model.proto.mutable_graph(), name, constant.variants.front());
  }
  if (graph->one_scale_each()) move_reorderings(model);
  tell_blocked_shapes(model);
  const onnx::GraphProto& laid = model.proto.graph();
  const TensorBytes bytes_of = bytes_of_tensors(laid, shapes);
  std::map<std::string, int> places = places_of(*graph, laid, fed);
  std::vector<int> starts{0};
  if (subject.carries.empty() && subject.runtime->gpu() == nullptr) {
    std::vector<int> of_layers;
    for (const auto& [layer, place] : places) of_layers.push_back(place);
    const std::size_t most = part_count(laid, bytes_of, part_bytes);
    const std::size_t samples = std::clamp<std::size_t>(subject.samples->size(), 1, kSamplesStanding);
    starts = sparing_starts(laid, bytes_of, of_layers, most, kMostStanding / kPlansStanding / samples);
  }
  SessionOptions options{.optimize = false, .threads = 1, .integer_kernels = false, .any_outputs = true};
  options.part_starts = starts;
  Session session(subject.runtime, model, options);
  if (starts.size() > 1 && (!session.can_start_between() || session.parts() != starts.size())) starts = {0};
  std::unique_ptr<SwitchedRuns> runs(new SwitchedRuns(*std::move(graph), std::move(model), std::move(session),
                                                      std::move(starts), std::move(fed), std::move(places)));
  if (runs->part_starts_.size() > 1) runs->standings_ = std::make_unique<KeptStandings>(kMostStanding);
  if (!subject.runtime->is_tested() && !runs->gives_plain_results(subject, ends.front(), ends.back(), weights)) {
    return nullptr;
  }
  return runs;
}

bool SwitchedRuns::gives_plain_results(const Subject& subject, const Plan& plan, const Plan& other_end,
                                       RoundedWeights& weights) const {
  if (subject.samples->size() == 0) return true;
  std::mutex telling;
  const Subject alone = on_one_thread(subject, telling);
  std::vector<Tensor> here;
  std::vector<Tensor> other;
  std::vector<Tensor> plain;
  const auto keep_in = [](std::vector<Tensor>& outputs) {
    return [&outputs](std::size_t, const std::vector<Tensor>& got) {
      outputs = got;
      return true;
    };
  };
  const std::vector<std::size_t> first{0};
  if (!run(alone, plan, weights, first, keep_in(here)) || !run(alone, other_end, weights, first, keep_in(other))) {
    return true;  // they serve other plans
  }
  run_outputs(alone, lower_simulated(subject.model, subject.layers, plan, weights), first, keep_in(plain));
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (plain[i].shape() != here[i].shape()) return false;
    ErrorStats apart;
    ErrorStats error;
    accumulate_error(plain[i].floats(), here[i].floats(), apart);
    accumulate_error(other[i].floats(), here[i].floats(), error);
    constexpr double kSumsAlone = 1e-10;  // of the signal
    if (apart.finite() != error.finite()) return false;
    if (apart.error_energy > 0.1 * error.error_energy + kSumsAlone * apart.ref_energy) return false;
  }
  return true;
}

bool SwitchedRuns::run(const Subject& subject, const Plan& plan, RoundedWeights& weights,
                       const std::vector<std::size_t>& order, const VisitOutputs& visit) const {
  return run(subject, plan, weights, order, {},
             [&](const SampleResult& result) { return visit(result.index, result.outputs); });
}

bool SwitchedRuns::run(const Subject& subject, const Plan& plan, RoundedWeights& weights,
                       const std::vector<std::size_t>& order, const Digest& digest,
                       const std::function<bool(SampleResult)>& take) const {
  const auto setting = graph_.setting(subject.model, subject.layers, plan, weights);
  if (!setting) return false;
  Recorder recorder;
  recorder.roundings = &setting->roundings;
  SampleHooks hooks;
  hooks.constants = constants(*setting);
  hooks.digest = [&](SampleResult& result) {
    result.outputs.resize(subject.judged.size());
    if (digest) digest(result);
  };
  std::shared_ptr<KeptStandings::Runs> kept;
  if (standings_ != nullptr) {
    kept = standings_->begin(settings_of_parts(*setting));
    hooks.run = [&](const Sample& fed, Recorder& seen) {
      const auto start = standings_->nearest(*kept, seen.sample);
      return session_.run_from(start.get(), fed, &seen,
                               [&](Standing standing) { standings_->keep(*kept, seen.sample, std::move(standing)); });
    };
  }
  run_samples(subject, session_, order, recorder, "trial", take, hooks);
  return true;
}

std::vector<std::string> SwitchedRuns::settings_of_parts(const SwitchableModel::Setting& setting) const {
  std::vector<std::string> settings;
  for (const Part& part : parts_) {
    std::string& text = settings.emplace_back();
    for (const std::size_t slot : part.slots) {
      for (const QuantParams& params : setting.roundings.at(slot)) {
        text += fmt::format("{} {} {} {} {} {} {:a} {};", slot, static_cast<int>(params.format), params.axis,
                            params.block, params.lowest_code, params.dynamic, fmt::join(params.scale, ","),
                            fmt::join(params.zero_point, ","));
      }
    }
    for (const std::string& input : part.fed) {
      const auto chosen = setting.variants.find(fed_.at(input).node);
      text += fmt::format("{},", chosen == setting.variants.end() ? 0 : chosen->second);
    }
  }
  return settings;
}

Sample SwitchedRuns::constants(const SwitchableModel::Setting& setting) const {
  Sample constants;
  for (const auto& [name, constant] : fed_) {
    const auto chosen = setting.variants.find(constant.node);
    constants[name] = constant.variants.at(chosen == setting.variants.end() ? 0 : chosen->second);
  }
  return constants;
}

}  // namespace vernier
