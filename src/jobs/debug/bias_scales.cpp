#include "jobs/debug/bias_scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "numerics/metrics.h"
#include "plan/integer_bias.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Drops what was found of biases whose quantized values are right, if the scale of the layer's input or weight is what
/// is wrong: that one was changed, and the bias was not.
void drop_scales_of_biases(const Examined& file, std::vector<FoundDefect>& defects) {
  const Makers made_by = makers_in(file.normalized);
  const auto maker = [&](const std::string& tensor) {
    const auto found = made_by.find(tensor);
    return found == made_by.end() ? nullptr : found->second;
  };
  std::set<std::string> innocent;  // dequantizers of such biases
  for (const onnx::NodeProto& layer : file.normalized.proto.graph().node()) {
    const onnx::NodeProto* bias = layer.input_size() < 3 ? nullptr : maker(layer.input(2));
    if (bias == nullptr) continue;
    const onnx::NodeProto* data = maker(layer.input(0));
    const onnx::NodeProto* quantizer = data == nullptr || data->input_size() == 0 ? nullptr : maker(data->input(0));
    const onnx::NodeProto* weight = maker(layer.input(1));
    const auto quantizer_has = [&](std::string_view kind) {
      return quantizer != nullptr && has_defect(defects, kind, quantizer->name());
    };
    const bool wrong_data = (data != nullptr && has_defect(defects, "other-scale", data->name())) ||
                            quantizer_has("lost-pair") || quantizer_has("unused-levels") ||
                            quantizer_has("other-operator");
    const bool wrong_weight = weight != nullptr && has_defect(defects, "weight-scale", weight->name());
    if (wrong_data || wrong_weight || has_defect(defects, "other-operator", layer.name())) {
      innocent.insert(bias->name());
    }
  }
  std::map<std::string, std::size_t> count;
  for (const FoundDefect& defect : defects) ++count[defect.node];
  std::erase_if(defects, [&](const FoundDefect& defect) {
    return (defect.kind == "bias-scale" || defect.common_factor) && innocent.contains(defect.node) &&
           count.at(defect.node) == 1;
  });
}

/// The one input scale for which a bias was stored with right values.
std::optional<double> input_scale_of(const Examined& file, const onnx::NodeProto& layer, const onnx::NodeProto& bias,
                                     const onnx::NodeProto& weight) {
  constexpr double kSame = 1e-3;
  const auto scales = initializer(file.normalized, bias.input(1)),
             factors = initializer(file.normalized, weight.input(1));
  const auto wanted = file.weights.found.find(bias.output(0));
  const auto held = initializer(file.simulated.model, bias.output(0));
  if (!scales || !factors || !held || wanted == file.weights.found.end()) return std::nullopt;
  if (scales->dtype() != Dtype::Float32 || factors->dtype() != Dtype::Float32) return std::nullopt;
  const std::span<const float> of_bias = scales->floats(), of_weight = factors->floats();
  const std::span<const float> is = held->floats(), was = wanted->second.values.floats();
  const std::size_t count = std::max(of_bias.size(), of_weight.size());
  const auto at = [&](std::span<const float> all, std::size_t i) { return all[all.size() == 1 ? 0 : i]; };
  if (is.size() != was.size() || (count != 1 && count != is.size())) return std::nullopt;
  for (const auto& all : {of_bias, of_weight}) {
    if (all.size() != 1 && all.size() != count) return std::nullopt;
  }
  const double first = static_cast<double>(of_bias.front()) / static_cast<double>(of_weight.front());
  for (std::size_t i = 0; i < is.size(); ++i) {
    const double scale = static_cast<double>(at(of_bias, i)) / static_cast<double>(at(of_weight, i));
    if (!(std::abs(scale - first) <= kSame * first) || !(std::abs(is[i] - was[i]) <= at(of_bias, i))) {
      return std::nullopt;
    }
  }
  return first / static_cast<double>(bias_factor(layer));
}

/// How much larger the file holds a weight than the float model: that of least squares.
std::optional<double> gain_of(const Examined& file, const onnx::NodeProto& weight) {
  const auto wanted = file.weights.found.find(weight.output(0));
  const auto held = initializer(file.simulated.model, weight.output(0));
  if (!held || wanted == file.weights.found.end() || held->dtype() != Dtype::Float32) return std::nullopt;
  if (wanted->second.values.count() != held->count()) return std::nullopt;
  ErrorStats error;
  accumulate_error(wanted->second.values.floats(), held->floats(), error);
  return error.ref_energy > 0 ? std::optional(error.dot / error.ref_energy) : std::nullopt;
}

