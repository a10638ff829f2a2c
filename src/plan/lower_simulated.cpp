#include "plan/lower_simulated.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/output_channels.h"
#include "plan/constant_codes.h"
#include "plan/engine_sums.h"
#include "plan/low_slots.h"
#include "plan/placement.h"
#include "plan/round_node.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Not on codes either.
bool computes_in_float32(const Plan& plan, Format format) {
  return plan.computes_in(format) == Format::Float32 && (!needs_scale(format) || plan.weights_alone(format));
}

/// Lowers the nodes of one graph. A tensor has the format of the layer that made it; what comes from outside is
/// float32.
class GraphLowering {
 public:
  GraphLowering(Model& model, const std::map<std::string, const Layer*>& layers, const Plan& plan,
                RoundedWeights& weights)
      : model_(model),
        layers_(layers),
        plan_(plan),
        weights_(weights),
        runs_on_codes_(runs_on_codes(layers, plan)),
        formats_(plan),
        sums_(plan.arithmetic) {}

  void lower(onnx::GraphProto& graph, const Model& source, const std::string& place = "") {
    const Placement placement(source, graph, layers_, plan_, runs_on_codes_);
    if (plan_.arithmetic != Arithmetic{} && readers_.empty()) note_readers(source);
    Added added;
    added.place = added.tf32.place = place;
    google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
    nodes.Swap(graph.mutable_node());
    int index = 0;
    for (onnx::NodeProto& node : nodes) {
      for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) {
          lower(*attribute.mutable_g(), source, fmt::format("{}/{}{}", place, attribute.name(), index));
        }
      }
      ++index;
      const auto found = layers_.find(node.name());
      if (found == layers_.end()) {
        *graph.add_node() = std::move(node);
        continue;
      }
      std::vector<onnx::NodeProto> quantizers = quantize_outputs(placement, *found->second, node);
      if (placement.passes_codes(node.name())) {
        *graph.add_node() = std::move(node);
      } else if (found->second->follows) {
        follow(*found->second, node, source, added.format_of_tensor);
        *graph.add_node() = std::move(node);
      } else {
        lower_layer(graph, *found->second, std::move(node), source, placement, added);
      }
      for (onnx::NodeProto& round : quantizers) *graph.add_node() = std::move(round);
    }
  }

 private:
  /// What one graph, the main one or a body, has added to itself. A body sees the names around it and may make none of
  /// them again: its own have its place in the network behind them.
  struct Added {
    std::string place;
    std::map<std::string, Format> format_of_tensor;
    std::map<std::pair<std::string, std::string>, std::string> rounded;  // (tensor, grid) -> its rounded name
    EngineSums::Tf32Names tf32;
  };

  void note_readers(const Model& source) {
    for_each_graph(source.proto.graph(), [&](const onnx::GraphProto& graph) {
      for (const onnx::NodeProto& node : graph.node()) {
        for (const std::string& input : node.input()) readers_[input].nodes.push_back(&node);
      }
      // What leaves a body is read outside of it, by whom is not asked.
      const bool main = &graph == &source.proto.graph();
      for (const onnx::ValueInfoProto& output : graph.output()) {
        (main ? readers_[output.name()].float_output : readers_[output.name()].low_output) = true;
      }
    });
  }

  bool reads_float32(const onnx::NodeProto& node) const {
    const auto layer = layers_.find(node.name());
    return layer != layers_.end() && !layer->second->follows && formats_.of(node.name()) == Format::Float32;
  }

  /// Of a tensor that is quantized where it is made: integer kernels give uint8.
  const QuantParams& grid_of(const std::string& tensor, const std::string& layer) const {
    if (const QuantParams* const known = plan_.grid(tensor, Format::UInt8)) return *known;
    throw Error(ErrorCode::Ranges, fmt::format("layer '{}' quantizes '{}' but the plan has no range for it",
                                               printable(layer), printable(tensor)));
  }

  /// Rounds behind the outputs of `node` that are quantized where they are made; the node writes under other names
  /// then.
  std::vector<onnx::NodeProto> quantize_outputs(const Placement& placement, const Layer& layer,
                                                onnx::NodeProto& node) const {
    std::vector<onnx::NodeProto> rounds;
    for (std::string& output : *node.mutable_output()) {
      if (!placement.quantized(output)) continue;
      const QuantParams& grid = grid_of(output, node.name());
      const bool on_grid =
          placement.passes_codes(node.name()) && std::ranges::all_of(layer.inputs, [&](const std::string& input) {
            return placement.quantized(input) && grid_of(input, node.name()) == grid;
          });
      if (on_grid) continue;  // moved values lie on the grid already
      const std::string name = output;
      output = name + "/unrounded";
      rounds.push_back(round_node(output, name, grid));
    }
    return rounds;
  }

  void follow(const Layer& layer, onnx::NodeProto& node, const Model& source,
              std::map<std::string, Format>& format_of_tensor) {
    std::optional<Format> common;
    for (const std::string& input : layer.inputs) {
      const auto known = format_of_tensor.find(input);
      const Format format = known == format_of_tensor.end() ? Format::Float32 : known->second;
      if (!common) common = format;
      if (*common != format) return;  // mixed: its output is float32
    }
    if (!common || *common == Format::Float32) return;
    const LowSlots slots = low_slots(node, layer, default_opset(source.proto), *common);
    if (!slots.refusal.empty()) return;
    WeightGrid grid;
    grid.params.format = *common;
    for (int i = 0; i < node.input_size(); ++i) {
      if (!slots.inputs[static_cast<std::size_t>(i)] || !contains(layer.weights, node.input(i))) continue;
      node.set_input(i, rounded_weight(node.input(i), grid, source, layer));
    }
    for (const std::string& output : layer.outputs) format_of_tensor[output] = *common;
  }

  /// `layer`: which reads it.
  std::string rounded_weight(const std::string& name, const WeightGrid& grid, const Model& source, const Layer& layer) {
    std::string low_name = fmt::format("{}/{}", name, grid.suffix());
    if (have_weight_.insert(low_name).second) {
      // What a body makes cannot be waited for in the main graph.
      const bool inside = !layer.graph.empty() || layer.inputs.empty();
      weights_.add_to(model_, source, name, grid, low_name, inside ? std::string() : layer.inputs.front());
    }
    return low_name;
  }

  void lower_layer(onnx::GraphProto& graph, const Layer& layer, onnx::NodeProto node, const Model& source,
                   const Placement& placement, Added& added) {
    const Format format = formats_.of(node.name());
    const LayerRounding rounding = rounding_of(source, layer, node, format, plan_);
    const SumShapes shapes = sum_shapes(source, node);
    for (const int index : rounding.data_inputs) {
      const std::string name = node.input(index);
      const QuantParams& params = rounding.input_params.at(index);
      if (placement.quantized(name) && needs_scale(params.format)) continue;  // where it was made
      const auto known = added.format_of_tensor.find(name);
      if (known != added.format_of_tensor.end() && known->second == params.format) continue;  // already on that grid
      auto& low_name = added.rounded[{name, std::string(format_name(params.format))}];
      if (low_name.empty()) {
        low_name = fmt::format("{}/{}{}", name, format_name(params.format), added.place);
        *graph.add_node() = round_node(name, low_name, params);
      }
      node.set_input(index, low_name);
    }
    for (const auto& [index, grid] : rounding.weight_grids) {
      node.set_input(index, rounded_weight(node.input(index), grid, source, layer));
    }
    if (rounding.bias) {
      const std::string name = node.input(rounding.bias->input);
      const std::string low_name = fmt::format("{}/{}/int32", name, node.name());
      add_initializer(model_, *model_.proto.mutable_graph(), low_name,
                      weights_.get_bias(source, name, node.name(), rounding.bias->scales));
      node.set_input(rounding.bias->input, low_name);
    }
    sums_.round_norm(model_, graph, node, rounding.format);
    if (computes_in_float32(plan_, format)) sums_.read_tf32(model_, source, graph, node, added.tf32);
    std::vector<onnx::NodeProto> behind;
    for (const int index : rounding.rounded_outputs) {
      const std::string name = node.output(index);
      for (std::string& tensor : sums_.unrounded(
               node,
               [&](const std::string& read) { return readers_.contains(read) ? readers_.at(read) : TensorReaders{}; },
               [&](const onnx::NodeProto& reader) { return reads_float32(reader); })) {
        unrounded_.insert(std::move(tensor));
      }
      added.format_of_tensor[name] = rounding.format;
      if (unrounded_.contains(name)) continue;
      const std::string raw = name + "/unrounded";
      node.set_output(index, raw);
      if (auto sum = sums_.behind(node, rounding.format, layer.name, shapes)) behind.push_back(std::move(*sum));
      QuantParams params;
      params.format = rounding.format;
      behind.push_back(round_node(raw, name, params));
    }
    *graph.add_node() = std::move(node);
    for (onnx::NodeProto& round : behind) *graph.add_node() = std::move(round);
  }

  Model& model_;
  const std::map<std::string, const Layer*>& layers_;
  const Plan& plan_;
  RoundedWeights& weights_;
  Placement::IsLow runs_on_codes_;
  PlannedFormats formats_;
  EngineSums sums_;
  std::map<std::string, TensorReaders> readers_;  // where sums are not the usual ones
  std::set<std::string> unrounded_;
  std::set<std::string> have_weight_;
};

