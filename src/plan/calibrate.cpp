#include "plan/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/text.h"
#include "numerics/range_methods.h"
#include "plan/integer_bias.h"
#include "plan/placement.h"
#include "plan/target.h"
#include "plan/weight_axis.h"
#include "vernier/error.h"

namespace vernier {
namespace {

/// Absolute maximum of `values` along an axis; one value when axis is -1.
std::vector<float> absmax_along(const Tensor& tensor, int axis) {
  const Shape& shape = tensor.shape();
  const std::int64_t channels = axis < 0 ? 1 : shape.at(static_cast<std::size_t>(axis));
  std::int64_t inner = 1;
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; axis >= 0 && i < shape.size(); ++i) inner *= shape[i];
  if (axis < 0) inner = tensor.count();
  std::vector<float> absmax(static_cast<std::size_t>(channels), 0.0F);
  const std::span<const float> values = tensor.floats();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto channel = static_cast<std::size_t>(static_cast<std::int64_t>(i) / inner % channels);
    absmax[channel] = std::max(absmax[channel], std::abs(values[i]));
  }
  return absmax;
}

/// Smallest and largest finite value of a constant; zero for one without any.
RangeStats range_of_constant(const Tensor& tensor) {
  RangeStats range;
  accumulate_range(tensor.floats(), range);
  if (range.empty()) range.min = range.max = 0;
  return range;
}

QuantParams params_of(Format format, const RangeStats& range) {
  return activation_params(format, {range.min, range.max});
}

/// Tensors that share one grid, by the smallest name among them.
class SharedGrids {
 public:
  void join(const std::string& a, const std::string& b) {
    const std::string first = root(a);
    const std::string second = root(b);
    leader_[std::max(first, second)] = std::min(first, second);
  }

  std::string root(const std::string& tensor) const {
    std::string name = tensor;
    for (auto found = leader_.find(name); found != leader_.end() && found->second != name; found = leader_.find(name)) {
      name = found->second;
    }
    return name;
  }

 private:
  std::map<std::string, std::string> leader_;
};

/// What a plan quantizes besides weights and constants: each tensor with the layer that it is quantized for.
class QuantizedTensors {
 public:
  QuantizedTensors(const Model& model, const std::vector<Layer>& layers, const Plan& plan) {
    std::map<std::string, const Layer*> by_name;
    for (const Layer& layer : layers) by_name[layer.name] = &layer;
    for (const Layer& layer : layers) {
      const Format format = plan.format_of(layer.name);
      if (layer.follows || !needs_scale(format)) continue;
      for (const std::string& input : layer.inputs) add(input, layer.name, format);
    }
    for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
      const Placement placement(model, graph, by_name, plan, runs_on_codes(by_name, plan));
      for (const onnx::NodeProto& node : graph.node()) {
        for (const std::string& output : node.output()) {
          if (placement.quantized(output)) add(output, node.name(), Format::UInt8);
        }
        note_unit(placement, node, plan);
      }
      for (const onnx::NodeProto* carrier : placement.carriers())
        share(placement, *carrier, *by_name.at(carrier->name()));
    });
  }

  struct Use {
    std::string tensor;
    std::string layer;  // that quantizes it first
    Format format;
    bool unit = false;  // values in [0, 1] by definition
  };
  const std::vector<Use>& uses() const { return uses_; }
  std::string grid_of(const std::string& tensor) const { return shared_.root(tensor); }

 private:
  void add(const std::string& tensor, const std::string& layer, Format format) {
    if (known_.emplace(tensor, uses_.size()).second) uses_.push_back({tensor, layer, format});
  }

  void note_unit(const Placement& placement, const onnx::NodeProto& node, const Plan& plan) {
    const ScaledOperator* row = scaled_scheme(plan.target, plan.format_of(node.name())).find(node.op_type());
    if (row == nullptr || row->result != ResultGrid::Unit || !placement.quantized(node.output(0))) return;
    uses_[known_.at(node.output(0))].unit = true;
  }

  void share(const Placement& placement, const onnx::NodeProto& carrier, const Layer& layer) {
    for (const std::string& output : layer.outputs) {
      for (const std::string& input : layer.inputs) {
        if (carrier.op_type() != "Concat" || placement.read_once(input)) shared_.join(input, output);
      }
    }
  }

  std::vector<Use> uses_;
  std::map<std::string, std::size_t> known_;
  SharedGrids shared_;
};

