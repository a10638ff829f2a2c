#include "analysis/own_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "analysis/surgery.h"
#include "engines/onnxruntime/operators.h"
#include "model/output_channels.h"
#include "plan/engine_sums.h"
#include "plan/placement.h"
#include "plan/round_node.h"
#include "vernier/format.h"

namespace vernier {
namespace {

/// The rounded form of reference tensors, one Round for each tensor and grid however many shadows read it.
class RoundedInputs {
 public:
  RoundedInputs(onnx::GraphProto& graph, std::int64_t* next_slot, const std::string& prefix)
      : graph_(graph), next_slot_(next_slot), prefix_(prefix) {}

  struct Rounded {
    std::string name;
    std::int64_t slot = -1;
  };

  const Rounded& get(const std::string& tensor, const QuantParams& params) {
    Rounded& rounded = made_[{tensor, params.format}];
    if (rounded.name.empty()) {
      rounded.name = fmt::format("{}{}/{}", prefix_, tensor, format_name(params.format));
      if (next_slot_ != nullptr) rounded.slot = (*next_slot_)++;
      *graph_.add_node() = round_node(tensor, rounded.name, params, rounded.slot);
    }
    return rounded;
  }

 private:
  onnx::GraphProto& graph_;
  std::int64_t* next_slot_;
  const std::string& prefix_;
  std::map<std::pair<std::string, Format>, Rounded> made_;
};

/// Takes out the roundings, by formats without a scale, that make the outputs of shadows and that no node reads: a
/// Compare can do them on its way. By name of that output.
std::map<std::string, onnx::NodeProto> take_last_roundings(onnx::GraphProto& graph,
                                                           const std::vector<Shadow>& shadows) {
  std::set<std::string> outputs;
  for (const Shadow& shadow : shadows) outputs.insert(shadow.outputs.begin(), shadow.outputs.end());
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& read : node.input()) outputs.erase(read);
  }
  std::map<std::string, onnx::NodeProto> taken;
  google::protobuf::RepeatedPtrField<onnx::NodeProto> left;
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    const bool last = node.domain() == kDomain && node.op_type() == "Round" && outputs.contains(node.output(0));
    if (last && !needs_scale(round_params(node).format)) {
      taken[node.output(0)] = std::move(node);
    } else {
      *left.Add() = std::move(node);
    }
  }
  graph.mutable_node()->Swap(&left);
  return taken;
}

void keep_slot(Shadow& shadow, std::int64_t slot) {
  if (slot >= 0) shadow.event_slots.push_back(slot);
}

}  // namespace

std::vector<Shadow> add_shadows(Model& model, const Subject& subject, const Plan& plan,
                                const std::vector<std::string>& layers, RoundedWeights& weights,
                                std::int64_t* next_event_slot, const std::string& prefix) {
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  const Model source = with_repaired_constants(subject.model, plan);  // what low layers read
  const std::set<std::string> wanted(layers.begin(), layers.end());
  std::map<std::string, const Layer*> by_name;
  for (const Layer& layer : subject.layers) by_name[layer.name] = &layer;
  std::set<std::string> have_weight;
  RoundedInputs inputs(graph, next_event_slot, prefix);
  std::vector<Shadow> shadows;
  const Placement placement(subject.model, subject.model.proto.graph(), by_name, plan, runs_on_codes(by_name, plan));
  const PlannedFormats formats(plan);
  const EngineSums sums(plan.arithmetic);
  const int originals = graph.node_size();
  for (int n = 0; n < originals; ++n) {
    const auto found = by_name.find(graph.node(n).name());
    if (found == by_name.end() || !wanted.contains(found->first)) continue;
    const Layer& layer = *found->second;
    const Format format = formats.of(layer.name);
    if (format == Format::Float32 || layer.follows || !layer.graph.empty()) continue;
    if (placement.passes_codes(layer.name)) continue;  // part of the layer before it
    onnx::NodeProto node = graph.node(n);
    const LayerRounding rounding = rounding_of(source, layer, node, format, plan);
    const SumShapes shapes = sum_shapes(source, node);
    const onnx::NodeProto* activation = placement.activation_of(node);
    if (activation != nullptr && !placement.passes_codes(activation->name())) activation = nullptr;
    Shadow shadow;
    shadow.layer = &layer;
    node.set_name(prefix + node.name());
    for (const int index : rounding.data_inputs) {
      const auto& rounded = inputs.get(node.input(index), rounding.input_params.at(index));
      node.set_input(index, rounded.name);
      keep_slot(shadow, rounded.slot);
    }
    for (const auto& [index, grid] : rounding.weight_grids) {
      const std::string original_name = node.input(index);
      const std::string low_name = fmt::format("{}{}/{}", prefix, original_name, grid.suffix());
      if (have_weight.insert(low_name).second) {
        weights.add_to(model, source, original_name, grid, low_name, layer.inputs.empty() ? "" : layer.inputs.front());
      }
      node.set_input(index, low_name);
      // A scaled format is made to fit its weights, and turns small ones into zero by design.
      if (!needs_scale(grid.params.format)) {
        shadow.constant_events += weights.events(source, original_name, grid);
      }
    }
    if (rounding.bias) {
      const std::string& bias = node.input(rounding.bias->input);
      const std::string low_name = fmt::format("{}{}/int32", prefix, node.name());
      add_initializer(model, graph, low_name, weights.get_bias(source, bias, layer.name, rounding.bias->scales));
      node.set_input(rounding.bias->input, low_name);
    }
    for (std::string& input : *node.mutable_input()) {  // repaired, and read as it is: a float bias
      if (!plan.constants.contains(input)) continue;
      const std::string low_name = fmt::format("{}{}/repaired", prefix, input);
      if (have_weight.insert(low_name).second) add_initializer(model, graph, low_name, *initializer(source, input));
      input = low_name;
    }
    std::vector<onnx::NodeProto> behind;
    const auto round_behind = [&](const std::string& name, const QuantParams& params) {
      const std::int64_t slot = next_event_slot == nullptr ? -1 : (*next_event_slot)++;
      behind.push_back(round_node(name, name + "/rounded", params, slot));
      keep_slot(shadow, slot);
      shadow.outputs.push_back(name + "/rounded");
    };
    for (int o = 0; o < node.output_size(); ++o) {
      const std::string original = node.output(o);
      if (original.empty()) continue;
      const std::string name = prefix + original;
      node.set_output(o, name);
      if (std::find(layer.outputs.begin(), layer.outputs.end(), original) == layer.outputs.end()) continue;
      if (std::find(rounding.rounded_outputs.begin(), rounding.rounded_outputs.end(), o) !=
          rounding.rounded_outputs.end()) {
        QuantParams params;
        params.format = rounding.format;
        if (auto sum = sums.behind(node, rounding.format, layer.name, shapes)) behind.push_back(std::move(*sum));
        round_behind(name, params);
        shadow.tensors.push_back(original);
      } else if (activation != nullptr) {
        onnx::NodeProto shadowed = *activation;
        const std::string& result = activation->output(0);
        shadowed.set_name(prefix + activation->name());
        shadowed.set_input(0, name);
        shadowed.set_output(0, prefix + result);
        behind.push_back(std::move(shadowed));
        round_behind(prefix + result, *plan.grid(result, Format::UInt8));
        shadow.tensors.push_back(result);
      } else {
        if (placement.quantized(original)) {
          round_behind(name, *plan.grid(original, Format::UInt8));
        } else {
          shadow.outputs.push_back(name);
        }
        shadow.tensors.push_back(original);
      }
    }
    *graph.add_node() = std::move(node);
    for (onnx::NodeProto& round : behind) *graph.add_node() = std::move(round);
    shadows.push_back(std::move(shadow));
  }
  return shadows;
}

