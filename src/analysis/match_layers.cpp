#include "analysis/match_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "analysis/crossed_matches.h"
#include "analysis/misnamed_matches.h"
#include "base/elements.h"
#include "model/operator_traits.h"
#include "numerics/metrics.h"
#include "plan/round_node.h"
#include "plan/simulate_typed.h"

namespace vernier {
namespace {

constexpr const char* kInTheNext = "merged into the next layer, which is compared";

/// Who reads a tensor of a simulated file.
class Readers {
 public:
  explicit Readers(const Model& simulated) {
    for (const onnx::NodeProto& node : simulated.proto.graph().node()) {
      const std::set<std::string> inputs(node.input().begin(), node.input().end());
      for (const std::string& input : inputs) of_[input].push_back(&node);
    }
    for (const onnx::ValueInfoProto& output : simulated.proto.graph().output()) outputs_.insert(output.name());
  }

  /// The only node that reads `tensor`; null where several do, or none.
  const onnx::NodeProto* only_node(const std::string& tensor) const {
    const auto found = of_.find(tensor);
    return found == of_.end() || found->second.size() != 1 ? nullptr : found->second.front();
  }
  /// Null as well where it is an output of the graph.
  const onnx::NodeProto* only(const std::string& tensor) const {
    return outputs_.contains(tensor) ? nullptr : only_node(tensor);
  }

  /// The tensor of the file that a simulated node writes, behind the Round that simulate_typed put there.
  std::string rounded_name(const std::string& tensor) const {
    const auto found = tensor.ends_with("/unrounded") ? of_.find(tensor) : of_.end();
    if (found == of_.end()) return tensor;
    for (const onnx::NodeProto* node : found->second) {
      if (node->domain() == kDomain && node->op_type() == "Round" && node->input(0) == tensor) return node->output(0);
    }
    return tensor;
  }

  bool any_of_type(const std::string& tensor, const std::string& op_type) const {
    const auto found = of_.find(tensor);
    return found != of_.end() &&
           std::ranges::any_of(found->second, [&](const auto* node) { return node->op_type() == op_type; });
  }

  /// What readers of `tensor` get in the file: behind the only Round or Q/DQ pair that reads it, if nothing else does,
  /// else the tensor. Pairs of types that Round does not know, such as uint16, are left as they are in the file.
  std::string as_read(const std::string& tensor) const {
    const onnx::NodeProto* reader = only(tensor);
    if (reader == nullptr) return tensor;
    if (reader->domain() == kDomain && reader->op_type() == "Round") return reader->output(0);
    if (!is_quantization(*reader, "QuantizeLinear")) return tensor;
    const onnx::NodeProto* dequantizer = only(reader->output(0));
    if (dequantizer == nullptr || !is_quantization(*dequantizer, "DequantizeLinear")) return tensor;
    return dequantizer->output(0);
  }

