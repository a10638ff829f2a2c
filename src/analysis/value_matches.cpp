#include "analysis/value_matches.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run_tensors.h"
#include "analysis/structural_match.h"
#include "model/operator_traits.h"
#include "numerics/metrics.h"
#include "plan/round_node.h"

namespace vernier {
namespace {

constexpr double kMostDb = 40;  // of a pair that agrees: higher values are not more certain
constexpr int kMostSessions = 32;

bool is_float(const std::map<std::string, ValueType>& types, const std::string& tensor) {
  const auto type = types.find(tensor);
  return type != types.end() && type->second.dtype == Dtype::Float32;
}

/// Of few values, spread over tensors of one shape: whether it pays to look at all.
bool may_agree(const Tensor& ref, const Tensor& low) {
  constexpr std::size_t kFew = 64;
  constexpr double kShareOfNoise = 0.2;
  const auto a = ref.floats(), b = low.floats();
  if (a.size() <= 4 * kFew) return true;
  double energy = 0, error = 0;
  for (std::size_t k = 0; k < kFew; ++k) {
    const std::size_t i = (k * a.size() + a.size() / 2) / kFew;
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    energy += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    error += difference * difference;
  }
  return error <= kShareOfNoise * energy;
}

}  // namespace

double agreement_db(const Tensor& ref, const Tensor& low) {
  constexpr double kNot = -1000;
  if (ref.shape() != low.shape() || ref.dtype() != Dtype::Float32 || low.dtype() != Dtype::Float32) return kNot;
  ErrorStats error;
  accumulate_error(ref.floats(), low.floats(), error);
  return error.ref_energy > 0 ? sqnr_db(error) : kNot;
}

ValueMatches::ValueMatches(const Subject& subject, const SimulatedGraph& graph, const TypesOfBoth& types)
    : subject_(subject), graph_(graph), types_(types), ref_made_(makers_in(subject.model)) {
  for (const Layer& layer : subject.layers) {
    if (!layer.graph.empty()) continue;
    for (const std::string& output : layer.outputs) layers_.emplace(output, &layer);
  }
  for (const onnx::NodeProto& node : graph.model().proto.graph().node()) {
    if (is_transparent(node)) continue;
    for (const std::string& input : node.input()) low_readers_[graph.base_of(input)].push_back(&node);
  }
  for (const onnx::NodeProto& node : subject.model.proto.graph().node()) {
    for (const std::string& input : node.input()) {
      std::ranges::copy(node.output(), std::back_inserter(ref_readers_[input]));
    }
  }
}

bool ValueMatches::fits() const {
  constexpr std::int64_t kMostValues = 1 << 27;
  std::int64_t values = 0;
  for (const auto& [tensor, type] : types_.ref) {
    std::int64_t count = 1;
    for (const std::int64_t dim : type.shape) count *= std::clamp<std::int64_t>(dim, 1, kMostValues / count + 1);
    values = std::min(values + count, kMostValues + 1);
  }
  return values <= kMostValues;
}

ValueMatches::Values ValueMatches::values_in(const Model& model, const std::vector<std::string>& tensors) {
  Values values;
  std::vector<Tensor> got = tensors_of_first_sample(subject_, model, tensors);
  for (std::size_t i = 0; i < got.size(); ++i) values.emplace(tensors[i], std::move(got[i]));
  return values;
}

const ValueMatches::Values& ValueMatches::of_float_model() {
  if (!refs_.empty()) return refs_;
  std::vector<std::string> tensors;
  for (const onnx::NodeProto& node : subject_.model.proto.graph().node()) {
    std::ranges::copy_if(node.output(), std::back_inserter(tensors),
                         [&](const std::string& output) { return is_float(types_.ref, output); });
  }
  refs_ = values_in(subject_.model, tensors);
  return refs_;
}

/// The file with the float model's values for readers of what `pairs` matches.
Model ValueMatches::on_float_values(const std::vector<Match>& pairs) const {
  std::map<std::string, const Tensor*> given;
  for (const Match& match : pairs) {
    if (may_stand_for(match.ref, match.low)) given.emplace(match.low, &refs_.at(match.ref));
  }
  Model model = graph_.model();
  model.index.reset();
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  std::set<std::string> outputs;
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (std::string& output : *node.mutable_output()) {
      if (given.contains(output)) outputs.insert(std::exchange(output, output + kOwn));
    }
  }
  for (const std::string& output : outputs) set_initializer(model, graph, output, *given.at(output));
  return model;
}

