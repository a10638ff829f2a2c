#include "plan/scheme.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "base/format_definition.h"
#include "base/text.h"
#include "model/graph_edit.h"
#include "model/module_paths.h"
#include "plan/angle_layers.h"
#include "plan/cache_formats.h"
#include "plan/can_take.h"
#include "plan/faster_on_codes.h"
#include "plan/low_slots.h"
#include "plan/placement.h"
#include "plan/selection.h"
#include "plan/skip_branch.h"
#include "plan/storable_weight.h"
#include "plan/target.h"
#include "plan/weight_blocks.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

std::vector<std::string> names_of(const std::vector<Layer>& layers) {
  std::vector<std::string> names;
  for (const Layer& layer : layers) {
    if (!layer.follows) names.push_back(layer.name);
  }
  return names;
}

/// The format asked for a layer, the last one winning, and who asked.
struct Asked {
  Format format = Format::Float32;
  bool by_script = false;
};

std::optional<Asked> exception_for(const std::string& layer, const PrecisionOptions& precision) {
  std::optional<Asked> asked;
  for (const auto& [pattern, wanted] : precision.layer_precisions) {
    if (pattern == layer || wildcard_match(pattern, layer)) asked = {wanted, false};
  }
  for (const LayerSetting& setting : precision.layer_settings) {
    if (setting.layer == layer && setting.precision) asked = {*setting.precision, true};
  }
  return asked;
}

/// Notes about single layers, one for all layers of which the same is to be said: scripts set all that they find.
class Grouped {
 public:
  void add(const Note& note, const std::string& layer) {
    for (auto& [known, layers] : groups_) {
      if (known != note) continue;
      layers.push_back(layer);
      return;
    }
    groups_.push_back({note, {layer}});
  }

  void append_to(std::vector<Note>& notes) const {
    for (const auto& [note, layers] : groups_) {
      notes.push_back(note);
      if (layers.size() == 1) {
        notes.back().fields.emplace_back("layer", layers.front());
      } else {
        notes.back().fields.emplace_back("layers", layers);
      }
    }
  }

 private:
  std::vector<std::pair<Note, std::vector<std::string>>> groups_;
};

/// "prefer" goes on without those that no layer has: they may be the names that another export gave.
void check_patterns(const std::vector<Layer>& layers, const PrecisionOptions& precision, std::vector<Note>& warnings) {
  const std::vector<std::string> names = names_of(layers);
  for (const auto& [pattern, format] : precision.layer_precisions) {
    if (pattern == "*") continue;  // all layers, even where there are none: no name to mistype
    const bool known = std::any_of(layers.begin(), layers.end(), [&, &pattern = pattern](const Layer& layer) {
      return layer.name == pattern || wildcard_match(pattern, layer.name);
    });
    if (known) continue;
    const std::vector<std::string> near = nearest_names(pattern, names);
    if (precision.constraints == PrecisionConstraints::Prefer) {
      warnings.push_back({"no-such-layer", {{"pattern", pattern}, {"nearest", near}}});
      continue;
    }
    throw Error(ErrorCode::UnknownName, fmt::format("‹layer-precisions›: no layer is named '{}'", printable(pattern)),
                near.empty() ? "list the layers with: ‹vernier inspect model MODEL --show layers›"
                             : "nearest: " + list_some(near));
  }
}

/// What only passes codes on (an activation behind a layer on integer kernels, a nearest Resize) has no format of its
/// own to search: it computes in the high one, unless an exception says otherwise.
void raise_parts_of_layers(AssignedFormats& assigned, const Model& model, const std::vector<Layer>& layers,
                           const std::set<std::string>& fixed) {
  std::map<std::string, const Layer*> by_name;
  for (const Layer& layer : layers) by_name[layer.name] = &layer;
  const std::map<std::string, const onnx::NodeProto*> nodes = nodes_by_name(model.proto.graph());
  const Placement::IsLow is_low = runs_on_codes(by_name, assigned.plan);
  Plan others_high = assigned.plan;
  for (PlannedLayer& layer : others_high.layers) {
    if (!needs_scale(layer.format) && !fixed.contains(layer.name)) layer.format = assigned.plan.high;
  }
  std::set<std::string> parts;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    const Placement placement(model, graph, by_name, others_high, is_low);
    for (const onnx::NodeProto& node : graph.node()) {
      if (placement.passes_codes(node.name()) && !fixed.contains(node.name())) parts.insert(node.name());
    }
  });
  for (PlannedLayer& layer : assigned.plan.layers) {
    if (!parts.contains(layer.name)) continue;
    layer.format =
        can_take(model, *by_name.at(layer.name), nodes.at(layer.name), assigned.plan.high, assigned.plan.target)
            ? assigned.plan.high
            : Format::Float32;
  }
  std::erase_if(assigned.candidates, [&](const std::string& name) { return parts.contains(name); });
  std::erase_if(assigned.plan.rungs, [&](const auto& rungs) { return parts.contains(rungs.first); });
  std::erase_if(assigned.skipped, [&](const SkippedLayer& layer) { return parts.contains(layer.name); });
}

