#include "plan/format_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "base/format_definition.h"
#include "base/text.h"
#include "model/graph_edit.h"
#include "model/layers.h"
#include "model/operator_traits.h"
#include "model/output_channels.h"
#include "numerics/grid.h"
#include "numerics/tensor_grid.h"
#include "plan/low_slots.h"
#include "plan/placement.h"
#include "plan/skip_branch.h"
#include "plan/weight_blocks.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Either a choice or the reason why there is none.
struct Attempt {
  std::optional<NodeChoice> choice;
  std::string refusal;

  static Attempt refused(std::string why) { return {std::nullopt, std::move(why)}; }
};

int opset_of_params(const QuantParams& params) {
  const int opset = definition_of(params.format).opset;
  if (params.block > 0) return std::max(21, opset);
  if (opset > 13) return opset;
  return params.scale.size() > 1 ? 13 : 10;
}

class Chooser {
 public:
  Chooser(const Model& model, const Plan& plan, bool strict)
      : model_(model), plan_(plan), strict_(strict), opset_(default_opset(model.proto)) {
    for (Layer& layer : find_layers(model)) {
      const std::string name = layer.name;
      layers_.emplace(name, std::move(layer));
    }
    for (const auto& [name, layer] : layers_) by_name_[name] = &layer;
    for (const PlannedLayer& layer : plan.layers) planned_[layer.name] = layer.format;
    runs_on_codes_ = runs_on_codes(by_name_, plan);
    for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
      for (const onnx::TensorProto& tensor : graph.initializer()) initializers_.insert(tensor.name());
    });
    result_.types = infer_types(model);
  }

  FormatChoices run() {
    for_each_graph(model_.proto.graph(), [&](const onnx::GraphProto& graph) { choose_graph(graph); });
    for (const auto& [name, format] : planned_) {
      if (format != Format::Float32 && !seen_.contains(name)) cannot(name, "", format, "the model has no such layer");
    }
    return std::move(result_);
  }

 private:
  void choose_graph(const onnx::GraphProto& graph) {
    // Formats of the tensors made in this graph. What comes from outside, or leaves it, is float32 at the border.
    std::map<std::string, Format> made;
    const auto readers = readers_of(graph);
    const Placement placement = place(graph);
    for (const onnx::NodeProto& node : graph.node()) {
      const auto planned = planned_.find(node.name());
      const auto layer = layers_.find(node.name());
      if (planned != planned_.end()) seen_.insert(node.name());
      if (placement.passes_codes(node.name())) {
        quantize_outputs(node, placement);
        continue;
      }
      Format wanted = Format::Float32;
      if (planned != planned_.end()) {
        wanted = planned->second;
      } else if (layer != layers_.end() && layer->second.follows) {
        wanted = followed_format(layer->second, made, readers);
      } else if (node.op_type() == "Cast") {
        wanted = format_all_read(node.output(0), readers);
      }
      if (wanted == Format::Float32) {
        shield(node, placement);
        continue;
      }
      static const Layer kNoLayer;
      const bool known = layer != layers_.end();
      Attempt attempt = known || node.op_type() == "Cast"
                            ? attempt_format(node, known ? layer->second : kNoLayer, wanted)
                            : Attempt::refused("it is not on the float data path");
      if (!attempt.choice) {
        cannot(node.name(), node.op_type(), wanted, attempt.refusal, planned != planned_.end());
        shield(node, placement);
        continue;
      }
      for (int i = 0; i < node.output_size(); ++i) {
        if (attempt.choice->low_outputs[static_cast<std::size_t>(i)]) made[node.output(i)] = attempt.choice->format;
      }
      result_.nodes[node.name()] = std::move(*attempt.choice);
      quantize_outputs(node, placement);
    }
  }

  /// Where this graph's tensors are quantized, as far as the layers planned for it can take their format.
  Placement place(const onnx::GraphProto& graph) {
    const Placement planned(model_, graph, by_name_, plan_, runs_on_codes_);
    for (const onnx::NodeProto& node : graph.node()) {
      if (runs_on_codes_(node) && !result_has_range(node, planned)) without_range_.insert(node.name());
    }
    return {model_, graph, by_name_, plan_, [&](const onnx::NodeProto& node) {
              return runs_on_codes_(node) &&
                     attempt_format(node, *by_name_.at(node.name()), planned_.at(node.name())).choice.has_value();
            }};
  }

  void shield(const onnx::NodeProto& node, const Placement& placement) {
    if (placement.would_requantize(node)) result_.nodes[node.name()].shielded = true;
  }

  bool result_has_range(const onnx::NodeProto& node, const Placement& placement) const {
    const onnx::NodeProto* activation = placement.activation_of(node);
    const std::string& result = (activation == nullptr ? node : *activation).output(0);
    return !placement.quantized(result) || plan_.tensors.contains(result);
  }

  void quantize_outputs(const onnx::NodeProto& node, const Placement& placement) {
    std::vector<bool> outputs;
    for (const std::string& output : node.output()) {
      outputs.push_back(placement.quantized(output) && plan_.tensors.contains(output));
    }
    if (std::ranges::find(outputs, true) != outputs.end()) {
      result_.nodes[node.name()].quantized_outputs = std::move(outputs);
    }
  }

  using Readers = std::map<std::string, std::vector<const onnx::NodeProto*>>;

  static Readers readers_of(const onnx::GraphProto& graph) {
    Readers readers;
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& input : node.input()) readers[input].push_back(&node);
    }
    // A graph output is read in float32: a null reader stands for it.
    for (const onnx::ValueInfoProto& output : graph.output()) readers[output.name()].push_back(nullptr);
    return readers;
  }

  Format followed_format(const Layer& layer, const std::map<std::string, Format>& made, const Readers& readers) const {
    std::set<Format> formats;
    for (const std::string& input : layer.inputs) {
      const auto found = made.find(input);
      formats.insert(found == made.end() ? Format::Float32 : found->second);
    }
    if (formats.empty()) {
      for (const std::string& output : layer.outputs) formats.insert(format_all_read(output, readers));
    }
    return formats.size() == 1 ? *formats.begin() : Format::Float32;
  }

  /// The low format that all readers of a tensor are planned in, else float32.
  Format format_all_read(const std::string& tensor, const Readers& readers) const {
    const auto found = readers.find(tensor);
    if (found == readers.end() || !is_float32(tensor)) return Format::Float32;
    std::set<Format> formats;
    for (const onnx::NodeProto* reader : found->second) {
      const auto planned = reader == nullptr ? planned_.end() : planned_.find(reader->name());
      formats.insert(planned == planned_.end() ? Format::Float32 : plan_.computes_in(planned->second));
    }
    return formats.size() == 1 ? *formats.begin() : Format::Float32;
  }

  Attempt attempt_format(const onnx::NodeProto& node, const Layer& layer, Format format) const {
    if (has_body(node)) return Attempt::refused("control flow computes in its bodies' formats");
    if (has(node, Trait::Quantizes)) {
      return Attempt::refused("it is a quantization operator of the file itself");
    }
    if (plan_.weights_alone(format)) return attempt_weights_only(node, layer, format);
    return needs_scale(format) ? attempt_scaled(node, layer) : attempt_low(node, layer, format);
  }

  Attempt attempt_weights_only(const onnx::NodeProto& node, const Layer& layer, Format format) const {
    NodeChoice choice;
    choice.low_inputs.resize(static_cast<std::size_t>(node.input_size()));
    choice.low_outputs.resize(static_cast<std::size_t>(node.output_size()));
    if (plan_.high != Format::Float32) {
      if (Attempt high = attempt_low(node, layer, plan_.high); high.choice) choice = std::move(*high.choice);
    }
    choice.quantized.assign(static_cast<std::size_t>(node.input_size()), false);
    if (node.input_size() < 2 || !initializers_.contains(node.input(1)) || !is_float32(node.input(1))) {
      return Attempt::refused("it has no float32 weight");
    }
    const QuantParams* const params = plan_.grid(node.input(1), format);
    if (params == nullptr) {
      return Attempt::refused(fmt::format("the plan has no scales for its weight '{}'", printable(node.input(1))));
    }
    if (const std::string why = params_misfit(node, 1, *params); !why.empty()) return Attempt::refused(why);
    if (choice.format != Format::Float32 && opset_ < 19) {
      throw Error(ErrorKind::Internal, fmt::format("scales in {} need opset 19, the prepared model has {}",
                                                   format_name(choice.format), opset_));
    }
    choice.quantized[1] = true;
    choice.planned = format;
    return {std::move(choice), {}};
  }

  bool is_float32(const std::string& tensor) const { return result_.is_float32(tensor); }

  Attempt attempt_low(const onnx::NodeProto& node, const Layer& layer, Format format) const {
    LowSlots slots =
        low_slots(node, layer, opset_, format, [&](const std::string& tensor) { return is_float32(tensor); });
    if (!slots.refusal.empty()) return Attempt::refused(std::move(slots.refusal));
    const std::vector<bool> none(slots.inputs.size());
    NodeChoice choice;
    choice.format = format;
    choice.low_inputs = std::move(slots.inputs);
    choice.low_outputs = std::move(slots.outputs);
    choice.quantized = none;
    return {std::move(choice), {}};
  }

  Attempt attempt_scaled(const onnx::NodeProto& node, const Layer& layer) const {
    NodeChoice choice;
    choice.low_inputs.resize(static_cast<std::size_t>(node.input_size()));
    choice.low_outputs.resize(static_cast<std::size_t>(node.output_size()));
    choice.quantized.resize(static_cast<std::size_t>(node.input_size()));
    bool any = false;
    const bool residual = is_residual(node, planned_.at(node.name()), plan_.target);
    const std::optional<int> skip = residual ? skip_branch(model_, node) : std::nullopt;
    for (int i = 0; i < node.input_size(); ++i) {
      const std::string& input = node.input(i);
      if (input.empty() || !is_float32(input) || (skip && i != *skip)) continue;
      if (layer.weighted && i >= 2) continue;  // the bias is added to wide sums: it stays float
      if (!layer.weighted && !carries_data(node, i, opset_)) continue;
      const QuantParams* const params = plan_.grid(input, planned_.at(node.name()));
      if (params == nullptr) {
        // A constant of an unweighted operator is quantized only where the plan says how.
        if (!layer.weighted && initializers_.contains(input)) continue;
        return Attempt::refused(fmt::format("the plan has no range for its input '{}'", printable(input)));
      }
      if (is_integer(params->format) != is_integer(planned_.at(node.name()))) {
        return Attempt::refused(
            fmt::format("the plan has scales of {} for its input '{}'", format_name(params->format), printable(input)));
      }
      if (const std::string why = params_misfit(node, i, *params); !why.empty()) return Attempt::refused(why);
      choice.quantized[static_cast<std::size_t>(i)] = true;
      any = true;
    }
    choice.integer_product = planned_.at(node.name()) == Format::DynamicInt8;
    if (without_range_.contains(node.name())) return Attempt::refused("the plan has no range for its result");
    if (!any) return Attempt::refused("it has no float32 input that could be quantized");
    choice.planned = planned_.at(node.name());
    if (stores_integer_bias(plan_, choice.planned)) {
      choice.bias = integer_bias(model_, node, choice.planned, plan_);
    }
    return {std::move(choice), {}};
  }

  std::string params_misfit(const onnx::NodeProto& node, int index, const QuantParams& params) const {
    const std::string& input = node.input(index);
    if (opset_ < opset_of_params(params)) {
      throw Error(ErrorKind::Internal,
                  fmt::format("tensor '{}' needs opset {} for {}{}, the prepared model has {}", printable(input),
                              opset_of_params(params), format_name(params.format),
                              params.scale.size() > 1 ? " along an axis" : "", opset_));
    }
    if (params.dynamic || (params.scale.size() == 1 && params.block == 0)) return {};
    const ValueType& type = result_.types.at(input);
    if (params.block > 0) return blocks_misfit(node, index, params, type.shape);
    const bool fits =
        type.rank_known && params.axis >= 0 && params.axis < static_cast<int>(type.shape.size()) &&
        type.shape[static_cast<std::size_t>(params.axis)] == static_cast<std::int64_t>(params.scale.size());
    if (!fits) {
      return fmt::format("the plan has {} scales along axis {} for '{}' of shape {}", params.scale.size(), params.axis,
                         printable(input), shape_text(type.shape));
    }
    const int wanted = weight_axis(node, type.shape, index);
    if (wanted >= 0 && initializers_.contains(input) && params.axis != wanted) {
      return fmt::format("the scales of its weight '{}' run along axis {}, its output channels along axis {}",
                         printable(input), params.axis, wanted);
    }
    return {};
  }

  static std::string blocks_misfit(const onnx::NodeProto& node, int index, const QuantParams& params,
                                   const Shape& shape) {
    if (!scales_fit(params, shape)) {
      return fmt::format("the plan has {} scales in blocks of {} along axis {} for '{}' of shape {}",
                         params.scale.size(), params.block, params.axis, printable(node.input(index)),
                         shape_text(shape));
    }
    const int summed = summed_axis(node, static_cast<int>(shape.size()));
    if (params.axis == summed) return {};
    return fmt::format("the blocks of its weight '{}' lie along axis {}, the dimension that it sums over is {}",
                       printable(node.input(index)), params.axis, summed);
  }

  void cannot(const std::string& name, const std::string& op_type, Format format, const std::string& why,
              bool planned = true) {
    if (strict_ && planned) {
      const std::string kind = op_type.empty() ? "" : " (" + op_type + ")";
      throw Error(ErrorCode::LayerCannot,
                  fmt::format("layer '{}'{} cannot run in {}: {}", printable(name), kind, format_title(format), why),
                  "leave the layer in float32, or let it fall back with ‹precision-constraints› prefer");
    }
    if (planned) result_.refused.insert(name);
    result_.notes.push_back(
        {"layer-not-lowered",
         {{"layer", name}, {"operator", op_type}, {"format", format_name(format)}, {"reason", why}}});
  }

  const Model& model_;
  const Plan& plan_;
  bool strict_;
  int opset_;
  std::map<std::string, Layer> layers_;
  std::map<std::string, const Layer*> by_name_;
  Placement::IsLow runs_on_codes_;
  std::map<std::string, Format> planned_;
  std::set<std::string> initializers_;
  std::set<std::string> seen_;
  std::set<std::string> without_range_;  // layers on integer kernels whose result the plan does not know
  FormatChoices result_;
};

}  // namespace

const NodeChoice& FormatChoices::of(const std::string& node) const {
  static const NodeChoice kFloat32;
  const auto found = nodes.find(node);
  return found == nodes.end() ? kFloat32 : found->second;
}

bool FormatChoices::is_float32(const std::string& tensor) const {
  const auto found = types.find(tensor);
  return found != types.end() && found->second.dtype == Dtype::Float32;
}

FormatChoices choose_formats(const Model& model, const Plan& plan, bool strict) {
  return Chooser(model, plan, strict).run();
}

}  // namespace vernier