 private:
  std::map<std::string, std::vector<const onnx::NodeProto*>> of_;
  std::set<std::string> outputs_;
};

/// Nodes that only round or rename, and a shield of ours.
bool transparent(const onnx::NodeProto& node) {
  return node.domain() == kDomain || is_onnx(node, "Identity") || has(node, Trait::ChangesType) ||
         (is_onnx(node, "Sum") && node.input_size() == 1);
}

std::string base_of(const Makers& made_by, std::string tensor) {
  for (auto made = made_by.find(tensor); made != made_by.end() && transparent(*made->second);
       made = made_by.find(tensor)) {
    tensor = made->second->input(0);
  }
  return tensor;
}

/// Nodes of one name need not be twins: names that files leave out are made from places, which differ from file to
/// file. Then the one of the low model reads something else than what it has under the names that the other reads.
bool reads_the_same(const Makers& low_made, const onnx::NodeProto& ref, const onnx::NodeProto& low) {
  for (int i = 0; i < ref.input_size() && i < low.input_size(); ++i) {
    if (!low_made.contains(ref.input(i)) || is_quantization(*low_made.at(ref.input(i)), "DequantizeLinear")) continue;
    if (base_of(low_made, ref.input(i)) != base_of(low_made, low.input(i))) return false;
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
std::string behind_kept_norm(const std::set<std::string>& normalized, const Readers& readers, const std::string& ref,
                             const std::string& tensor) {
  const onnx::NodeProto* only = normalized.contains(ref) ? nullptr : readers.only_node(tensor);
  return only != nullptr && only->op_type() == "BatchNormalization" ? only->output(0) : tensor;
}

void match_by_name(const Subject& subject, const Model& simulated, const Readers& readers, bool moves,
                   LayerMatches& matches) {
  std::map<std::string, const onnx::NodeProto*> by_name;
  std::map<std::string, std::string> produced;  // by which operator
  for (const onnx::NodeProto& node : simulated.proto.graph().node()) {
    by_name[node.name()] = &node;
    for (const std::string& output : node.output()) produced[output] = node.op_type();
  }
  const Makers low_made = makers_in(simulated);
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
    matches.pairs.push_back({ref, behind_kept_norm(norms, readers, ref, low)});
    matches.layers.push_back(&layer);
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
        add(layer, output, dropped ? readers.as_read(output) : output);
        continue;
      }
      if (twin == by_name.end() || node == nodes.end()) continue;
      if (!reads_the_same(low_made, *node->second, *twin->second)) continue;
      for (int i = 0; i < node->second->output_size() && i < twin->second->output_size(); ++i) {
        if (node->second->output(i) != output || twin->second->output(i).empty()) continue;
        // A rounded output keeps the file's name behind the Round; the node itself writes the unrounded one.
        const std::string low = readers.rounded_name(twin->second->output(i));
        // What a folded BatchNormalization makes has that one's name, or that of what follows it, behind a pair.
        const bool folded = norms.contains(output) && !readers.any_of_type(low, "BatchNormalization") &&
                            !readers.any_of_type(readers.as_read(low), "BatchNormalization");
        if (!folded && taken.insert(low).second) {
          add(layer, output, low);
        } else {
          absorbed = true;
        }
      }
    }
    if (matches.pairs.size() == before) {
      const char* why = !layer.graph.empty()    ? "inside a body"
                        : absorbed              ? kInTheNext
                        : twin == by_name.end() ? "no node or tensor of this name in the typed file"
                                                : "its node in the typed file has no such output";
      matches.missing.push_back({layer.name, why});
      matches.inside_bodies += layer.graph.empty() ? 0 : 1;
    }
  }
}

/// Matches what names do not: operator by operator, from matched inputs on.
class StructuralMatch {
 public:
  StructuralMatch(const Subject& subject, const Model& simulated, const Readers& readers, bool moves,
                  LayerMatches& matches)
      : subject_(subject),
        simulated_(simulated),
        simulated_readers_(readers),
        moves_(moves),
        matches_(matches),
        made_by_(makers_in(simulated)) {
    for (const onnx::TensorProto& tensor : simulated.proto.graph().initializer()) low_constants_.insert(tensor.name());
    for (const onnx::TensorProto& tensor : subject.model.proto.graph().initializer()) constants_.insert(tensor.name());
    for (const onnx::NodeProto& node : subject.model.proto.graph().node()) {
      for (const std::string& input : node.input()) readers_[input].push_back(&node);
    }
    for (const onnx::NodeProto& node : simulated.proto.graph().node()) {
      if (transparent(node)) continue;
      for (const std::string& input : node.input()) low_readers_[base_of(input)].push_back(&node);
    }
    for (const Layer& layer : subject.layers) layers_[layer.name] = &layer;
    for (const onnx::ValueInfoProto& input : subject.model.proto.graph().input()) twin_[input.name()] = input.name();
    for (const Match& match : matches.pairs) {
      paired_.insert(match.low);
      twin_[match.ref] = base_of(match.low);
      if (const auto made = made_by_.find(base_of(match.low)); made != made_by_.end()) taken_.insert(made->second);
    }
    for (const onnx::NodeProto& node : simulated.proto.graph().node()) {
      if (!transparent(node) && !taken_.contains(&node)) free_[key_of_low(node)].push_back(&node);
    }
  }

