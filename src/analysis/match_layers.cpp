#include "analysis/match_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "analysis/crossed_matches.h"
#include "analysis/folded_factors.h"
#include "analysis/structural_match.h"
#include "analysis/types_of_both.h"
#include "analysis/value_matches.h"
#include "base/elements.h"
#include "model/operator_traits.h"
#include "numerics/metrics.h"
#include "plan/simulate_typed.h"

namespace vernier {
namespace {

/// Nodes of one name need not be twins: names that files leave out are made from places, which differ from file to
/// file. Then the one of the low model reads something else than what it has under the names that the other reads.
bool reads_the_same(const SimulatedGraph& graph, const onnx::NodeProto& ref, const onnx::NodeProto& low) {
  for (int i = 0; i < ref.input_size() && i < low.input_size(); ++i) {
    const onnx::NodeProto* made = graph.maker(ref.input(i));
    if (made == nullptr || is_quantization(*made, "DequantizeLinear")) continue;
    if (graph.base_of(ref.input(i)) != graph.base_of(low.input(i))) return false;
  }
  return true;
}

/// Tensors of the float model that a BatchNormalization reads.
std::set<std::string> normalized(const Model& model) {
  std::set<std::string> found;
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    if (node.op_type() == "BatchNormalization") found.insert(node.input(0));
  }
  return found;
}

/// A BatchNormalization that the file keeps behind `tensor` and the float model, whose exporter folded it, does not
/// have: what it makes is what the float layer makes.
std::string behind_kept_norm(const std::set<std::string>& normalized, const SimulatedGraph& graph,
                             const std::string& ref, const std::string& tensor) {
  const onnx::NodeProto* only = normalized.contains(ref) ? nullptr : graph.only_node(tensor);
  return only != nullptr && only->op_type() == "BatchNormalization" ? only->output(0) : tensor;
}

void match_by_name(const Subject& subject, const SimulatedGraph& graph, bool moves, LayerMatches& matches) {
  std::map<std::string, const onnx::NodeProto*> by_name;
  std::map<std::string, std::string> produced;  // by which operator
  for (const onnx::NodeProto& node : graph.model().proto.graph().node()) {
    by_name[node.name()] = &node;
    for (const std::string& output : node.output()) produced[output] = node.op_type();
  }
  const std::set<std::string> norms = normalized(subject.model);
  std::map<std::string, const onnx::NodeProto*> nodes;
  for (const onnx::NodeProto& node : subject.model.proto.graph().node()) nodes[node.name()] = &node;
  // Tensors of the same name first. A node of the same name may write another tensor in the file: our own lowering
  // names low versions, and a Conv that absorbed its BatchNormalization writes the latter's output, which is matched
  // already.
  std::set<std::string> taken;
  for (const auto& [name, node] : nodes) {
    for (const std::string& output : node->output()) {
      if (produced.contains(output)) taken.insert(output);
    }
  }
  const auto add = [&](const Layer& layer, const std::string& ref, const std::string& low) {
    matches.add({ref, behind_kept_norm(norms, graph, ref, low)}, layer);
  };
  for (const Layer& layer : subject.layers) {
    if (layer.follows && !moves) continue;
    const std::size_t before = matches.pairs.size();
    bool absorbed = false;
    const auto node = nodes.find(layer.name);
    const auto twin = by_name.find(layer.name);
    for (const std::string& output : layer.outputs) {
      if (const auto made = produced.find(output); made != produced.end()) {
        // Quantizers drop a Relu or Clip whose work the quantization behind it does as well: then the value is there.
        const bool clips = layer.traits.any(Trait::Clips);
        const bool dropped =
            clips && made->second != layer.op_type && made->second != "Round" && made->second != "DequantizeLinear";
        // The pair's tensor may have the name of another layer's, which it then stands for.
        const std::string wide = dropped ? graph.as_read_widest(output) : output;
        add(layer, output, wide == output || taken.insert(wide).second ? wide : output);
        continue;
      }
      if (twin == by_name.end() || node == nodes.end()) continue;
      if (!reads_the_same(graph, *node->second, *twin->second)) continue;
      for (int i = 0; i < node->second->output_size() && i < twin->second->output_size(); ++i) {
        if (node->second->output(i) != output || twin->second->output(i).empty()) continue;
        // A rounded output keeps the file's name behind the Round; the node itself writes the unrounded one.
        const std::string low = graph.rounded_name(twin->second->output(i));
        // What a folded BatchNormalization makes has that one's name, or that of what follows it, behind a pair.
        const bool folded = norms.contains(output) && !graph.any_of_type(low, "BatchNormalization") &&
                            !graph.any_of_type(graph.as_read(low), "BatchNormalization");
        if (!folded && taken.insert(low).second) {
          add(layer, output, low);
        } else {
          absorbed = true;
        }
      }
    }
    if (matches.pairs.size() == before) {
      const char* why = !layer.graph.empty()    ? "inside a body"
                        : absorbed              ? kMergedIntoNext
                        : twin == by_name.end() ? "no node or tensor of this name in the typed file"
                                                : "its node in the typed file has no such output";
      matches.missing.push_back({layer.name, why, layer.graph.empty() && absorbed});
      matches.inside_bodies += layer.graph.empty() ? 0 : 1;
    }
  }
}

void drop(LayerMatches& matches, std::size_t i, const std::string& why) {
  matches.missing.push_back({matches.layers[i]->name, why});
  matches.remove(i);
}

/// Whether tensors of one name may not be twins: another operator makes the one of the file, from other inputs.
class NameCheck {
 public:
  NameCheck(const Subject& subject, const SimulatedGraph& graph, const LayerMatches& matches)
      : ref_made_(makers_in(subject.model)), graph_(graph), matches_(matches) {
    for (const onnx::ValueInfoProto& input : subject.model.proto.graph().input()) {
      twins_.emplace(input.name(), input.name());
    }
    for (const Match& match : matches.pairs) twins_.emplace(match.ref, graph.base_of(match.low));
  }