/// Of the nearer end of a range by the values that went through it: below 1 the range clips.
std::optional<double> covered(const QuantParams& params, const GridLoss& grid) {
  if (params.scale.size() != 1 || grid.range.empty()) return std::nullopt;
  const auto [low, high] = ends_of(params);
  double least = std::numeric_limits<double>::infinity();
  if (grid.range.max > 0) least = std::min(least, static_cast<double>(high) / static_cast<double>(grid.range.max));
  if (grid.range.min < 0) least = std::min(least, static_cast<double>(low) / static_cast<double>(grid.range.min));
  return std::isfinite(least) && least > 0 ? std::optional(least) : std::nullopt;
}

/// Whether the scale of an input was changed by `factor` after the bias was stored: the range of its values fits the
/// earlier scale and not this one, and the weight is that of the float model. Else the scale of the weight or that of
/// the bias may have been changed as well.
bool was_changed(const std::optional<double>& coverage, double factor, const std::optional<double>& gain) {
  constexpr double kFits = 0.1, kClearlyWorse = 2, kShareOfFactor = 0.25;
  if (!coverage || !gain) return false;
  const double now = std::abs(std::log(*coverage)), earlier = std::abs(std::log(*coverage / factor));
  if (earlier > kFits || now < kClearlyWorse * earlier + kFits) return false;
  return std::abs(*gain - 1) <= kShareOfFactor * std::abs(factor - 1);
}

/// Of a bias that has right values at its own scale: names the input whose scale was changed after it was stored, if
/// that is certain. Else it says that the three scales contradict each other.
void blame_inputs_of_biases(const Examined& file, const std::vector<GridLoss>& grids,
                            std::vector<FoundDefect>& defects) {
  const Makers made_by = makers_in(file.normalized);
  const auto nodes = nodes_by_name(file.original.proto.graph());
  for (const onnx::NodeProto& layer : file.normalized.proto.graph().node()) {
    if (layer.input_size() < 3) continue;
    const auto data = made_by.find(layer.input(0)), weight = made_by.find(layer.input(1));
    const auto bias = made_by.find(layer.input(2));
    if (data == made_by.end() || weight == made_by.end() || bias == made_by.end()) continue;
    const auto has_scale = [](const onnx::NodeProto& node) {
      return has(node, Trait::Quantizes) && node.input_size() > 1;
    };
    if (!has_scale(*data->second) || !has_scale(*weight->second) || !has_scale(*bias->second)) continue;
    const auto defect = std::ranges::find_if(
        defects, [&](const FoundDefect& one) { return one.kind == "bias-scale" && one.node == bias->second->name(); });
    const auto step = initializer(file.normalized, data->second->input(1));
    if (defect == defects.end() || !step || step->count() != 1) continue;
    const std::optional<double> stored = input_scale_of(file, layer, *bias->second, *weight->second);
    if (!stored) continue;
    const float scale = step->floats().front();
    const auto quantizer = made_by.find(data->second->input(0));
    const auto& pairs = file.simulated.quantized;
    const auto pair = std::ranges::find(pairs, data->second->name(), &QuantizedTensor::dequantizer);
    if (quantizer != made_by.end() && nodes.contains(quantizer->second->name()) && pair != pairs.end() &&
        was_changed(covered(pair->params, grids[static_cast<std::size_t>(pair - pairs.begin())]),
                    static_cast<double>(scale) / *stored, gain_of(file, *weight->second))) {
      defect->node = quantizer->second->name();
      defect->text =
          fmt::format("the scale of '{}' is {:g}, but the bias of '{}' was stored for an input scale of {:g}",
                      printable(quantizer->second->input(0)), scale, printable(layer.name()), *stored);
      defect->cure = "quantize again: this scale was changed after the bias was stored";
      continue;
    }
    defect->text += fmt::format(
        ". The three scales of '{}' contradict each other: with this scale its quantized values are right, and stand "
        "for an input scale of {:g}, but the input has {:g}",
        printable(layer.name()), *stored, scale);
    defect->cure = "quantize again: the scale of the input, of the weight or of the bias was changed";
  }
}

}  // namespace

bool has_defect(const std::vector<FoundDefect>& defects, std::string_view kind, const std::string& node) {
  return std::ranges::any_of(defects,
                             [&](const FoundDefect& defect) { return defect.kind == kind && defect.node == node; });
}

void settle_scales_of_biases(const Examined& file, const std::vector<GridLoss>& grids,
                             std::vector<FoundDefect>& defects) {
  drop_scales_of_biases(file, defects);
  blame_inputs_of_biases(file, grids, defects);
}

}  // namespace vernier