LayerRounding scaled_rounding(const Model& model, const Layer& layer, const onnx::NodeProto& node, Format format,
                              const Plan& plan) {
  LayerRounding rounding;
  rounding.format = format;
  for (const int i : quantized_inputs(model, layer, node, plan)) {
    const std::string& name = node.input(i);
    const bool weight = contains(layer.weights, name);
    const QuantParams* const known = plan.grid(name, format);
    if (known == nullptr) {
      throw Error(ErrorCode::Ranges, fmt::format("layer '{}' is {} but the plan has no range for its input '{}'",
                                                 printable(node.name()), format_name(format), printable(name)));
    }
    if (weight) {
      rounding.weight_grids[i] = {*known, Format::Float32};
    } else {
      rounding.data_inputs.push_back(i);
      rounding.input_params[i] = *known;
    }
  }
  if (stores_integer_bias(plan, format)) rounding.bias = integer_bias(model, node, format, plan);
  return rounding;
}

/// Nothing is rounded where the schema refuses the format: typed lowering leaves such a layer in float32 too.
LayerRounding low_rounding(const Layer& layer, const onnx::NodeProto& node, Format format, int opset) {
  LayerRounding rounding;
  const LowSlots slots = low_slots(node, layer, opset, format);
  if (!slots.refusal.empty()) return rounding;
  rounding.format = format;
  QuantParams params;
  params.format = format;
  for (int i = 0; i < node.input_size(); ++i) {
    if (!slots.inputs[static_cast<std::size_t>(i)]) continue;
    if (contains(layer.weights, node.input(i))) {
      rounding.weight_grids[i] = {params, Format::Float32};
    } else {
      rounding.data_inputs.push_back(i);
      rounding.input_params[i] = params;
    }
  }
  for (int i = 0; i < node.output_size(); ++i) {
    if (slots.outputs[static_cast<std::size_t>(i)]) rounding.rounded_outputs.push_back(i);
  }
  return rounding;
}

