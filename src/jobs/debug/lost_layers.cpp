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
#include "jobs/debug/pair_reasons.h"
#include "model/operator_traits.h"
#include "model/output_channels.h"
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
constexpr double kLostOutputDb = 20;

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

  /// Those between `tensor` and the tensors that are compared in front of it, each with its own pair.
  std::set<std::size_t> behind(const std::string& tensor) const {
    std::set<std::size_t> found;
    std::set<std::string> seen;
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

PairReason reason_of(const QuantizerLoss& pair, const Starved& starved) {
  if (!starved.many() || has_far_too_large_scale(pair)) return reason_of_loss(pair);
  return {fmt::format("all of its channels share one scale, and {} of {} use fewer than {:g} levels", starved.starved,
                      starved.channels, kFewLevels),
          "give each output channel its own scale (per channel)"};
}

const std::string& node_of_pair(const QuantizerLoss& pair) {
  return pair.quantizer.empty() ? pair.dequantizer : pair.quantizer;
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
    const PairReason reason = reason_of(losses[weight->second], starved);
    found.push_back({"starved-channels", where,
                     fmt::format("layer '{}' ({}): {}", printable(node.name()), node.op_type(), reason.why),
                     reason.cure});
  }
}

}  // namespace

std::vector<FoundDefect> find_lost_layers(const SimulatedFile& file, const DebugLossReport& report,
                                          const LayerLosses& errors, const std::vector<QuantizerLoss>& losses,
                                          const std::set<std::string>& skipped) {
  std::vector<FoundDefect> found;
  const Feeding feeding(file, report);
  std::set<std::string> known;
  for (const FoundDefect& defect : report.defects) known.insert(defect.node);
  for (const TensorLoss& layer : report.tensors) {
    if (!layer.own_sqnr_db || *layer.own_sqnr_db >= kLostLayerDb) continue;
    const onnx::NodeProto* node = feeding.computes(layer.quantized_tensor);
    const auto measured = errors.find(layer.tensor);
    if (node == nullptr || measured == errors.end() || skipped.contains(layer.quantized_tensor)) continue;
    if (std::ranges::any_of(node->input(), [&](const std::string& input) { return skipped.contains(input); })) continue;
    const double most = *layer.own_sqnr_db + kExplainsWithinDb;
    if (measured->second.of_nothing <= most) continue;  // no pair makes it
    const QuantizerLoss* worst = nullptr;
    Starved starved;
    bool explained = false;
    for (const std::size_t i : feeding.behind(layer.quantized_tensor)) {
      const QuantizerLoss& pair = losses[i];
      explained = explained || known.contains(node_of_pair(pair));
      const Starved channels = starved_channels(file, *node, file.quantized[i]);
      if (starved.many() || !pair.sqnr_db) continue;
      if (!((pair.weight ? measured->second.of_weights : measured->second.of_inputs) <= most)) continue;
      if (channels.many() || worst == nullptr || *pair.sqnr_db < *worst->sqnr_db) worst = &pair;
      if (channels.many()) starved = channels;
    }
    if (worst == nullptr || explained) continue;
    if (bits_of(worst->format) == 4 && *layer.own_sqnr_db >= kLostDbOfInt4) continue;
    const PairReason reason = reason_of(*worst, starved);
    found.push_back(
        {"lost-layer", node_of_pair(*worst),
         fmt::format("layer '{}' ({}) has an SQNR of {:.1f} dB on exact inputs, because {} '{}' has {:.1f} dB: {}",
                     printable(layer.layer), layer.op_type, *layer.own_sqnr_db,
                     worst->weight ? "its weight" : "its input", printable(worst->tensor), *worst->sqnr_db, reason.why),
         reason.cure});
  }
  add_starved_weights(file, report, losses, found);
  return found;
}

}  // namespace vernier