bool ValueMatches::may_stand_for(const std::string& ref, const std::string& low) const {
  const auto value = refs_.find(ref);
  const auto shape = low_shapes_.find(low);
  return value != refs_.end() && shape != low_shapes_.end() && value->second.shape() == shape->second;
}

void ValueMatches::add(LayerMatches& matches, const std::string& ref, const std::string& low) const {
  const Layer& layer = *layers_.at(ref);
  matches.add({ref, low}, layer);
  if (std::erase_if(matches.missing, [&](const MissingLayer& one) { return one.layer == layer.name; }) > 0) {
    ++matches.by_structure;
  }
}

ValueMatches::Known::Known(const LayerMatches& matches) {
  for (const Match& match : matches.pairs) {
    refs.insert(match.ref);
    lows.insert(match.low);
  }
}

void ValueMatches::add_alike(LayerMatches& matches) {
  Known known(matches);
  std::map<Shape, std::vector<std::pair<std::string, const Tensor*>>> open;
  for (const Layer& layer : subject_.layers) {
    for (const std::string& output : layer.outputs) {
      const auto value = known.refs.contains(output) || !layer.graph.empty() ? refs_.end() : refs_.find(output);
      if (value != refs_.end()) open[value->second.shape()].emplace_back(output, &value->second);
    }
  }
  constexpr std::size_t kAtOnce = 128;
  const Model model = on_float_values(matches.pairs);
  struct Alike {
    double db;
    std::string ref, low;
  };
  std::vector<Alike> found;
  std::vector<std::string> some;
  const auto look = [&] {
    if (some.empty()) return;
    ++sessions_;
    const Values lows = values_in(model, some);
    for (const std::string& low : some) {
      const Tensor& value = lows.at(low);
      low_shapes_.emplace(low, value.shape());
      for (const auto& [ref, wanted] : open[value.shape()]) {
        if (!may_agree(*wanted, value)) continue;
        if (const double db = agreement_db(*wanted, value); db >= kAgreesDb) found.push_back({db, ref, low});
      }
    }
    some.clear();
  };
  for (const onnx::NodeProto& node : graph_.model().proto.graph().node()) {
    for (const std::string& output : node.output()) {
      if (output.ends_with("/unrounded") || known.lows.contains(output) || !is_float(types_.low, output)) continue;
      some.push_back(output);
      if (some.size() == kAtOnce) look();
    }
  }
  look();
  // A tensor may look nearer once it is rounded, by chance.
  std::set<std::pair<std::string, std::string>> agreeing;
  for (const Alike& one : found) agreeing.emplace(one.ref, one.low);
  std::erase_if(found, [&](const Alike& one) {
    const std::string base = graph_.rounded_name(graph_.base_of(one.low));
    return base != one.low && agreeing.contains({one.ref, base});
  });
  // A Relu that cuts nothing off has the values of what it reads: then the operator tells, else the graph's last one.
  std::ranges::reverse(found);
  const auto rank = [&](const Alike& one) {
    const onnx::NodeProto* made = graph_.maker(graph_.base_of(one.low));
    return std::pair(one.db, made != nullptr && made->op_type() == layers_.at(one.ref)->op_type);
  };
  std::ranges::stable_sort(found, [&](const Alike& a, const Alike& b) { return rank(a) > rank(b); });
  const std::map<std::string, std::string> outputs = named_outputs();
  for (const Alike& one : found) {
    if (known.refs.contains(one.ref) || known.lows.contains(one.low)) continue;
    const auto output = outputs.find(one.low);
    if (output != outputs.end() && output->second != one.ref && may_stand_for(output->second, one.low)) continue;
    known.refs.insert(one.ref);
    known.lows.insert(one.low);
    add(matches, one.ref, one.low);
  }
}