  bool doubtful(std::size_t i) const {
    const auto ref = ref_made_.find(matches_.pairs[i].ref);
    const onnx::NodeProto* low = graph_.maker(graph_.base_of(matches_.pairs[i].low));
    if (ref == ref_made_.end() || low == nullptr || is_transparent(*ref->second)) return false;
    if (low->op_type() == ref->second->op_type()) return !reads_twins(*ref->second, *low);
    while (low != nullptr && is_onnx(*low, "Reshape")) low = graph_.maker(graph_.base_of(low->input(0)));
    // A product that took over what follows it in the float model, between Reshapes perhaps.
    if (low != nullptr && has(*low, Trait::Weighted)) {
      const onnx::NodeProto* product = product_before(*ref->second);
      return product != nullptr && !reads_twins(*product, *low);
    }
    const bool of_codes = low != nullptr && has(*low, Trait::Quantizes | Trait::ComputesOnCodes);
    return !of_codes && !matches_.layers[i]->traits.any(Trait::Clips);
  }

  /// Whether the layer of a pair reads `tensor` of the float model: if the file holds that, the layer is lost.
  bool reads(std::size_t i, const std::string& tensor) const {
    const auto ref = ref_made_.find(matches_.pairs[i].ref);
    return ref != ref_made_.end() && std::ranges::find(ref->second->input(), tensor) != ref->second->input().end();
  }

 private:
  /// The product of the float model that a few nodes behind it end in `node`; null: there is none.
  const onnx::NodeProto* product_before(const onnx::NodeProto& node) const {
    constexpr int kMostBehind = 4;
    const onnx::NodeProto* before = &node;
    for (int i = 0; i < kMostBehind && before->input_size() > 0; ++i) {
      const auto made = ref_made_.find(before->input(0));
      if (made == ref_made_.end()) return nullptr;
      before = made->second;
      if (has(*before, Trait::Weighted)) return before;
    }
    return nullptr;
  }