OwnErrors::OwnErrors(Model& model, const Subject& subject, const Plan& plan, RoundedWeights& weights,
                     const std::vector<std::string>& layers, std::int64_t* next_event_slot, const std::string& prefix)
    : shadows_(add_shadows(model, subject, plan, layers, weights, next_event_slot, prefix)) {
  const PlannedFormats formats(plan);
  for (const Shadow& shadow : shadows_) {
    const std::string& name = shadow.layer->name;
    empty_.push_back({name, formats.of(name), {}, shadow.tensors, shadow.constant_events});
  }
}

void OwnErrors::compare_in(Model& model, std::int64_t& next_error_slot) {
  // Compare passes the reference through: the next layer waits for it, so each shadow is computed and dropped in time.
  std::set<std::string> compared;
  for (std::size_t s = 0; s < shadows_.size(); ++s) {
    const Shadow& shadow = shadows_[s];
    for (std::size_t o = 0; o < shadow.outputs.size(); ++o) {
      places_[shadow.tensors[o]] = {s, shadow.outputs[o], next_error_slot++};
      compared.insert(shadow.tensors[o]);
    }
  }
  const std::map<std::string, onnx::NodeProto> roundings = take_last_roundings(*model.proto.mutable_graph(), shadows_);
  tap(*model.proto.mutable_graph(), compared, [&](const std::string& raw, const std::string& tensor) {
    const Place& place = places_.at(tensor);
    const auto rounding = roundings.find(place.low);
    if (rounding != roundings.end()) return compare_rounded_node(raw, rounding->second, tensor, place.slot);
    return compare_node(raw, place.low, tensor, "", place.slot);
  });
}

std::vector<LayerError> OwnErrors::of(const Recorder& total) const {
  std::vector<LayerError> errors = empty_;
  for (std::size_t s = 0; s < errors.size(); ++s) {
    for (const std::int64_t slot : shadows_[s].event_slots) {
      errors[s].events += total.events[static_cast<std::size_t>(slot)];
    }
  }
  for (const auto& [tensor, place] : places_) {
    errors[place.shadow].error += total.errors[static_cast<std::size_t>(place.slot)];
  }
  return errors;
}

OwnErrorRun::OwnErrorRun(const Subject& subject, const Plan& plan, RoundedWeights& weights,
                         const std::vector<std::string>* layers)
    : subject_(subject) {
  Model model = subject.model;
  std::vector<std::string> all;
  for (const Layer& layer : subject.layers) all.push_back(layer.name);
  own_.emplace(model, subject, plan, weights, layers == nullptr ? all : *layers, &event_slots_);
  own_->compare_in(model, error_slots_);
  session_.emplace(subject.session(model));
}

std::vector<LayerError> OwnErrorRun::run(const std::vector<std::size_t>& order) const {
  const Recorder empty(static_cast<std::size_t>(error_slots_), 0, static_cast<std::size_t>(event_slots_));
  Recorder total = empty;
  const auto take = [&](const SampleResult& result) {
    total += result.recorder;
    return true;
  };
  run_samples(subject_, *session_, order, empty, "local error", take,
              {.digest = [](SampleResult& result) { result.outputs.clear(); }});
  return own_->of(total);
}

std::vector<LayerError> own_error(const Subject& subject, const Plan& plan, RoundedWeights& weights,
                                  const std::vector<std::size_t>* order, const std::vector<std::string>* layers) {
  return OwnErrorRun(subject, plan, weights, layers).run(order == nullptr ? all_samples(subject) : *order);
}

}  // namespace vernier
