#include "jobs/debug/lost_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"
#include "jobs/debug/other_constants.h"
#include "jobs/debug/pair_reasons.h"
#include "jobs/verify/output_noise.h"
#include "jobs/verify/stored_values.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/output_channels.h"
#include "plan/round_node.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr double kLostDbOfInt4 = 5;
/// Inputs or weights that alone leave a layer so much more than both together make less than half of its error.
constexpr double kExplainsWithinDb = 4;
/// A channel that uses fewer levels on each side of zero has lost its values, and so many of such channels the layer.
constexpr double kFewLevels = 8;
constexpr double kManyStarved = 0.1;

/// The pairs that take part in a layer's local error.
class Feeding {
 public:
  Feeding(const SimulatedFile& file, const DebugLossReport& report) {
    for (const onnx::NodeProto& node : file.model.proto.graph().node()) {
      for (const std::string& output : node.output()) makers_[output] = &node;
    }
    for (std::size_t i = 0; i < file.quantized.size(); ++i) pairs_[file.quantized[i].output] = i;
    for (const TensorLoss& layer : report.tensors) matched_.insert(layer.quantized_tensor);
  }

  /// The node that computes `tensor`, in front of the pair that makes its values an activation. Null: an input.
  const onnx::NodeProto* computes(const std::string& tensor) const {
    const auto found = makers_.find(tensor);
    if (found == makers_.end() || !pairs_.contains(tensor)) return found == makers_.end() ? nullptr : found->second;
    return computes(found->second->input(0));
  }

  /// Those between `tensor` and the tensors that are compared in front of it, each with its own pair. `seen`: all
  /// tensors there.
  std::set<std::size_t> behind(const std::string& tensor, std::set<std::string>& seen) const {
    std::set<std::size_t> found;
    std::vector<std::string> open = {tensor};
    while (!open.empty()) {
      const std::string next = open.back();
      open.pop_back();
      if (next.empty() || !seen.insert(next).second) continue;
      if (const auto pair = pairs_.find(next); pair != pairs_.end()) found.insert(pair->second);
      const auto maker = makers_.find(next);
      if (maker == makers_.end() || (next != tensor && matched_.contains(next))) continue;
      open.insert(open.end(), maker->second->input().begin(), maker->second->input().end());
    }
    return found;
  }

  /// Whether one of these tensors comes from a rounding that belongs to no pair: a Cast, or a layer in a half format.
  bool rounds_without_pair(const std::set<std::string>& tensors) const {
    return std::ranges::any_of(tensors, [&](const std::string& tensor) {
      const auto maker = makers_.find(tensor);
      return maker != makers_.end() && maker->second->domain() == kDomain && !pairs_.contains(tensor);
    });
  }

 private:
  std::map<std::string, const onnx::NodeProto*> makers_;
  std::map<std::string, std::size_t> pairs_;  // by what they make
  std::set<std::string> matched_;
};

/// Of a weight with one scale: the output channels that use few of its levels.
struct Starved {
  std::size_t channels = 0, starved = 0;
  bool many() const { return static_cast<double>(starved) > kManyStarved * static_cast<double>(channels); }
};

Starved starved_channels(const SimulatedFile& file, const onnx::NodeProto& node, const QuantizedTensor& pair) {
  Starved found;
  if (pair.params.scale.size() != 1 || !has_weight_axis(node) || node.input(1) != pair.output) return found;
  const auto weight = initializer(file.model, pair.output);
  const auto channels = weight ? output_channels(node, weight->shape()) : std::nullopt;
  if (!channels) return found;
  std::vector<float> largest(channels->count, 0);
  const std::span<const float> values = weight->floats();
  for (std::size_t i = 0; i < values.size(); ++i) {
    float& most = largest[channels->of(i)];
    most = std::max(most, std::abs(values[i]));
  }
  found.channels = largest.size();
  found.starved = static_cast<std::size_t>(std::ranges::count_if(
      largest, [&](float most) { return most < kFewLevels * static_cast<double>(pair.params.scale.front()); }));
  return found;
}