/// The range that a tensor's own values need.
RangeStats range_for(const QuantizedTensors::Use& use, const std::map<std::string, RangeStats>& ranges,
                     std::vector<std::string>& warnings) {
  const auto known = ranges.find(use.tensor);
  if (known == ranges.end() || known->second.empty()) {
    throw Error(ErrorKind::Input, fmt::format("no range was seen for tensor '{}', which layer '{}' quantizes",
                                              printable(use.tensor), printable(use.layer)));
  }
  RangeStats range = known->second;
  if (range.nonfinite > 0) {
    warnings.push_back(fmt::format("tensor '{}': {} of {} values are not finite and were left out of its range",
                                   printable(use.tensor), range.nonfinite, range.count));
  }
  if (use.unit) {
    range.min = 0;
    range.max = 255.0F / 256.0F;
  }
  return range;
}

QuantParams weight_params(const Model& model, const onnx::NodeProto& node, int index, Format format, const Plan& plan) {
  const Tensor weight = initializer(model, node.input(index)).value();
  const bool integer_kernels = scaled_scheme(plan.target, format).integer_kernels;
  const auto rank = static_cast<int>(weight.shape().size());
  // Integer kernels of ONNX Runtime take the second operand alone as a weight, with scales along matrices only.
  const bool per_channel = index == 1 && (!integer_kernels || node.op_type() != "MatMul" || rank == 2);
  if (integer_kernels && index == 0) return params_of(format, range_of_constant(weight));
  const int axis = per_channel ? weight_axis(node, rank) : -1;
  // Weights are int8 whatever the activations are: engines take no other.
  const Format weight_format = format == Format::UInt8 ? Format::Int8 : format;
  QuantParams params = symmetric_params(weight_format, absmax_along(weight, axis), axis);
  if (!integer_kernels) return params;
  const auto data = plan.tensors.find(node.input(0));
  if (data == plan.tensors.end()) return params;
  const std::vector<float> least = least_weight_scales(model, node, data->second.scale.front(), params.scale.size());
  for (std::size_t c = 0; c < least.size(); ++c) params.scale[c] = std::max(params.scale[c], least[c]);
  return params;
}

}  // namespace

std::set<std::string> tensors_to_calibrate(const Model& model, const std::vector<Layer>& layers, const Plan& plan) {
  std::set<std::string> tensors;
  const QuantizedTensors quantized(model, layers, plan);
  for (const auto& use : quantized.uses()) tensors.insert(use.tensor);
  return tensors;
}

std::map<std::string, Format> formats_to_calibrate(const Model& model, const std::vector<Layer>& layers,
                                                   const Plan& plan) {
  std::map<std::string, Format> formats;
  const QuantizedTensors quantized(model, layers, plan);
  for (const auto& use : quantized.uses()) formats.emplace(use.tensor, use.format);
  return formats;
}

std::vector<std::string> calibrate_plan(Plan& plan, const Model& model, const std::vector<Layer>& layers,
                                        const std::map<std::string, RangeStats>& ranges) {
  std::vector<std::string> warnings;
  const QuantizedTensors quantized(model, layers, plan);
  std::map<std::string, RangeStats> range_of_grid;
  for (const auto& use : quantized.uses()) {
    const RangeStats range = range_for(use, ranges, warnings);
    const auto [place, first] = range_of_grid.emplace(quantized.grid_of(use.tensor), range);
    place->second.min = std::min(place->second.min, range.min);
    place->second.max = std::max(place->second.max, range.max);
  }
  for (const auto& use : quantized.uses()) {
    plan.tensors.emplace(use.tensor, params_of(use.format, range_of_grid.at(quantized.grid_of(use.tensor))));
  }
  std::map<std::string, const Layer*> by_name;
  for (const Layer& layer : layers) by_name[layer.name] = &layer;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      const auto layer = by_name.find(node.name());
      if (layer == by_name.end() || layer->second->follows) continue;
      const Format format = plan.format_of(node.name());
      if (!needs_scale(format)) continue;
      for (const int index : quantized_inputs(*layer->second, node)) {
        const std::string& name = node.input(index);
        if (std::ranges::find(layer->second->weights, name) == layer->second->weights.end()) continue;
        if (plan.tensors.contains(name)) continue;
        plan.tensors[name] = layer->second->weighted ? weight_params(model, node, index, format, plan)
                                                     : params_of(format, range_of_constant(*initializer(model, name)));
      }
    }
  });
  return warnings;
}

}  // namespace vernier
