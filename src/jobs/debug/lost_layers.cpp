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
#include "model/operator_traits.h"
#include "model/output_channels.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Three percent of the energy is noise: far below what eight bits leave of a layer on exact inputs (25 dB and more).
constexpr double kLostDb = 15;
constexpr double kLostDbOfInt4 = 5;
constexpr double kExplainsWithinDb = 30;
constexpr double kMostlyClipped = 0.5;
constexpr double kFarTooWide = 4;  // two bits of eight
/// A channel that uses fewer levels on each side of zero has lost its values, and so many of such channels the layer.
constexpr double kFewLevels = 8;
constexpr double kManyStarved = 0.1;
constexpr double kLostOutputDb = 20;

/// The pairs that a node reads, through operators that only move values.
class Feeding {
 public:
  explicit Feeding(const SimulatedFile& file) {
    for (const onnx::NodeProto& node : file.model.proto.graph().node()) {
      for (const std::string& output : node.output()) makers_[output] = &node;
    }
    for (std::size_t i = 0; i < file.quantized.size(); ++i) pairs_[file.quantized[i].output] = i;
  }

  /// The node that computes `tensor`, in front of the pair that makes its values an activation. Null: an input.
  const onnx::NodeProto* computes(const std::string& tensor) const {
    const auto found = makers_.find(tensor);
    if (found == makers_.end() || !pairs_.contains(tensor)) return found == makers_.end() ? nullptr : found->second;
    return computes(found->second->input(0));
  }

  std::set<std::size_t> behind(const onnx::NodeProto& node) const {
    std::set<std::size_t> found;
    for (const std::string& input : node.input()) collect(input, found);
    return found;
  }

 private:
  void collect(std::string tensor, std::set<std::size_t>& found) const {
    while (!tensor.empty()) {
      if (const auto pair = pairs_.find(tensor); pair != pairs_.end()) {
        found.insert(pair->second);
        return;
      }
      const auto maker = makers_.find(tensor);
      if (maker == makers_.end() || !traits_of(*maker->second).any(kFollows)) return;
      tensor = maker->second->input(0);
    }
  }

  std::map<std::string, const onnx::NodeProto*> makers_;
  std::map<std::string, std::size_t> pairs_;  // by what they make
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

struct Reason {
  std::string why, cure;
};

Reason reason_of(const QuantizerLoss& pair, const Starved& starved) {
  if (starved.many()) {
    return {fmt::format("one scale serves all of its channels, and {} of {} use fewer than {:g} levels",
                        starved.starved, starved.channels, kFewLevels),
            "give each output channel a scale of its own (per channel)"};
  }
  if (pair.clip_share && *pair.clip_share >= kMostlyClipped) {
    return {fmt::format("its range is too narrow: {:.0f} % of the noise is values that it cuts off",
                        100 * *pair.clip_share),
            pair.weight ? "store the weight again with a range that holds its values"
                        : "calibrate again with samples, or a method, that keep the largest values"};
  }
  if (pair.coverage && *pair.coverage >= kFarTooWide) {
    return {fmt::format("its range is {:.3g} times as wide as its values", *pair.coverage),
            "calibrate again: the range was learned on other values"};
  }
  return {fmt::format("{} has too few levels for its values", format_name(pair.format)),
          pair.weight ? "keep the layer in a higher format"
                      : "keep the layer in a higher format, or let ‹vernier fix› bring its channels together (smooth)"};
}

/// Tensors that a node with a defect makes, moved perhaps: they explain what their readers lose.
std::set<std::string> made_wrong(const Model& given, const DebugLossReport& report) {
  std::set<std::string> nodes, tensors;
  for (const FoundDefect& defect : report.defects) nodes.insert(defect.node);
  for (const onnx::NodeProto& node : given.proto.graph().node()) {
    const bool moved = has(node, Trait::Moves) && node.input_size() > 0 && tensors.contains(node.input(0));
    if (moved || nodes.contains(node.name())) tensors.insert(node.output().begin(), node.output().end());
  }
  return tensors;
}

/// A pooled error shows large channels. Small ones that are lost show only where a layer behind evens them out, so that
/// an output below kLostOutputDb is what asks for them.
void add_starved_weights(const SimulatedFile& file, const DebugLossReport& report, std::vector<FoundDefect>& found) {
  const bool lost = std::ranges::any_of(report.figures.outputs,
                                        [](const OutputFigure& output) { return !(output.sqnr_db >= kLostOutputDb); });
  if (!lost) return;
  std::map<std::string, const QuantizedTensor*> weights;
  for (const QuantizedTensor& pair : file.quantized) weights[pair.output] = &pair;
  for (const onnx::NodeProto& node : file.model.proto.graph().node()) {
    const auto weight = node.input_size() > 1 ? weights.find(node.input(1)) : weights.end();
    if (weight == weights.end()) continue;
    const QuantizedTensor& pair = *weight->second;
    const Starved starved = starved_channels(file, node, pair);
    const std::string& where = pair.quantizer.empty() ? pair.dequantizer : pair.quantizer;
    const auto is_here = [&](const FoundDefect& defect) { return defect.node == where; };
    if (!starved.many() || std::ranges::any_of(found, is_here) || std::ranges::any_of(report.defects, is_here))
      continue;
    const Reason reason = reason_of({}, starved);
    found.push_back({"starved-channels", where,
                     fmt::format("layer '{}' ({}): {}", printable(node.name()), node.op_type(), reason.why),
                     reason.cure});
  }
}

}  // namespace

std::vector<FoundDefect> find_lost_layers(const Model& given, const SimulatedFile& file,
                                          const DebugLossReport& report) {
  std::vector<FoundDefect> found;
  const Feeding feeding(file);
  const std::set<std::string> wrong = made_wrong(given, report);
  for (const TensorLoss& layer : report.tensors) {
    if (!layer.own_sqnr_db || *layer.own_sqnr_db >= kLostDb) continue;
    const onnx::NodeProto* node = feeding.computes(layer.quantized_tensor);
    if (node == nullptr) continue;
    if (std::ranges::any_of(node->input(), [&](const std::string& input) { return wrong.contains(input); })) continue;
    const QuantizerLoss* worst = nullptr;
    Starved starved;
    for (const std::size_t i : feeding.behind(*node)) {
      const QuantizerLoss& pair = report.quantizers[i];
      const Starved channels = starved_channels(file, *node, file.quantized[i]);
      if (starved.many() || !pair.sqnr_db) continue;
      if (channels.many() || worst == nullptr || *pair.sqnr_db < *worst->sqnr_db) worst = &pair;
      if (channels.many()) starved = channels;
    }
    // A pair that keeps far more than its layer does not explain the loss.
    const bool explains =
        worst != nullptr && (starved.many() || *worst->sqnr_db < *layer.own_sqnr_db + kExplainsWithinDb);
    if (!explains || (bits_of(worst->format) == 4 && *layer.own_sqnr_db >= kLostDbOfInt4)) continue;
    const Reason reason = reason_of(*worst, starved);
    found.push_back(
        {"lost-layer", worst->quantizer.empty() ? worst->dequantizer : worst->quantizer,
         fmt::format("layer '{}' ({}) keeps {:.1f} dB on exact inputs, for {} '{}' ({:.1f} dB): {}",
                     printable(layer.layer), layer.op_type, *layer.own_sqnr_db,
                     worst->weight ? "its weight" : "its input", printable(worst->tensor), *worst->sqnr_db, reason.why),
         reason.cure});
  }
  add_starved_weights(file, report, found);
  return found;
}

}  // namespace vernier