  void run() {
    for (const onnx::NodeProto& node : subject_.model.proto.graph().node()) {
      if (node.output_size() == 0 || twin_.contains(node.output(0))) continue;
      if (const onnx::NodeProto* low = holds_activation_behind(node)) {
        twin_[node.output(0)] = low->output(0);
        in_the_next(node.name());
        continue;
      }
      const std::optional<std::string> key = key_of_ref(node);
      if (!key) continue;
      const auto found = free_.find(*key);
      if (found != free_.end() && !found->second.empty()) {
        const auto nearest = nearest_twin(node, found->second);
        const onnx::NodeProto& low = **nearest;
        found->second.erase(nearest);
        for (int i = 0; i < node.output_size() && i < low.output_size(); ++i) pair(node, node.output(i), low.output(i));
      } else {
        merged(node);
      }
    }
    std::erase_if(matches_.missing, [&](const MissingLayer& one) { return found_.contains(one.layer); });
    matches_.missing.insert(matches_.missing.end(), in_the_next_.begin(), in_the_next_.end());
  }

 private:
  std::string base_of(const std::string& tensor) const { return vernier::base_of(made_by_, tensor); }

  /// The node of the file that computes `node` and writes what the activation behind it makes: that activation was
  /// dropped, because the quantizer behind does its work, and its tensor is matched already.
  const onnx::NodeProto* holds_activation_behind(const onnx::NodeProto& node) const {
    const auto readers = readers_.find(node.output(0));
    if (readers == readers_.end() || readers->second.size() != 1) return nullptr;
    const onnx::NodeProto& reader = *readers->second.front();
    if (!has(reader, Trait::Clips)) return nullptr;
    const auto twin = twin_.find(reader.output(0));
    if (twin == twin_.end()) return nullptr;
    const auto made = made_by_.find(twin->second);
    return made != made_by_.end() && made->second->op_type() == node.op_type() ? made->second : nullptr;
  }

  /// Of nodes on the same inputs, such as the products for queries, keys and values, the one whose attributes and
  /// constants are nearest to those of `node`.
  std::vector<const onnx::NodeProto*>::const_iterator nearest_twin(
      const onnx::NodeProto& node, const std::vector<const onnx::NodeProto*>& lows) const {
    if (lows.size() == 1) return lows.begin();
    std::vector<double> distances;
    for (const onnx::NodeProto* low : lows) distances.push_back(distance(node, *low));
    return lows.begin() + (std::ranges::min_element(distances) - distances.begin());
  }

  double distance(const onnx::NodeProto& node, const onnx::NodeProto& low) const {
    constexpr double kOtherAttribute = 100, kOtherShape = 10, kMostOfValues = 2;
    double sum = 0;
    for (const onnx::AttributeProto& wanted : node.attribute()) {
      const onnx::AttributeProto* held = find_attribute(low, wanted.name());
      if (held != nullptr && held->SerializeAsString() != wanted.SerializeAsString()) sum += kOtherAttribute;
    }
    for (int i = 0; i < node.input_size() && i < low.input_size(); ++i) {
      const auto wanted = initializer(subject_.model, node.input(i));
      const auto held = wanted ? initializer(simulated_, base_of(low.input(i))) : std::nullopt;
      if (!held) continue;
      if (wanted->shape() != held->shape()) {
        sum += kOtherShape;
      } else if (wanted->dtype() == Dtype::Float32 && held->dtype() == Dtype::Float32) {
        ErrorStats error;
        accumulate_error(wanted->floats(), held->floats(), error);
        sum += std::min(error.error_energy / std::max(error.ref_energy, 1e-30), kMostOfValues);
      } else if (!std::ranges::equal(wanted->bytes(), held->bytes())) {
        sum += kOtherAttribute;  // indices, axes
      }
    }
    return sum;
  }

  /// Says that `layer` is not compared because the file computes it within the layer behind.
  void in_the_next(const std::string& layer) {
    const auto known = layers_.find(layer);
    if (known == layers_.end() || (known->second->follows && !moves_)) return;
    found_.insert(layer);
    in_the_next_.push_back({layer, kInTheNext});
  }

  std::string key_of_low(const onnx::NodeProto& node) const {
    std::string key = node.op_type();
    for (const std::string& input : node.input()) {
      key += '\n' + (input.empty() || low_constants_.contains(base_of(input)) ? "#" : base_of(input));
    }
    return key;
  }