  bool reads_twins(const onnx::NodeProto& ref, const onnx::NodeProto& low) const {
    return std::ranges::all_of(ref.input(), [&](const std::string& input) {
      const auto twin = twins_.find(input);
      return twin == twins_.end() || std::ranges::any_of(low.input(), [&](const std::string& read) {
               return graph_.base_of(read) == twin->second || unscaled(read) == twin->second;
             });
    });
  }

  /// What is behind nodes that round, rename, or multiply with a constant: a repair may store a result at an eighth.
  std::string unscaled(std::string tensor) const {
    while (true) {
      tensor = graph_.base_of(tensor);
      const onnx::NodeProto* made = graph_.maker(tensor);
      if (made == nullptr || !is_onnx(*made, "Mul")) return tensor;
      const bool first = is_initializer(graph_.model(), made->input(0));
      if (!first && !is_initializer(graph_.model(), made->input(1))) return tensor;
      tensor = made->input(first ? 1 : 0);
    }
  }

  const Makers ref_made_;
  const SimulatedGraph& graph_;
  const LayerMatches& matches_;
  std::map<std::string, std::string> twins_;  // of the float model -> what the file computes
};

/// Whether names say nothing of a good part of the layers.
bool lacks_many(const Subject& subject, const LayerMatches& matches) {
  constexpr std::size_t kFew = 2, kPart = 5;
  const auto merged = static_cast<std::size_t>(std::ranges::count_if(matches.missing, &MissingLayer::merged));
  const std::size_t lacking = matches.missing.size() - merged - matches.inside_bodies;
  return lacking > kFew && lacking * kPart > subject.layers.size();
}

/// Takes matches by value where names may be wrong and values explain more, else drops those names that values
/// contradict: the tensor holds what another layer makes.
void doubt_names(const Subject& subject, const SimulatedGraph& graph, const TypesOfBoth& types, bool moves,
                 bool other_shapes, LayerMatches& matches) {
  constexpr double kRightDb = 20;
  const NameCheck check(subject, graph, matches);
  std::set<std::size_t> doubtful;
  for (std::size_t i = 0; i < matches.pairs.size(); ++i) {
    if (check.doubtful(i)) doubtful.insert(i);
  }
  const bool crossed =
      !crossed_matches(subject.model.proto.graph(), graph.model().proto.graph(), matches.pairs).empty();
  if (doubtful.empty() && !crossed && !other_shapes && !lacks_many(subject, matches)) return;
  ValueMatches values(subject, graph, types);
  if (!values.fits()) return;
  LayerMatches by_value = values.matches(moves);
  const std::vector<double> named = values.agreement(matches), valued = values.agreement(by_value);
  if (total(valued) > total(named)) {
    matches = std::move(by_value);
    return;
  }
  std::map<std::string, std::string> held;  // by what the file computes
  for (std::size_t i = 0; i < by_value.pairs.size(); ++i) {
    if (valued[i] >= kRightDb) held.emplace(graph.base_of(by_value.pairs[i].low), by_value.pairs[i].ref);
  }
  for (auto i = doubtful.rbegin(); i != doubtful.rend(); ++i) {
    const auto other = held.find(graph.base_of(matches.pairs[*i].low));
    if (named[*i] >= kRightDb || other == held.end() || other->second == matches.pairs[*i].ref) continue;
    if (check.reads(*i, other->second)) continue;
    drop(matches, *i, "its tensor's name is another one's in the typed file");
  }
}

void drop_crossed(const Subject& subject, const Model& simulated, LayerMatches& matches) {
  const std::vector<std::size_t> crossed =
      crossed_matches(subject.model.proto.graph(), simulated.proto.graph(), matches.pairs);
  for (auto i = crossed.rbegin(); i != crossed.rend(); ++i) drop(matches, *i, "in another order in the typed file");
}

/// Drops matches of tensors that only one of the files has multiplied with a constant yet: the other one does so later.
void drop_without_factor(const Subject& subject, const Model& simulated, LayerMatches& matches) {
  const std::vector<std::size_t> unlike = find_folded_factors(subject, simulated, matches).unlike;
  for (auto i = unlike.rbegin(); i != unlike.rend(); ++i) {
    drop(matches, *i, "its weight holds a constant factor of a later layer in the typed file");
  }
}

/// What no comparison reads: float64 is not measured.
bool holds_no_floats(Dtype type) { return type == Dtype::Float64 || type == Dtype::Bool || is_integer(type); }

/// A file may hold a layer with more channels than the float model has, compute it in float64 or on integers. Whether
/// one of another shape was among them: then its name is another one's, perhaps.
bool drop_other_types(const Subject& subject, const Model& simulated, TypesOfBoth& types, LayerMatches& matches) {
  types.learn_shapes(subject, simulated, matches.pairs);
  bool other_shape = false;
  for (std::size_t i = matches.pairs.size(); i-- > 0;) {
    const auto a = types.ref.find(matches.pairs[i].ref);
    const auto b = types.low.find(matches.pairs[i].low);
    const bool of_both = a != types.ref.end() && b != types.low.end();
    const bool not_float = (a != types.ref.end() && holds_no_floats(a->second.dtype)) ||
                           (b != types.low.end() && holds_no_floats(b->second.dtype));
    if (!not_float && (!of_both || fits(a->second, b->second))) continue;
    other_shape = other_shape || !not_float;
    drop(matches, i, fmt::format("of another {} in the typed file", not_float ? "type" : "shape"));
  }
  return other_shape;
}

}  // namespace

