#include "analysis/structural_match.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/operator_traits.h"
#include "numerics/metrics.h"

namespace vernier {
namespace {

/// Matches what names do not: operator by operator, from matched inputs on.
class StructuralMatch {
 public:
  StructuralMatch(const Subject& subject, const SimulatedGraph& graph, bool moves, StructuralReach reach,
                  LayerMatches& matches)
      : subject_(subject), graph_(graph), moves_(moves), reach_(reach), matches_(matches) {
    const Model& simulated = graph.model();
    for (const onnx::TensorProto& tensor : simulated.proto.graph().initializer()) low_constants_.insert(tensor.name());
    for (const onnx::TensorProto& tensor : subject.model.proto.graph().initializer()) constants_.insert(tensor.name());
    for (const onnx::NodeProto& node : subject.model.proto.graph().node()) {
      for (const std::string& input : node.input()) readers_[input].push_back(&node);
    }
    for (const onnx::NodeProto& node : simulated.proto.graph().node()) {
      if (is_transparent(node)) continue;
      for (const std::string& input : node.input()) low_readers_[graph_.base_of(input)].push_back(&node);
    }
    for (const Layer& layer : subject.layers) layers_[layer.name] = &layer;
    for (const onnx::ValueInfoProto& input : subject.model.proto.graph().input()) twin_[input.name()] = input.name();
    for (const Match& match : matches.pairs) {
      paired_.insert(match.low);
      twin_[match.ref] = graph_.base_of(match.low);
      if (const onnx::NodeProto* made = graph.maker(twin_[match.ref])) taken_.insert(made);
    }
    for (const onnx::NodeProto& node : simulated.proto.graph().node()) {
      if (!is_transparent(node) && !taken_.contains(&node)) free_[key_of_low(node)].push_back(&node);
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
  /// The node of the file that computes `node` and writes what the activation behind it makes: that activation was
  /// dropped, because the quantizer behind does its work, and its tensor is matched already.
  const onnx::NodeProto* holds_activation_behind(const onnx::NodeProto& node) const {
    const auto readers = readers_.find(node.output(0));
    if (readers == readers_.end() || readers->second.size() != 1) return nullptr;
    const onnx::NodeProto& reader = *readers->second.front();
    if (!has(reader, Trait::Clips)) return nullptr;
    const auto twin = twin_.find(reader.output(0));
    const onnx::NodeProto* made = twin == twin_.end() ? nullptr : graph_.maker(twin->second);
    return made != nullptr && made->op_type() == node.op_type() ? made : nullptr;
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
      const auto held = wanted ? initializer(graph_.model(), graph_.base_of(low.input(i))) : std::nullopt;
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
    in_the_next_.push_back({layer, kMergedIntoNext, true});
  }

  std::string key_of_low(const onnx::NodeProto& node) const {
    std::string key = node.op_type();
    for (const std::string& input : node.input()) {
      key += '\n' + (input.empty() || low_constants_.contains(graph_.base_of(input)) ? "#" : graph_.base_of(input));
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
      if (twin == twin_.end() || later_.contains(input)) return std::nullopt;
      key += '\n' + twin->second;
    }
    return key;
  }

  void pair(const onnx::NodeProto& node, const std::string& ref, const std::string& low) {
    twin_[ref] = low;
    if (reach_ == StructuralReach::Next) later_.insert(ref);
    const auto layer = layers_.find(node.name());
    if (layer == layers_.end() || (layer->second->follows && !moves_)) return;
    if (std::ranges::find(layer->second->outputs, ref) == layer->second->outputs.end()) return;
    const std::string rounded = graph_.rounded_name(low);
    if (!paired_.insert(rounded).second) return;  // something else is compared with it
    matches_.add({ref, rounded}, *layer->second);
    matches_.by_structure += found_.insert(node.name()).second ? 1 : 0;
  }

  /// Whether the file has such an operator behind nodes that only move the values of `low`, in another layout.
  bool stands_behind_moves(std::string low, const std::string& op_type) const {
    while (true) {
      const auto readers = low_readers_.find(low);
      if (readers == low_readers_.end() || readers->second.size() != 1) return false;
      const onnx::NodeProto& reader = *readers->second.front();
      if (reader.op_type() == op_type) return true;
      if (!has(reader, Trait::Moves) || reader.output_size() == 0) return false;
      low = reader.output(0);
    }
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
    if (clips && stands_behind_moves(low, node.op_type())) return;
    if (!clips) {
      for (std::size_t i = matches_.pairs.size(); i-- > 0;) {
        if (matches_.pairs[i].ref != node.input(0)) continue;
        found_.erase(matches_.layers[i]->name);
        matches_.missing.push_back({matches_.layers[i]->name, kMergedIntoNext, true});
        paired_.erase(matches_.pairs[i].low);
        matches_.remove(i);
      }
    }
    pair(node, node.output(0), clips ? graph_.as_read_widest(low) : low);
    twin_[node.output(0)] = low;
  }

  const Subject& subject_;
  const SimulatedGraph& graph_;
  const bool moves_;
  const StructuralReach reach_;
  LayerMatches& matches_;
  std::map<std::string, std::vector<const onnx::NodeProto*>> readers_;      // of the float model
  std::map<std::string, std::vector<const onnx::NodeProto*>> low_readers_;  // of the file, through transparent nodes
  std::map<std::string, const Layer*> layers_;
  std::set<std::string> constants_, low_constants_;
  std::map<std::string, std::string> twin_;  // float tensor -> what the file computes there
  std::set<std::string> paired_;             // tensors of the file that are compared
  std::set<const onnx::NodeProto*> taken_;
  std::map<std::string, std::vector<const onnx::NodeProto*>> free_;  // nodes of the file by operator and inputs
  std::set<std::string> found_;
  std::set<std::string> later_;  // float tensors whose readers are out of reach
  std::vector<MissingLayer> in_the_next_;
};

}  // namespace

void match_by_structure(const Subject& subject, const SimulatedGraph& graph, bool moves, StructuralReach reach,
                        LayerMatches& matches) {
  StructuralMatch(subject, graph, moves, reach, matches).run();
}

}  // namespace vernier