/// A rung of a ladder that no layer can stand on was not meant so.
void require_rung(const AssignedFormats& assigned, Format listed, Format wanted, const std::string& refusal) {
  const auto takes = [&](const PlannedLayer& layer) {
    if (layer.format == wanted) return true;
    const auto rungs = assigned.plan.rungs.find(layer.name);
    return rungs != assigned.plan.rungs.end() && std::ranges::find(rungs->second, wanted) != rungs->second.end();
  };
  if (std::ranges::any_of(assigned.plan.layers, takes)) return;
  throw Error(
      ErrorCode::LayerCannot,
      fmt::format("‹ladder›: no layer can run in {}{}{}", format_name(listed), refusal.empty() ? "" : ": ", refusal),
      "remove it from the ladder");
}

/// The format of what a layer gives.
Format output_format(Format layer, const PrecisionOptions& precision) {
  const bool codes = needs_scale(layer) && scaled_scheme(precision.target, layer).integer_kernels;
  return needs_scale(layer) && !codes ? precision.high : layer;
}

/// set_output_type() of scripts: a plan has no types of tensors beside the formats of layers, so it can only agree.
void check_output_types(AssignedFormats& assigned, const std::vector<Layer>& layers,
                        const PrecisionOptions& precision) {
  Grouped unheard;
  std::vector<std::string> gone;
  for (const LayerSetting& setting : precision.layer_settings) {
    if (std::none_of(layers.begin(), layers.end(), [&](const Layer& layer) { return layer.name == setting.layer; })) {
      gone.push_back(setting.layer);
    }
    const auto layer = std::find_if(assigned.plan.layers.begin(), assigned.plan.layers.end(),
                                    [&](const PlannedLayer& planned) { return planned.name == setting.layer; });
    if (layer == assigned.plan.layers.end()) continue;
    const Format given = output_format(layer->format, precision);
    for (const Format listed : setting.output_types) {
      const Format asked = under_target(listed, precision.target, precision.rules.weights_only);
      if (asked == given) continue;
      const std::string why = "an output has the format of its layer, which layer.precision sets";
      if (precision.constraints == PrecisionConstraints::Obey) {
        throw Error(ErrorCode::LayerCannot,
                    fmt::format("layer '{}' returns {}, not the output type {}: {}", printable(setting.layer),
                                format_title(given), format_title(asked), why));
      }
      unheard.add(
          {"output-type-without-effect",
           {{"format", format_name(layer->format)}, {"given", format_name(given)}, {"asked", format_name(asked)}}},
          setting.layer);
    }
  }
  unheard.append_to(assigned.warnings);
  if (gone.empty()) return;
  assigned.warnings.push_back({"settings-of-absent-layers", {{"layers", gone}}});
}

/// Whether the skip branch of an Add can be quantized, in a format with a scale.
bool can_skip(const Model& model, const Layer& layer, const onnx::NodeProto& add, std::string* reason) {
  std::string why;
  if (!skip_branch(model, add, &why)) return refuse(reason, "it is not a residual Add: " + why);
  if (layer.graph.empty()) return true;
  return refuse(reason,
                fmt::format("it lies inside the body of '{}', where no range is measured", printable(layer.graph)));
}