PairReason reason_of(const QuantizerLoss& pair, const Starved& starved, bool scaled_down) {
  if (!starved.many() || has_far_too_large_scale(pair)) return reason_of_loss(pair, scaled_down);
  return {fmt::format("all of its channels share one scale, and {} of {} use fewer than {:g} levels", starved.starved,
                      starved.channels, kFewLevels),
          "give each output channel its own scale (per channel)"};
}

/// A pooled error shows large channels. Small ones that are lost show only where a layer behind evens them out, so that
/// an output below kLostOutputDb is what asks for them.
void add_starved_weights(const SimulatedFile& file, const DebugLossReport& report,
                         const std::vector<QuantizerLoss>& losses, std::vector<FoundDefect>& found) {
  const bool lost = std::ranges::any_of(report.figures.outputs,
                                        [](const OutputFigure& output) { return !(output.sqnr_db >= kLostOutputDb); });
  if (!lost) return;
  std::map<std::string, std::size_t> weights;
  for (std::size_t i = 0; i < file.quantized.size(); ++i) weights[file.quantized[i].output] = i;
  for (const onnx::NodeProto& node : file.model.proto.graph().node()) {
    const auto weight = node.input_size() > 1 ? weights.find(node.input(1)) : weights.end();
    if (weight == weights.end()) continue;
    const QuantizedTensor& pair = file.quantized[weight->second];
    const Starved starved = starved_channels(file, node, pair);
    const std::string& where = pair.quantizer.empty() ? pair.dequantizer : pair.quantizer;
    const auto is_here = [&](const FoundDefect& defect) { return defect.node == where; };
    if (!starved.many() || std::ranges::any_of(found, is_here) || std::ranges::any_of(report.defects, is_here))
      continue;
    const PairReason reason = reason_of(losses[weight->second], starved, false);
    found.push_back({"starved-channels", where,
                     fmt::format("layer '{}' ({}): {}", printable(node.name()), node.op_type(), reason.why),
                     reason.cure});
  }
}

/// What nodes of these names make, in the file or in its simulation.
std::set<std::string> made_by(const LossyFile& file, const std::set<std::string>& names) {
  std::set<std::string> tensors;
  for (const Model* model : {&file.normalized, &file.simulated.model}) {
    for_each_graph(model->proto.graph(), [&](const onnx::GraphProto& graph) {
      for (const onnx::NodeProto& node : graph.node()) {
        if (names.contains(node.name())) tensors.insert(node.output().begin(), node.output().end());
      }
    });
  }
  return tensors;
}

/// The weight that a layer stores itself, behind these tensors; null: there is none.
const StoredLoss* stored_weight(const LossyFile& file, const std::set<std::string>& tensors) {
  const auto found = std::ranges::find_if(file.stored, [&](const auto& one) { return tensors.contains(one.first); });
  return found == file.stored.end() ? nullptr : &found->second;
}

/// A layer whose error no single pair makes. `rounds`: without any rounding it is right.
FoundDefect lost_by_itself(const TensorLoss& layer, const onnx::NodeProto& node, bool rounds) {
  const std::string what =
      rounds ? "neither its inputs nor its weight explain that error: look at its other constants"
             : "no rounding explains that error: the file computes this layer differently from the float model";
  return {"lost-layer", node.name(),
          fmt::format("layer '{}' ({}) has an SQNR of {:.1f} dB on exact inputs, and {}", printable(layer.layer),
                      layer.op_type, *layer.own_sqnr_db, what),
          "compare its constants and its attributes with those of the float model"};
}

}  // namespace