/// Outputs of the network are what their names say, whatever computes them.
std::map<std::string, std::string> ValueMatches::named_outputs() const {
  std::map<std::string, std::string> found;
  for (const onnx::ValueInfoProto& output : graph_.model().proto.graph().output()) {
    const std::string& name = output.name();
    // Not behind copies, or the Cast of a half file.
    const std::string low = graph_.rounded_name(graph_.base_of(name));
    std::string ref = name;
    for (auto made = ref_made_.find(ref); made != ref_made_.end() && is_transparent(*made->second);) {
      ref = made->second->input(0);
      made = ref_made_.find(ref);
    }
    if (layers_.contains(ref)) found.emplace(low, ref);
  }
  return found;
}

void ValueMatches::add_outputs(LayerMatches& matches) const {
  const Known known(matches);
  for (const auto& [low, ref] : named_outputs()) {
    if (known.refs.contains(ref) || known.lows.contains(low) || !may_stand_for(ref, low)) continue;
    add(matches, ref, low);
  }
}

LayerMatches ValueMatches::matches(bool moves) {
  constexpr int kMostRuns = 24;
  LayerMatches found;
  of_float_model();
  for (const Layer& layer : subject_.layers) {
    const bool inside = !layer.graph.empty();
    found.missing.push_back({layer.name, inside ? "inside a body" : "nothing in the typed file has its values"});
    found.inside_bodies += inside ? 1 : 0;
  }
  add_alike(found);
  add_outputs(found);
  for (int run = 0; run < kMostRuns && sessions_ < kMostSessions; ++run) {
    if (add_products(found) || add_bridges(found)) continue;
    const std::size_t before = found.pairs.size();
    match_by_structure(subject_, graph_, /*moves=*/true, StructuralReach::Next, found);
    if (found.pairs.size() == before) break;
    add_alike(found);
  }
  match_by_structure(subject_, graph_, /*moves=*/true, StructuralReach::All, found);
  if (moves) return found;
  std::set<std::string> followers;
  for (const Layer& layer : subject_.layers) {
    if (layer.follows) followers.insert(layer.name);
  }
  std::erase_if(found.missing, [&](const MissingLayer& one) { return followers.contains(one.layer); });
  for (std::size_t i = found.pairs.size(); i-- > 0;) {
    if (found.layers[i]->follows) found.remove(i);
  }
  return found;
}

std::vector<double> ValueMatches::agreement(const LayerMatches& matches) {
  of_float_model();
  std::vector<std::string> own;
  std::vector<std::size_t> pairs;
  std::set<std::string> asked;
  for (std::size_t i = 0; i < matches.pairs.size(); ++i) {
    const Match& match = matches.pairs[i];
    if (!may_stand_for(match.ref, match.low) || !asked.insert(match.low).second) continue;
    own.push_back(match.low + kOwn);
    pairs.push_back(i);
  }
  std::vector<double> found(matches.pairs.size());
  if (own.empty()) return found;
  ++sessions_;
  const Values lows = values_in(on_float_values(matches.pairs), own);
  for (std::size_t k = 0; k < own.size(); ++k) {
    found[pairs[k]] = std::clamp(agreement_db(refs_.at(matches.pairs[pairs[k]].ref), lows.at(own[k])), 0.0, kMostDb);
  }
  return found;
}

double total(const std::vector<double>& agreement) { return std::accumulate(agreement.begin(), agreement.end(), 0.0); }

}  // namespace vernier