void LayerMatches::add(Match match, const Layer& layer) {
  pairs.push_back(std::move(match));
  layers.push_back(&layer);
}

void LayerMatches::remove(std::size_t pair) {
  pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(pair));
  layers.erase(layers.begin() + static_cast<std::ptrdiff_t>(pair));
}

Makers makers_in(const Model& model) {
  Makers made_by;
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    for (const std::string& output : node.output()) made_by[output] = &node;
  }
  return made_by;
}

std::vector<const onnx::NodeProto*> nodes_behind(const Makers& made_by, const std::string& tensor,
                                                 const std::set<std::string>& known) {
  constexpr std::size_t kMostNodes = 64;
  std::vector<const onnx::NodeProto*> nodes;
  std::vector<std::string> open = {tensor};
  std::set<const onnx::NodeProto*> seen;
  for (std::size_t next = 0; next < open.size() && nodes.size() < kMostNodes; ++next) {
    if (next > 0 && known.contains(open[next])) continue;
    const auto made = made_by.find(open[next]);
    if (made == made_by.end() || !seen.insert(made->second).second) continue;
    nodes.push_back(made->second);
    open.insert(open.end(), made->second->input().begin(), made->second->input().end());
  }
  return nodes;
}

std::vector<Note> notes_of(const std::vector<MissingLayer>& missing) {
  std::vector<Note> notes;
  for (const MissingLayer& one : missing)
    notes.push_back({"layer-not-compared", {{"layer", one.layer}, {"why", one.why}}});
  return notes;
}

LayerMatches match_layers(const Subject& subject, const Model& simulated, bool moves) {
  LayerMatches matches;
  const SimulatedGraph graph(simulated);
  TypesOfBoth types(subject, simulated);
  match_by_name(subject, graph, moves, matches);
  const bool other_shapes = drop_other_types(subject, simulated, types, matches);
  if (!matches.missing.empty()) match_by_structure(subject, graph, moves, StructuralReach::All, matches);
  doubt_names(subject, graph, types, moves, other_shapes, matches);
  drop_other_types(subject, simulated, types, matches);
  drop_crossed(subject, simulated, matches);
  drop_without_factor(subject, simulated, matches);
  return matches;
}

}  // namespace vernier