/// The layer computes in the high format, as far as it can, with a weight that was quantized and dequantized.
LayerRounding weights_only_rounding(const Model& model, const Layer& layer, const onnx::NodeProto& node, Format format,
                                    const Plan& plan) {
  LayerRounding rounding;
  if (plan.high != Format::Float32) rounding = low_rounding(layer, node, plan.high, default_opset(model.proto));
  const std::string weight = node.input_size() > 1 ? node.input(1) : std::string();
  const QuantParams* const grid = plan.grid(weight, format);
  if (grid == nullptr) {
    throw Error(ErrorCode::Ranges, fmt::format("layer '{}' is {} but the plan has no scales for its weight '{}'",
                                               printable(node.name()), format_name(format), printable(weight)));
  }
  rounding.weight_grids[1] = {*grid, rounding.format};
  return rounding;
}

}  // namespace

std::string WeightGrid::suffix() const {
  std::string text(format_name(params.format));
  if (values != Format::Float32) text += fmt::format(".{}", format_name(values));
  return text;
}

RoundedWeights::Rounded RoundedWeights::rounded(const Model& model, const std::string& name, const WeightGrid& grid) {
  const std::pair key{name, grid.suffix()};
  if (const auto known = done_.find(key); known != done_.end()) return known->second;
  const std::optional<Tensor> value = initializer(model, name);
  if (!value) throw Error(ErrorKind::Internal, fmt::format("'{}' is not an initializer", name));
  Rounded done;
  if (exact_) {
    done.values = *value;
    return done_[key] = done;
  }
  Tensor rounded(Dtype::Float32, value->shape());
  round_tensor(grid.params, value->shape(), value->floats(), rounded.mutable_floats(), &done.events);
  if (grid.values != Format::Float32) {
    QuantParams values;
    values.format = grid.values;
    round_to(values, rounded.mutable_floats(), rounded.mutable_floats());
  }
  done.values = std::move(rounded);
  if (keeps(model)) done_[key] = done;
  return done;
}