  std::optional<std::string> key_of_ref(const onnx::NodeProto& node) const {
    std::string key = node.op_type();
    for (const std::string& input : node.input()) {
      if (input.empty() || constants_.contains(input)) {
        key += "\n#";
        continue;
      }
      const auto twin = twin_.find(input);
      if (twin == twin_.end()) return std::nullopt;
      key += '\n' + twin->second;
    }
    return key;
  }

  void pair(const onnx::NodeProto& node, const std::string& ref, const std::string& low) {
    twin_[ref] = low;
    const auto layer = layers_.find(node.name());
    if (layer == layers_.end() || (layer->second->follows && !moves_)) return;
    if (std::ranges::find(layer->second->outputs, ref) == layer->second->outputs.end()) return;
    const std::string rounded = simulated_readers_.rounded_name(low);
    if (!paired_.insert(rounded).second) return;  // something else is compared with it
    matches_.pairs.push_back({ref, rounded});
    matches_.layers.push_back(layer->second);
    matches_.by_structure += found_.insert(node.name()).second ? 1 : 0;
  }

  /// A node that the file merged into the one before it: a folded BatchNormalization moves the match of its Conv, a
  /// dropped activation is where the Round behind it is.
  void merged(const onnx::NodeProto& node) {
    const bool clips = has(node, Trait::Clips);
    if ((!clips && node.op_type() != "BatchNormalization") || readers_[node.input(0)].size() != 1) return;
    const auto twin = twin_.find(node.input(0));
    if (twin == twin_.end()) return;
    const std::string low = twin->second;
    // The file has one of its own behind, which was matched to something else.
    const auto kept = low_readers_.find(low);
    if (!clips && kept != low_readers_.end() && kept->second.front()->op_type() == node.op_type()) return;
    if (!clips) {
      for (std::size_t i = matches_.pairs.size(); i-- > 0;) {
        if (matches_.pairs[i].ref != node.input(0)) continue;
        found_.erase(matches_.layers[i]->name);
        matches_.missing.push_back({matches_.layers[i]->name, kInTheNext});
        paired_.erase(matches_.pairs[i].low);
        matches_.pairs.erase(matches_.pairs.begin() + static_cast<std::ptrdiff_t>(i));
        matches_.layers.erase(matches_.layers.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    pair(node, node.output(0), clips ? simulated_readers_.as_read(low) : low);
    twin_[node.output(0)] = low;
  }

  const Subject& subject_;
  const Model& simulated_;
  const Readers& simulated_readers_;
  const bool moves_;
  LayerMatches& matches_;
  Makers made_by_;                                                          // of the file
  std::map<std::string, std::vector<const onnx::NodeProto*>> readers_;      // of the float model
  std::map<std::string, std::vector<const onnx::NodeProto*>> low_readers_;  // of the file, through transparent nodes
  std::map<std::string, const Layer*> layers_;
  std::set<std::string> constants_, low_constants_;
  std::map<std::string, std::string> twin_;  // float tensor -> what the file computes there
  std::set<std::string> paired_;             // tensors of the file that are compared
  std::set<const onnx::NodeProto*> taken_;
  std::map<std::string, std::vector<const onnx::NodeProto*>> free_;  // nodes of the file by operator and inputs
  std::set<std::string> found_;
  std::vector<MissingLayer> in_the_next_;
};

void drop(LayerMatches& matches, std::size_t i, const std::string& why) {
  matches.missing.push_back({matches.layers[i]->name, why});
  matches.pairs.erase(matches.pairs.begin() + static_cast<std::ptrdiff_t>(i));
  matches.layers.erase(matches.layers.begin() + static_cast<std::ptrdiff_t>(i));
}

bool gives_truths(const onnx::NodeProto& node) {
  static const std::set<std::string_view> kOperators = {
      "And", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual", "Not", "Or", "Xor"};
  return of_onnx(node) && kOperators.contains(node.op_type());
}

/// Exporters number tensors, each in its own order. Where that shows, names of tensors tell nothing of another
/// operator.
void drop_renumbered(const Subject& subject, const Model& simulated, LayerMatches& matches) {
  const Makers made_by = makers_in(simulated);
  const auto maker = [&](const Match& match) {
    const auto made = made_by.find(base_of(made_by, match.low));
    return made == made_by.end() ? nullptr : made->second;
  };
  const bool truths = std::ranges::any_of(matches.pairs, [&](const Match& match) {
    const onnx::NodeProto* const made = maker(match);
    return made != nullptr && gives_truths(*made);
  });
  if (!truths && crossed_matches(subject.model.proto.graph(), simulated.proto.graph(), matches.pairs).empty()) return;
  for (std::size_t i = matches.pairs.size(); i-- > 0;) {
    const onnx::NodeProto* const made = maker(matches.pairs[i]);
    if (made == nullptr || made->op_type() == matches.layers[i]->op_type) continue;
    drop(matches, i, "its tensor's name is another operator's in the typed file");
  }
}

/// Their layers are matched with what has their values.
void drop_misnamed(const Subject& subject, const Model& simulated, LayerMatches& matches) {
  const MisnamedMatches misnamed = find_misnamed(subject, simulated, matches);
  for (auto i = misnamed.wrong.rbegin(); i != misnamed.wrong.rend(); ++i) {
    drop(matches, *i, "its tensor's name is another one's in the typed file");
  }
  for (const Match& right : misnamed.right) {
    const auto taken = [&](const Match& match) { return match.ref == right.ref || match.low == right.low; };
    const auto makes = [&](const Layer& layer) {
      return std::ranges::find(layer.outputs, right.ref) != layer.outputs.end();
    };
    const auto layer = std::ranges::find_if(subject.layers, makes);
    if (layer == subject.layers.end() || std::ranges::any_of(matches.pairs, taken)) continue;
    matches.pairs.push_back(right);
    matches.layers.push_back(&*layer);
    std::erase_if(matches.missing, [&](const MissingLayer& one) { return one.layer == layer->name; });
  }
}

void drop_crossed(const Subject& subject, const Model& simulated, LayerMatches& matches) {
  const std::vector<std::size_t> crossed =
      crossed_matches(subject.model.proto.graph(), simulated.proto.graph(), matches.pairs);
  for (auto i = crossed.rbegin(); i != crossed.rend(); ++i) drop(matches, *i, "in another order in the typed file");
}

/// A file may hold a layer with more channels than the float model has, compute it in float64 or on integers.
void drop_other_types(const Subject& subject, const Model& simulated, LayerMatches& matches) {
  const std::map<std::string, ValueType> ref = infer_types(subject.model);
  const std::map<std::string, ValueType> low = infer_simulated_types(simulated);
  for (std::size_t i = matches.pairs.size(); i-- > 0;) {
    const auto a = ref.find(matches.pairs[i].ref);
    const auto b = low.find(matches.pairs[i].low);
    if (a == ref.end() || b == low.end()) continue;
    const Dtype type = b->second.dtype;
    const bool not_float = type == Dtype::Float64 || type == Dtype::Bool || is_integer(type);
    if (!not_float && (!a->second.rank_known || !b->second.rank_known)) continue;
    const bool same = std::ranges::equal(a->second.shape, b->second.shape, [](std::int64_t one, std::int64_t other) {
      return one == other || one < 0 || other < 0;
    });
    if (same && !not_float) continue;
    drop(matches, i, fmt::format("of another {} in the typed file", not_float ? "type" : "shape"));
  }
}

}  // namespace

Makers makers_in(const Model& model) {
  Makers made_by;
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    for (const std::string& output : node.output()) made_by[output] = &node;
  }
  return made_by;
}

std::vector<std::string> texts_of(const std::vector<MissingLayer>& missing) {
  std::vector<std::string> texts;
  for (const MissingLayer& one : missing) texts.push_back(fmt::format("{}: {}", one.layer, one.why));
  return texts;
}

LayerMatches match_layers(const Subject& subject, const Model& simulated, bool moves) {
  LayerMatches matches;
  const Readers readers(simulated);
  match_by_name(subject, simulated, readers, moves, matches);
  drop_misnamed(subject, simulated, matches);
  drop_renumbered(subject, simulated, matches);
  if (!matches.missing.empty()) StructuralMatch(subject, simulated, readers, moves, matches).run();
  drop_other_types(subject, simulated, matches);
  drop_crossed(subject, simulated, matches);
  return matches;
}

}  // namespace vernier
