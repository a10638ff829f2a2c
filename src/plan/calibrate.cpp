#include "plan/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/format_definition.h"
#include "base/text.h"
#include "model/graph_edit.h"
#include "model/output_channels.h"
#include "numerics/range_methods.h"
#include "numerics/tensor_grid.h"
#include "plan/clip_addends.h"
#include "plan/integer_bias.h"
#include "plan/placement.h"
#include "plan/skip_branch.h"
#include "plan/target.h"
#include "plan/weight_blocks.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/quantization.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Smallest and largest value of a constant, as far as float32 reaches where they are infinite; zero for one without
/// any. A mask of -inf stays far below everything else.
RangeStats range_of_constant(const Tensor& tensor) {
  RangeStats range;
  accumulate_range(tensor.floats(), range);
  if (range.empty()) range.min = range.max = 0;
  if (range.nonfinite == 0) return range;
  for (const float value : tensor.floats()) {
    if (std::isinf(value))
      (value < 0 ? range.min : range.max) = std::copysign(std::numeric_limits<float>::max(), value);
  }
  return range;
}

/// Grid of an activation. It may use every code: QuantizeLinear, which a typed model says it with, does not leave one
/// out.
QuantParams params_of(Format format, const RangeStats& range, const QuantizationRules& rules) {
  const FormatDefinition& definition = definition_of(format);
  if (definition.dynamic) {
    QuantParams params;
    params.format = format;
    params.block = definition.block;
    params.scale = {is_calibrated(definition) ? tensor_scale_of(format, range.absmax()) : 1.0F};
    params.dynamic = true;
    return params;
  }
  if ((format == Format::UInt8 || format == Format::UInt16) && rules.symmetric_activations.value_or(false)) {
    const bool wide = format == Format::UInt16;
    QuantParams params = activation_params(wide ? Format::Int16 : Format::Int8, {range.min, range.max});
    params.format = format;
    params.zero_point = {wide ? 32768 : 128};
    return params;
  }
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

/// The formats with a scale that a layer has and may be given.
std::vector<Format> all_formats(const Plan& plan, const std::string& layer, Format planned) {
  std::vector<Format> formats{planned};
  if (const auto rungs = plan.rungs.find(layer); rungs != plan.rungs.end()) {
    formats.insert(formats.end(), rungs->second.begin(), rungs->second.end());
  }
  std::erase_if(formats, [](Format format) { return !needs_scale(format); });
  return formats;
}

/// What a plan quantizes besides weights and constants: each tensor and format with the layer that it is quantized for.
class QuantizedTensors {
 public:
  QuantizedTensors(const Model& model, const std::vector<Layer>& layers, const Plan& plan) {
    std::map<std::string, const Layer*> by_name;
    for (const Layer& layer : layers) by_name[layer.name] = &layer;
    const std::map<std::string, const onnx::NodeProto*> nodes = nodes_by_name(model.proto.graph());
    const PlannedFormats formats(plan);
    for (const Layer& layer : layers) {
      if (layer.follows) continue;
      for (const Format format : all_formats(plan, layer.name, formats.of(layer.name))) {
        if (plan.weights_alone(format)) continue;
        for (const std::string& input : inputs_of(layer, nodes, model, plan)) add(input, layer.name, format);
      }
    }
    for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
      const Placement placement(model, graph, by_name, plan, runs_on_codes(by_name, plan));
      for (const onnx::NodeProto& node : graph.node()) {
        for (const std::string& output : node.output()) {
          if (placement.quantized(output)) add(output, node.name(), Format::UInt8);
        }
        note_unit(placement, node, plan.target, formats.of(node.name()));
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
    bool calibrated() const { return is_calibrated(definition_of(format)); }
  };
  const std::vector<Use>& uses() const { return uses_; }
  std::string grid_of(const std::string& tensor) const { return shared_.root(tensor); }

 private:
  static std::vector<std::string> inputs_of(const Layer& layer,
                                            const std::map<std::string, const onnx::NodeProto*>& nodes,
                                            const Model& model, const Plan& plan) {
    const auto node = nodes.find(layer.name);
    if (node == nodes.end() || layer.op_type != "Add" ||
        !is_residual(*node->second, plan.format_of(layer.name), plan.target))
      return layer.inputs;
    std::vector<std::string> inputs;
    for (const int i : quantized_inputs(model, layer, *node->second, plan)) inputs.push_back(node->second->input(i));
    return inputs;
  }

  void add(const std::string& tensor, const std::string& layer, Format format) {
    if (known_.emplace(std::pair(tensor, format), uses_.size()).second) uses_.push_back({tensor, layer, format});
  }

  void note_unit(const Placement& placement, const onnx::NodeProto& node, Target target, Format format) {
    const ScaledOperator* row = scaled_scheme(target, format).find(node.op_type());
    if (row == nullptr || row->result != ResultGrid::Unit || !placement.quantized(node.output(0))) return;
    uses_[known_.at({node.output(0), Format::UInt8})].unit = true;
  }

  void share(const Placement& placement, const onnx::NodeProto& carrier, const Layer& layer) {
    for (const std::string& output : layer.outputs) {
      for (const std::string& input : layer.inputs) {
        if (carrier.op_type() != "Concat" || placement.read_once(input)) shared_.join(input, output);
      }
    }
  }

  std::vector<Use> uses_;
  std::map<std::pair<std::string, Format>, std::size_t> known_;
  SharedGrids shared_;
};

/// The range that a tensor's own values need.
RangeStats range_for(const QuantizedTensors::Use& use, const std::map<std::string, RangeStats>& ranges,
                     std::vector<Note>& warnings) {
  const auto known = ranges.find(use.tensor);
  if (known == ranges.end() || known->second.empty()) {
    throw Error(
        ErrorCode::Ranges,
        fmt::format("no range was seen for tensor '{}', which layer '{}' quantizes: no sample ran it, or gave it one "
                    "finite value",
                    printable(use.tensor), printable(use.layer)),
        fmt::format("add samples that do, or keep the layer: ‹layer-precisions› {}:float32", printable(use.layer)));
  }
  RangeStats range = known->second;
  if (range.nonfinite > 0) {
    warnings.push_back(
        {"values-not-finite", {{"tensor", use.tensor}, {"count", range.nonfinite}, {"of", range.count}}});
  }
  if (use.unit) {
    range.min = 0;
    range.max = 255.0F / 256.0F;
  } else if (range.absmax() == 0) {
    warnings.push_back({"tensor-always-zero", {{"tensor", use.tensor}}});
  }
  return range;
}

/// The same of an unsigned format, from the smallest and the largest weight.
QuantParams with_zero_points(QuantParams grid, const Tensor& weight) {
  for (const RangeStats& range : ranges_of_scales(grid, weight.shape(), weight.floats())) {
    const QuantParams one =
        range.empty() ? asymmetric_params(0, 0, grid.format) : asymmetric_params(range.min, range.max, grid.format);
    grid.scale.push_back(one.scale.front());
    grid.zero_point.push_back(one.zero_point.front());
  }
  return grid;
}

/// `params` without scales -> with them, from the largest weight that each is for.
QuantParams with_scales(const QuantParams& grid, const Tensor& weight, const QuantizationRules& rules) {
  if (grid.format == Format::UInt4) return with_zero_points(grid, weight);
  std::vector<float> absmax = absmax_of_scales(grid, weight.shape(), weight.floats());
  if (rules.reduce_range && grid.format == Format::Int8) {
    for (float& most : absmax) most *= 127.0F / 63.0F;
  }
  const BlockScale block_scale = definition_of(grid.format).block_scale;
  if (block_scale == BlockScale::Chosen) {
    QuantParams params = symmetric_params(grid.format, absmax, grid.axis);
    params.block = grid.block;
    return params;
  }
  QuantParams params = grid;
  const float tensor_scale = tensor_scale_of(grid.format, absmax.empty() ? 0 : std::ranges::max(absmax));
  if (block_scale == BlockScale::E4M3) params.tensor_scale = tensor_scale;
  params.scale = block_scales(grid.format, absmax, tensor_scale);
  return params;
}

/// The next values of `format` above the scales, so that no weight is clipped.
void round_scales_up(QuantParams& params, Format format) {
  if (format == Format::Float32) return;
  QuantParams grid;
  grid.format = format;
  // The format's steps are no wider than that: relatively, and between float16's subnormals.
  const float relative = format == Format::Float16 ? 0x1p-10F : 0x1p-7F;
  const float absolute = format == Format::Float16 ? 0x1p-24F : 0;
  for (float& scale : params.scale) {
    float rounded = 0;
    round_to(grid, {&scale, 1}, {&rounded, 1});
    const float above = std::max(scale * (1 + relative), scale + absolute);
    if (rounded < scale) round_to(grid, {&above, 1}, {&rounded, 1});
    if (std::isfinite(rounded)) scale = rounded;
  }
}

/// The grid of a weight without its scales: in blocks along the dimension that is summed over, if the format has them.
QuantParams bare_grid(const onnx::NodeProto& node, int index, const Shape& shape, Format format,
                      const QuantizationRules& rules, bool per_channel) {
  QuantParams grid;
  grid.format = weight_format(format, rules);
  if (const int wanted = block_wanted(format, rules); wanted > 0) {
    grid.axis = summed_axis(node, static_cast<int>(shape.size()));
    grid.block = block_along(shape.at(static_cast<std::size_t>(grid.axis)), wanted, definition_of(format).block);
  } else if (per_channel) {
    grid.axis = weight_axis(node, shape, index);
  }
  return grid;
}

/// Weights that are quantized alone.
QuantParams weights_only_params(const Model& model, const onnx::NodeProto& node, Format format, const Plan& plan) {
  const Tensor weight = initializer(model, node.input(1)).value();
  const QuantParams grid = bare_grid(node, 1, weight.shape(), format, plan.rules, plan.rules.weights_per_channel);
  QuantParams params = with_scales(grid, weight, plan.rules);
  if (definition_of(format).block_scale != BlockScale::Chosen) return params;
  round_scales_up(params, plan.computes_in(format));
  return params;
}

QuantParams weight_params(const Model& model, const onnx::NodeProto& node, int index, Format format, const Plan& plan) {
  const Tensor weight = initializer(model, node.input(index)).value();
  const bool integer_kernels = scaled_scheme(plan.target, format).integer_kernels;
  const auto rank = static_cast<int>(weight.shape().size());
  // Integer kernels of ONNX Runtime take the second operand alone as a weight, with scales along matrices only.
  const bool per_channel =
      plan.rules.weights_per_channel && (!integer_kernels || node.op_type() != "MatMul" || rank == 2);
  if (integer_kernels && index == 0) return params_of(format, range_of_constant(weight), plan.rules);
  const QuantParams grid = bare_grid(node, index, weight.shape(), format, plan.rules, per_channel);
  QuantParams params = with_scales(grid, weight, plan.rules);
  if (!stores_integer_bias(plan, format)) return params;
  const QuantParams* const data = plan.grid(node.input(0), format);
  if (data == nullptr) return params;
  const std::vector<float> least = least_weight_scales(model, node, data->scale.front(), params.scale.size());
  for (std::size_t c = 0; c < least.size(); ++c) params.scale[c] = std::max(params.scale[c], least[c]);
  return params;
}

/// Whether a layer in `format` finds a grid for this constant that is meant for it.
bool has_grid(const Plan& plan, const std::string& constant, Format format) {
  const QuantParams* const known = plan.grid(constant, format);
  if (known == nullptr) return false;
  if (!plan.rungs.empty()) return known->format == format || known->format == weight_format(format, plan.rules);
  return true;
}

}  // namespace

std::set<std::string> tensors_to_calibrate(const Model& model, const std::vector<Layer>& layers, const Plan& plan) {
  std::set<std::string> tensors;
  const QuantizedTensors quantized(model, layers, plan);
  for (const auto& use : quantized.uses()) {
    if (use.calibrated()) tensors.insert(use.tensor);
  }
  return tensors;
}

std::map<std::string, Format> formats_to_calibrate(const Model& model, const std::vector<Layer>& layers,
                                                   const Plan& plan) {
  std::map<std::string, Format> formats;
  const QuantizedTensors quantized(model, layers, plan);
  for (const auto& use : quantized.uses()) {
    if (use.calibrated()) formats.emplace(use.tensor, use.format);
  }
  return formats;
}

std::vector<Note> calibrate_plan(Plan& plan, const Model& model, const std::vector<Layer>& layers,
                                 const std::map<std::string, RangeStats>& ranges, const Progress& progress) {
  std::vector<Note> warnings;
  WeightsProgress looked_at(progress, "scales of the weights, MB", bytes_beside(model));
  const auto told = [&](const std::string& weight) {
    if (const auto beside = model.weights.find(weight); beside != model.weights.end())
      looked_at.add(beside->second.byte_size());
  };
  const QuantizedTensors quantized(model, layers, plan);
  std::map<std::pair<std::string, Format>, RangeStats> range_of_grid;
  std::set<std::string> warned;
  std::vector<Note> again;
  for (const auto& use : quantized.uses()) {
    std::vector<Note>& said = warned.insert(use.tensor).second ? warnings : again;
    const RangeStats range = use.calibrated() ? range_for(use, ranges, said) : RangeStats();
    const auto [place, first] = range_of_grid.emplace(std::pair(quantized.grid_of(use.tensor), use.format), range);
    place->second.min = std::min(place->second.min, range.min);
    place->second.max = std::max(place->second.max, range.max);
  }
  for (const auto& use : quantized.uses()) {
    const RangeStats& range = range_of_grid.at({quantized.grid_of(use.tensor), use.format});
    plan.add_grid(use.tensor, use.format, params_of(use.format, range, plan.rules));
  }
  std::map<std::string, const Layer*> by_name;
  for (const Layer& layer : layers) by_name[layer.name] = &layer;
  const PlannedFormats formats(plan);
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      const auto layer = by_name.find(node.name());
      if (layer == by_name.end() || layer->second->follows) continue;
      for (const Format format : all_formats(plan, node.name(), formats.of(node.name()))) {
        if (plan.weights_alone(format)) {
          if (!has_grid(plan, node.input(1), format)) {
            plan.add_grid(node.input(1), format, weights_only_params(model, node, format, plan));
            told(node.input(1));
          }
          continue;
        }
        for (const int index : quantized_inputs(model, *layer->second, node, plan)) {
          const std::string& name = node.input(index);
          if (std::ranges::find(layer->second->weights, name) == layer->second->weights.end()) continue;
          if (has_grid(plan, name, format)) continue;
          plan.add_grid(name, format,
                        layer->second->weighted
                            ? weight_params(model, node, index, format, plan)
                            : params_of(format, range_of_constant(*initializer(model, name)), plan.rules));
          told(name);
        }
      }
    }
  });
  std::map<std::string, std::set<std::string>> sharing;
  for (const auto& use : quantized.uses()) sharing[quantized.grid_of(use.tensor)].insert(use.tensor);
  clip_addends(plan, model, [&](const std::string& tensor) {
    const auto found = sharing.find(quantized.grid_of(tensor));
    return found == sharing.end() || found->second.size() == 1;
  });
  return warnings;
}

}  // namespace vernier