/// What names modules of torch and no layer stands for the layers inside them.
PrecisionOptions with_modules_resolved(const Model& model, const std::vector<Layer>& layers,
                                       PrecisionOptions precision) {
  const std::map<std::string, std::string> paths = module_paths(model);
  if (paths.empty()) return precision;
  const auto layers_of = [&](const std::string& text) {
    const bool known = std::ranges::any_of(
        layers, [&](const Layer& layer) { return layer.name == text || wildcard_match(text, layer.name); });
    std::vector<std::string> inside = known ? std::vector<std::string>() : nodes_of_module(paths, text);
    std::erase_if(inside, [&](const std::string& node) {
      return std::ranges::none_of(layers, [&](const Layer& layer) { return layer.name == node; });
    });
    return inside;
  };
  std::vector<std::pair<std::string, Format>> formats;
  for (const auto& [text, format] : precision.layer_precisions) {
    const std::vector<std::string> inside = layers_of(text);
    for (const std::string& layer : inside) formats.emplace_back(layer, format);
    if (inside.empty()) formats.emplace_back(text, format);
  }
  precision.layer_precisions = std::move(formats);
  for (std::vector<std::string>* names : {&precision.selection.nodes, &precision.selection.excluded_nodes}) {
    std::vector<std::string> resolved;
    for (const std::string& text : *names) {
      const std::vector<std::string> inside = layers_of(text);
      resolved.insert(resolved.end(), inside.begin(), inside.end());
      if (inside.empty()) resolved.push_back(text);
    }
    *names = std::move(resolved);
  }
  return precision;
}

}  // namespace

bool only_where_faster(const PrecisionOptions& precision) {
  const bool chosen = !precision.selection.op_types.empty() || !precision.selection.nodes.empty();
  if (precision.even_if_slower || chosen || precision.rules.weights_only) return false;
  return std::ranges::any_of(precision.low, [&](Format listed) {
    return needs_scale(listed) &&
           scaled_scheme(precision.target, under_target(listed, precision.target)).integer_kernels;
  });
}

std::set<Format> formats_named(const PrecisionOptions& precision) {
  std::set<Format> formats(precision.low.begin(), precision.low.end());
  formats.insert(precision.high);
  if (precision.rules.kv_cache) formats.insert(*precision.rules.kv_cache);
  for (const auto& [pattern, format] : precision.layer_precisions) formats.insert(format);
  for (const LayerSetting& setting : precision.layer_settings) {
    if (setting.precision) formats.insert(*setting.precision);
  }
  return formats;
}

int opset_of_rules(const PrecisionOptions& precision) {
  return precision.rules.weights_only && precision.high != Format::Float32 ? 19 : 0;
}

/// OpenVINO's kernels for quantized products go wrong with a factor behind them, and without a bias.
bool quantizes_for_openvino(Target target, const std::set<Format>& formats) {
  return target == Target::OpenVino && std::ranges::any_of(formats, needs_scale);
}

PrepareOptions preparation_of(const PrecisionOptions& precision) {
  PrepareOptions options;
  options.formats = formats_named(precision);
  options.for_openvino = precision.target == Target::OpenVino;
  options.weights_per_channel = precision.rules.weights_per_channel;
  options.enter_caches = precision.rules.kv_cache.has_value();
  options.openvino_products = quantizes_for_openvino(precision.target, options.formats);
  return options;
}

PrepareOptions preparation_of(const Plan& plan) {
  PrecisionOptions precision;
  precision.rules = plan.rules;
  precision.high = plan.high;
  PrepareOptions options;
  options.formats = {plan.high};
  options.for_openvino = plan.target == Target::OpenVino;
  for (const PlannedLayer& layer : plan.layers) options.formats.insert(layer.format);
  for (const auto& [tensor, params] : plan.tensors) options.formats.insert(params.format);
  for (const auto& [tensor, grids] : plan.other_grids) {
    for (const auto& [format, params] : grids) options.formats.insert(params.format);
  }
  options.weights_per_channel = plan.rules.weights_per_channel;
  options.enter_caches = plan.rules.kv_cache.has_value();
  options.openvino_products = quantizes_for_openvino(plan.target, options.formats);
  options.min_opset = opset_of_rules(precision);
  return options;
}

std::map<std::string, std::string> layers_of_other_types(const Model& model, const std::vector<Layer>& layers) {
  const std::map<std::string, ValueType> types = infer_types(model);
  std::map<std::string, std::string> found;
  for (const Layer& layer : layers) {
    const Dtype other = other_float_type(layer, types);
    if (other != Dtype::Float32) found.emplace(layer.name, dtype_name(other));
  }
  return found;
}

