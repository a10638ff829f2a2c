#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

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
#include "plan/scheme.h"
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

/// A rung of a ladder that no layer can stand on was not meant so. `slower`: layers that could would only lose time.
void require_rung(const AssignedFormats& assigned, Format listed, Format wanted, const std::string& refusal,
                  bool slower) {
  const auto takes = [&](const PlannedLayer& layer) {
    if (layer.format == wanted) return true;
    const auto rungs = assigned.plan.rungs.find(layer.name);
    return rungs != assigned.plan.rungs.end() && std::ranges::find(rungs->second, wanted) != rungs->second.end();
  };
  if (std::ranges::any_of(assigned.plan.layers, takes)) return;
  if (slower) {
    throw Error(
        ErrorCode::LayerCannot,
        fmt::format("‹ladder›: {} would make no layer of this network faster in ONNX Runtime", format_name(listed)),
        "pass ‹even-if-slower›, or remove it from the ladder");
  }
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

/// One plan in the making: each layer in the lowest format that it can take, with the reasons of those that cannot.
class Assignment {
 public:
  Assignment(const Model& model, const std::vector<Layer>& layers, const PrecisionOptions& asked)
      : model_(model),
        layers_(layers),
        precision_(with_modules_resolved(model, layers, asked)),
        types_(infer_types(model)),
        nodes_(nodes_by_name(model.proto.graph())),
        in_file_(precision_.low_in_file.begin(), precision_.low_in_file.end()),
        selection_(model, layers, precision_.selection),
        of_angles_(angle_layers(model, layers, types_)),
        low_(precision_.low) {
    if (precision_.ladder) return;
    std::ranges::stable_sort(low_, [](Format a, Format b) { return bits_of(a) < bits_of(b); });
  }

  AssignedFormats run() {
    if (precision_.constraints != PrecisionConstraints::None) check_patterns(layers_, precision_, assigned_.warnings);
    check_caches(layers_, precision_);
    begin_plan();
    find_slower();
    for (const Layer& layer : layers_) {
      if (!layer.follows) assign(layer);
    }
    unheard_.append_to(assigned_.warnings);
    if (!angles_.empty()) assigned_.notes.push_back({"angles-in-float32", {{"layers", angles_}}});
    raise_parts_of_layers(assigned_, model_, layers_, fixed_layers_);
    check_output_types(assigned_, layers_, precision_);
    tell_what_nothing_runs_in();
    return std::move(assigned_);
  }

 private:
  /// What is known of one layer while formats are tried.
  struct Trial {
    Format high = Format::Float32;
    std::vector<Format> taken;  // lowest first; without a ladder the first one
    SkippedLayer skipped;
  };

  Format of_target(Format listed) const {
    return under_target(listed, precision_.target, precision_.rules.weights_only);
  }

  /// The typed file can only cast and quantize what is known to be float32.
  bool is_float32(const std::string& tensor) const {
    const auto type = types_.find(tensor);
    return type != types_.end() && type->second.dtype == Dtype::Float32;
  }

  /// `named`: what a target takes only where it is asked for counts too.
  bool takes(const Layer& layer, Format wanted, std::string* reason = nullptr, bool named = false) const {
    if (const Dtype other = other_float_type(layer, types_); wanted != Format::Float32 && other != Dtype::Float32) {
      return refuse(reason, fmt::format("it computes in {}", dtype_name(other)));
    }
    const onnx::NodeProto* node = nodes_.at(layer.name);
    if (named && layer.op_type == "Add" && !precision_.rules.weights_only &&
        is_residual(*node, wanted, precision_.target)) {
      return can_skip(model_, layer, *node, reason);
    }
    if (!can_take(model_, layer, node, wanted, precision_.target, reason, precision_.rules)) return false;
    if (wanted == Format::Float32 || precision_.rules.weights_only) return true;
    if (!can_read_in_blocks(types_, *node, wanted, precision_.target, precision_.rules, reason)) return false;
    const auto known = [&](const std::string& tensor) { return is_float32(tensor); };
    if (!needs_scale(wanted)) {
      const LowSlots slots = low_slots(*node, layer, default_opset(model_.proto), wanted, known);
      return slots.refusal.empty() || refuse(reason, slots.refusal);
    }
    const auto unknown = std::ranges::find_if_not(layer.inputs, known);
    return unknown == layer.inputs.end() ||
           refuse(reason, fmt::format("the type of its input '{}' is not known to be float32", printable(*unknown)));
  }

  void begin_plan() {
    Plan& plan = assigned_.plan;
    plan.model_file = model_.path.filename().string();
    plan.model_sha256 = model_.sha256;
    plan.scheme = scheme_text(precision_);
    plan.target = precision_.target;
    plan.high = precision_.high;
    plan.rules = precision_.rules;
    plan.arithmetic = precision_.arithmetic;
  }

  /// Layers that could run on codes and would save no time.
  void find_slower() {
    if (!only_where_faster(precision_)) return;
    std::set<std::string> able;
    for (const Layer& layer : layers_) {
      const bool named = exception_for(layer.name, precision_).has_value() || in_file_.contains(layer.name);
      if (layer.follows || named || !layer.graph.empty() || !selection_.why_not(layer).empty()) continue;
      const auto taken_as_codes = [&](Format listed) {
        return needs_scale(of_target(listed)) && takes(layer, of_target(listed));
      };
      if (std::ranges::any_of(low_, taken_as_codes)) able.insert(layer.name);
    }
    std::ranges::set_difference(able, faster_on_codes(model_, layers_, able, types_),
                                std::inserter(slower_, slower_.end()));
  }

  void assign(const Layer& layer) {
    Trial trial = tried(layer);
    Format format = trial.taken.empty() ? trial.high : trial.taken.front();
    bool fixed = false;
    if (const std::optional<Asked> exception = exception_for(layer.name, precision_)) {
      fixed = heed(layer, *exception, format, trial.skipped);
    }
    if (!fixed && format != Format::Float32 && of_angles_.contains(layer.name) && !in_file_.contains(layer.name)) {
      format = Format::Float32;
      fixed = true;
      trial.skipped.reason = "its angles grow with positions";
      angles_.push_back(layer.name);
    }
    assigned_.plan.layers.push_back({layer.name, format});
    note_skipped(std::move(trial.skipped), format, !fixed && format != trial.high);
    if (fixed) {
      fixed_layers_.insert(layer.name);
    } else if (format != trial.high) {
      assigned_.candidates.push_back(layer.name);
      if (trial.taken.size() > 1) assigned_.plan.rungs[layer.name] = {trial.taken.begin() + 1, trial.taken.end()};
    }
  }

  Trial tried(const Layer& layer) {
    Trial trial;
    trial.high = takes(layer, precision_.high) ? precision_.high : Format::Float32;
    SkippedLayer& skipped = trial.skipped = {layer.name, layer.op_type, trial.high, {}, false};
    const bool cache = layer.cache && precision_.rules.kv_cache;
    for (const Format listed : cache ? cache_formats(*precision_.rules.kv_cache, low_, precision_.ladder) : low_) {
      const Format wanted = cache ? listed : of_target(listed);
      if (precision_.ladder ? wanted == trial.high : bits_of(wanted) >= bits_of(trial.high)) continue;
      std::string reason = needs_scale(wanted) ? selection_.why_not(layer) : std::string();
      const bool excluded = !reason.empty();
      if (needs_scale(wanted) && slower_.contains(layer.name)) {
        if (skipped.reason.empty()) skipped.reason = "ONNX Runtime saves no time with it in this place";
        continue;
      }
      if (!excluded && takes(layer, wanted, &reason, names_add(precision_) || in_file_.contains(layer.name))) {
        trial.taken.push_back(wanted);
        if (!precision_.ladder) break;
        continue;
      }
      if (layer.weighted && !excluded) refused_.emplace(listed, reason);
      if (trial.taken.empty() && skipped.reason.empty()) {
        skipped.reason = reason;
        skipped.chosen = excluded;
      }
    }
    return trial;
  }

  /// Whether the layer takes the format that was asked for it, which is then in `format`.
  bool heed(const Layer& layer, const Asked& exception, Format& format, SkippedLayer& skipped) {
    const Format asked = of_target(exception.format);
    if (precision_.constraints == PrecisionConstraints::None) {
      if (exception.by_script) {
        unheard_.add({"script-format-ignored", {{"asked", format_name(asked)}}}, layer.name);
      } else {
        assigned_.warnings.push_back(
            {"layer-precision-ignored", {{"layer", layer.name}, {"asked", format_name(asked)}}});
      }
      return false;
    }
    std::string reason;
    if (takes(layer, asked, &reason, /*named=*/true)) {
      format = asked;
      skipped.reason = exception.by_script ? "set by a script" : "set by ‹layer-precisions›";
      skipped.chosen = true;
      return true;
    }
    if (precision_.constraints == PrecisionConstraints::Obey) {
      throw Error(ErrorCode::LayerCannot,
                  fmt::format("layer '{}' cannot run in {}: {}", printable(layer.name), format_title(asked), reason));
    }
    Note note{"format-not-taken", {{"format", format_name(format)}, {"asked", format_name(asked)}, {"reason", reason}}};
    if (exception.by_script) {
      unheard_.add(note, layer.name);
    } else {
      note.fields.emplace_back("layer", layer.name);
      assigned_.warnings.push_back(std::move(note));
    }
    return false;
  }

  void note_skipped(SkippedLayer skipped, Format format, bool is_candidate) {
    if (low_.empty()) return;
    const Format lowest = of_target(low_.front());
    skipped.runs_in = format;
    if (is_candidate) skipped.instead_of = lowest;
    if (!skipped.reason.empty() && format != lowest) assigned_.skipped.push_back(std::move(skipped));
  }

  /// Formats that were asked for and no layer has.
  void tell_what_nothing_runs_in() {
    const std::vector<PlannedLayer>& planned = assigned_.plan.layers;
    const auto is_low = [&](const PlannedLayer& layer) {
      return layer.format != precision_.high && layer.format != Format::Float32;
    };
    if (!slower_.empty() && std::ranges::none_of(planned, is_low)) {
      assigned_.nothing_gains = true;
      assigned_.warnings.push_back({"nothing-faster-in-int8", {}});
    }
    for (const Format listed : low_) {
      const Format wanted = of_target(listed);
      if (precision_.ladder) {
        require_rung(assigned_, listed, wanted, refused_[listed], needs_scale(wanted) && !slower_.empty());
        continue;
      }
      const auto runs_in_it = [&](const PlannedLayer& layer) { return layer.format == wanted; };
      if (low_.size() < 2 || std::ranges::any_of(planned, runs_in_it)) continue;
      assigned_.warnings.push_back({"format-without-layers", {{"format", format_name(listed)}}});
    }
  }

  const Model& model_;
  const std::vector<Layer>& layers_;
  const PrecisionOptions precision_;
  const std::map<std::string, ValueType> types_;
  const std::map<std::string, const onnx::NodeProto*> nodes_;
  const std::set<std::string> in_file_;
  const Selection selection_;
  const std::set<std::string> of_angles_;
  std::vector<Format> low_;
  std::set<std::string> slower_, fixed_layers_;
  std::vector<std::string> angles_;  // those that another format was for
  Grouped unheard_;
  std::map<Format, std::string> refused_;  // why the first layer with weights that cannot take it does not
  AssignedFormats assigned_;
};

}  // namespace

AssignedFormats assign_formats(const Model& model, const std::vector<Layer>& layers, const PrecisionOptions& asked) {
  return Assignment(model, layers, asked).run();
}

}  // namespace vernier