std::vector<FoundDefect> find_lost_layers(const LossyFile& file, const DebugLossReport& report,
                                          const LayerLosses& errors, const std::vector<QuantizerLoss>& losses,
                                          const std::function<bool()>& outputs_agree) {
  std::vector<FoundDefect> found;
  const Feeding feeding(file.simulated, report);
  std::set<std::string> known;
  for (const FoundDefect& defect : report.defects) known.insert(defect.node);
  const std::set<std::string> known_tensors = made_by(file, known);
  // What a file computes in FP32 may be part of a layer with quantized weights, as a MatMulNBits and its bias.
  const bool all_in_float = std::ranges::none_of(file.normalized.proto.graph().node(), [](const onnx::NodeProto& node) {
    return has(node, Traits(Trait::Quantizes) | Trait::ComputesOnCodes | Trait::StoresCodes);
  });
  for (const TensorLoss& layer : report.tensors) {
    if (!layer.own_sqnr_db || *layer.own_sqnr_db >= kSameDb) continue;
    std::set<std::string> seen;
    const std::set<std::size_t> pairs = feeding.behind(layer.quantized_tensor, seen);
    // Casts round as well, and are no pairs.
    const bool casts =
        layer.format == Format::Float16 || layer.format == Format::BFloat16 || feeding.rounds_without_pair(seen);
    const bool in_float = layer.format == Format::Float32 && all_in_float && !casts;
    if (*layer.own_sqnr_db >= (in_float ? kSameDb : kLostLayerDb)) continue;
    const onnx::NodeProto* node = feeding.computes(layer.quantized_tensor);
    const auto measured = errors.find(layer.tensor);
    if (node == nullptr || measured == errors.end() || file.skipped.contains(layer.quantized_tensor)) continue;
    const auto is_skipped = [&](const std::string& input) { return file.skipped.contains(input); };
    if (std::ranges::any_of(node->input(), is_skipped)) continue;
    const double most = *layer.own_sqnr_db + kExplainsWithinDb;
    const bool rounds = measured->second.of_nothing > most;
    const QuantizerLoss* worst = nullptr;
    Starved starved;
    bool explained = false, four_bits = false;
    for (const std::size_t i : pairs) {
      const QuantizerLoss& pair = losses[i];
      explained = explained || known.contains(node_of_pair(pair));
      four_bits = four_bits || bits_of(pair.format) == 4;
      const Starved channels = starved_channels(file.simulated, *node, file.simulated.quantized[i]);
      if (starved.many() || !pair.sqnr_db || !rounds) continue;
      if (!((pair.weight ? measured->second.of_weights : measured->second.of_inputs) <= most)) continue;
      if (channels.many() || worst == nullptr || *pair.sqnr_db < *worst->sqnr_db) worst = &pair;
      if (channels.many()) starved = channels;
    }
    if (explained) continue;
    const StoredLoss* const stored = worst == nullptr && rounds ? stored_weight(file, seen) : nullptr;
    if (stored != nullptr) {
      worst = &stored->loss;
      if (known.contains(node_of_pair(*worst))) continue;
      if (stored->bits == 2 && !has_far_too_large_scale(*worst)) continue;  // four levels leave no more
    }
    if (worst == nullptr) {
      const auto is_known = [&](const std::string& tensor) { return known_tensors.contains(read_name(tensor)); };
      if ((four_bits && *layer.own_sqnr_db >= kLostDbOfInt4) || std::ranges::any_of(seen, is_known)) continue;
      if (casts || (!rounds && outputs_agree())) continue;
      found.push_back(lost_by_itself(layer, *node, rounds));
      continue;
    }
    if (bits_of(worst->format) == 4 && *layer.own_sqnr_db >= kLostDbOfInt4) continue;
    const bool scaled_down =
        stored == nullptr &&
        can_scale_down(file.simulated, file.simulated.quantized[static_cast<std::size_t>(worst - losses.data())]);
    const PairReason reason = reason_of(*worst, starved, scaled_down);
    found.push_back(
        {"lost-layer", node_of_pair(*worst),
         fmt::format("layer '{}' ({}) has an SQNR of {:.1f} dB on exact inputs, because {} '{}' has {:.1f} dB: {}",
                     printable(layer.layer), layer.op_type, *layer.own_sqnr_db,
                     worst->weight ? "its weight" : "its input", printable(worst->tensor), *worst->sqnr_db, reason.why),
         reason.cure});
  }
  add_starved_weights(file.simulated, report, losses, found);
  return found;
}

}  // namespace vernier