AssignedFormats assign_formats(const Model& model, const std::vector<Layer>& layers, const PrecisionOptions& asked) {
  const PrecisionOptions precision = with_modules_resolved(model, layers, asked);
  AssignedFormats assigned;
  if (precision.constraints != PrecisionConstraints::None) check_patterns(layers, precision, assigned.warnings);
  check_caches(layers, precision);
  Plan& plan = assigned.plan;
  plan.model_file = model.path.filename().string();
  plan.model_sha256 = model.sha256;
  plan.scheme = scheme_text(precision);
  plan.target = precision.target;
  plan.high = precision.high;
  plan.rules = precision.rules;
  plan.arithmetic = precision.arithmetic;
  std::vector<Format> low = precision.low;
  if (!precision.ladder) {
    std::stable_sort(low.begin(), low.end(), [](Format a, Format b) { return bits_of(a) < bits_of(b); });
  }
  const std::map<std::string, ValueType> types = infer_types(model);
  const std::map<std::string, const onnx::NodeProto*> nodes = nodes_by_name(model.proto.graph());
  std::set<std::string> fixed_layers;
  // `named`: what a target takes only where it is asked for counts too.
  const auto takes = [&](const Layer& layer, Format wanted, std::string* reason = nullptr, bool named = false) {
    if (const Dtype other = other_float_type(layer, types); wanted != Format::Float32 && other != Dtype::Float32) {
      return refuse(reason, fmt::format("it computes in {}", dtype_name(other)));
    }
    const onnx::NodeProto* node = nodes.at(layer.name);
    if (named && layer.op_type == "Add" && !precision.rules.weights_only &&
        is_residual(*node, wanted, precision.target)) {
      return can_skip(model, layer, *node, reason);
    }
    if (!can_take(model, layer, node, wanted, precision.target, reason, precision.rules)) return false;
    if (wanted == Format::Float32 || precision.rules.weights_only) return true;
    if (!can_read_in_blocks(types, *node, wanted, precision.target, precision.rules, reason)) return false;
    // The typed file can only cast and quantize what is known to be float32.
    const auto is_float32 = [&](const std::string& tensor) {
      const auto type = types.find(tensor);
      return type != types.end() && type->second.dtype == Dtype::Float32;
    };
    if (!needs_scale(wanted)) {
      const LowSlots slots = low_slots(*node, layer, default_opset(model.proto), wanted, is_float32);
      return slots.refusal.empty() || refuse(reason, slots.refusal);
    }
    const auto unknown = std::ranges::find_if_not(layer.inputs, is_float32);
    return unknown == layer.inputs.end() ||
           refuse(reason, fmt::format("the type of its input '{}' is not known to be float32", printable(*unknown)));
  };
  const auto of_target = [&](Format listed) {
    return under_target(listed, precision.target, precision.rules.weights_only);
  };
  const std::set<std::string> in_file(precision.low_in_file.begin(), precision.low_in_file.end());
  const Selection selection(model, layers, precision.selection);
  std::set<std::string> slower;
  if (only_where_faster(precision)) {
    std::set<std::string> able;
    for (const Layer& layer : layers) {
      const bool named = exception_for(layer.name, precision).has_value() || in_file.contains(layer.name);
      if (layer.follows || named || !layer.graph.empty() || !selection.why_not(layer).empty()) continue;
      const auto taken_as_codes = [&](Format listed) {
        return needs_scale(of_target(listed)) && takes(layer, of_target(listed));
      };
      if (std::ranges::any_of(low, taken_as_codes)) {
        able.insert(layer.name);
      }
    }
    std::ranges::set_difference(able, faster_on_codes(model, layers, able, types), std::inserter(slower, slower.end()));
  }
  const std::set<std::string> of_angles = angle_layers(model, layers, types);
  std::vector<std::string> angles;  // those that another format was for
  Grouped unheard;
  std::map<Format, std::string> refused;  // why the first layer with weights that cannot take it does not
  for (const Layer& layer : layers) {
    if (layer.follows) continue;
    const Format high = takes(layer, precision.high) ? precision.high : Format::Float32;
    Format format = high;
    SkippedLayer skipped{layer.name, layer.op_type, high, {}, false};
    std::vector<Format> taken;  // lowest first; without a ladder the first one
    const bool cache = layer.cache && precision.rules.kv_cache;
    for (const Format listed : cache ? cache_formats(*precision.rules.kv_cache, low, precision.ladder) : low) {
      const Format wanted = cache ? listed : of_target(listed);
      if (precision.ladder ? wanted == high : bits_of(wanted) >= bits_of(high)) continue;
      std::string reason = needs_scale(wanted) ? selection.why_not(layer) : std::string();
      const bool excluded = !reason.empty();
      if (needs_scale(wanted) && slower.contains(layer.name)) {
        if (skipped.reason.empty()) skipped.reason = "ONNX Runtime saves no time with it in this place";
        continue;
      }
      if (!excluded && takes(layer, wanted, &reason, names_add(precision) || in_file.contains(layer.name))) {
        taken.push_back(wanted);
        if (!precision.ladder) break;
        continue;
      }
      if (layer.weighted && !excluded) refused.emplace(listed, reason);
      if (taken.empty() && skipped.reason.empty()) {
        skipped.reason = reason;
        skipped.chosen = excluded;
      }
    }
    if (!taken.empty()) format = taken.front();
    bool fixed = false;
    if (const std::optional<Asked> exception = exception_for(layer.name, precision)) {
      const Format of_exception = of_target(exception->format);
      std::string reason;
      if (precision.constraints == PrecisionConstraints::None && exception->by_script) {
        unheard.add({"script-format-ignored", {{"asked", format_name(of_exception)}}}, layer.name);
      } else if (precision.constraints == PrecisionConstraints::None) {
        assigned.warnings.push_back(
            {"layer-precision-ignored", {{"layer", layer.name}, {"asked", format_name(of_exception)}}});
      } else if (takes(layer, of_exception, &reason, /*named=*/true)) {
        format = of_exception;
        fixed = true;
        skipped.reason = exception->by_script ? "set by a script" : "set by ‹layer-precisions›";
        skipped.chosen = true;
      } else if (precision.constraints == PrecisionConstraints::Obey) {
        throw Error(ErrorCode::LayerCannot, fmt::format("layer '{}' cannot run in {}: {}", printable(layer.name),
                                                        format_title(of_exception), reason));
      } else if (exception->by_script) {
        unheard.add({"format-not-taken",
                     {{"format", format_name(format)}, {"asked", format_name(of_exception)}, {"reason", reason}}},
                    layer.name);
      } else {
        assigned.warnings.push_back({"format-not-taken",
                                     {{"format", format_name(format)},
                                      {"asked", format_name(of_exception)},
                                      {"reason", reason},
                                      {"layer", layer.name}}});
      }
    }
    if (!fixed && format != Format::Float32 && of_angles.contains(layer.name) && !in_file.contains(layer.name)) {
      format = Format::Float32;
      fixed = true;
      skipped.reason = "its angles grow with positions";
      angles.push_back(layer.name);
    }
    plan.layers.push_back({layer.name, format});
    skipped.runs_in = format;
    if (!low.empty() && !fixed && format != high) skipped.instead_of = of_target(low.front());
    if (!low.empty() && !skipped.reason.empty() && format != of_target(low.front())) {
      assigned.skipped.push_back(std::move(skipped));
    }
    if (fixed) {
      fixed_layers.insert(layer.name);
    } else if (format != high) {
      assigned.candidates.push_back(layer.name);
      if (taken.size() > 1) plan.rungs[layer.name] = {taken.begin() + 1, taken.end()};
    }
  }
  unheard.append_to(assigned.warnings);
  if (!angles.empty()) assigned.notes.push_back({"angles-in-float32", {{"layers", angles}}});
  raise_parts_of_layers(assigned, model, layers, fixed_layers);
  check_output_types(assigned, layers, precision);
  const auto low_layer = [&](const PlannedLayer& layer) {
    return layer.format != precision.high && layer.format != Format::Float32;
  };
  if (!slower.empty() && std::ranges::none_of(plan.layers, low_layer)) {
    assigned.nothing_gains = true;
    assigned.warnings.push_back({"nothing-faster-in-int8", {}});
  }
  for (const Format listed : low) {
    const Format wanted = of_target(listed);
    if (precision.ladder) {
      require_rung(assigned, listed, wanted, refused[listed]);
      continue;
    }
    const auto runs_in_it = [&](const PlannedLayer& layer) { return layer.format == wanted; };
    if (low.size() < 2 || std::any_of(plan.layers.begin(), plan.layers.end(), runs_in_it)) continue;
    assigned.warnings.push_back({"format-without-layers", {{"format", format_name(listed)}}});
  }
  return assigned;
}

}  // namespace vernier