void RoundedWeights::clear() {
  const std::lock_guard lock(mutex_);
  done_.clear();
  biases_.clear();
}

Tensor RoundedWeights::get(const Model& model, const std::string& name, const WeightGrid& grid) {
  const std::lock_guard lock(mutex_);
  return rounded(model, name, grid).values;
}

RoundEvents RoundedWeights::events(const Model& model, const std::string& name, const WeightGrid& grid) {
  const std::lock_guard lock(mutex_);
  return rounded(model, name, grid).events;
}

void RoundedWeights::add_to(Model& model, const Model& source, const std::string& name, const WeightGrid& grid,
                            const std::string& low_name, const std::string& after) {
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  // A weight that is repaired, or inside a body, is another one in `model`, or not to be seen there.
  const auto here = model.weights.find(name);
  const auto there = source.weights.find(name);
  const bool same = here != model.weights.end() && there != source.weights.end() &&
                    here->second.bytes().data() == there->second.bytes().data();
  if (keeps(source) || !same || owner_of_initializer(model, name) != &graph) {
    add_initializer(model, graph, low_name, get(source, name, grid));
    return;
  }
  const auto round = [&](const std::string& from, const std::string& to, const QuantParams& params) {
    *graph.add_node() = round_node(from, to, params);
    if (!after.empty()) graph.mutable_node(graph.node_size() - 1)->add_input(after);
  };
  if (grid.values == Format::Float32) return round(name, low_name, grid.params);
  QuantParams values;
  values.format = grid.values;
  round(name, low_name + "/codes", grid.params);
  round(low_name + "/codes", low_name, values);
}

Tensor RoundedWeights::get_bias(const Model& model, const std::string& name, const std::string& layer,
                                const std::vector<float>& scales) {
  const std::lock_guard lock(mutex_);
  Tensor& done = biases_[{name, layer}];
  if (done.dtype() == Dtype::Undefined) done = rounded_bias(initializer(model, name).value(), scales);
  return done;
}

LayerRounding rounding_of(const Model& model, const Layer& layer, const onnx::NodeProto& node, Format format,
                          const Plan& plan) {
  if (format == Format::Float32) return {};
  if (plan.weights_alone(format)) return weights_only_rounding(model, layer, node, format, plan);
  return needs_scale(format) ? scaled_rounding(model, layer, node, format, plan)
                             : low_rounding(layer, node, format, default_opset(model.proto));
}

Model lower_simulated(const Model& float_model, const std::vector<Layer>& layers, const Plan& plan,
                      RoundedWeights& weights) {
  const Model prepared = with_repaired_constants(float_model, plan);
  std::map<std::string, const Layer*> by_name;
  for (const Layer& layer : layers) by_name[layer.name] = &layer;
  Model lowered = prepared;
  GraphLowering(lowered, by_name, plan, weights).lower(*lowered.proto.mutable_graph(), prepared);
  return lowered;
}

}  // namespace vernier
