// What a quantized file loses: in lock-step with its float model, layer by layer on exact inputs, and quantizer by
// quantizer on what arrives there.

#include "vernier/debug_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "analysis/beside_known.h"
#include "analysis/figures.h"
#include "analysis/hiding_pairs.h"
#include "analysis/isolated.h"
#include "analysis/lockstep.h"
#include "analysis/match_layers.h"
#include "analysis/output_store.h"
#include "analysis/quantizer_loss.h"
#include "analysis/some_samples.h"
#include "base/text.h"
#include "jobs/common/gpu_pays.h"
#include "jobs/common/invalid_nodes.h"
#include "jobs/common/load.h"
#include "jobs/common/typed_file.h"
#include "jobs/debug/bias_scales.h"
#include "jobs/debug/cut_masks.h"
#include "jobs/debug/exact_grids.h"
#include "jobs/debug/examined_file.h"
#include "jobs/debug/implied_clamps.h"
#include "jobs/debug/lost_layers.h"
#include "jobs/debug/lost_pairs.h"
#include "jobs/debug/not_finite.h"
#include "jobs/debug/other_constants.h"
#include "jobs/debug/other_operators.h"
#include "jobs/debug/pair_reasons.h"
#include "jobs/debug/stored_losses.h"
#include "jobs/verify/constant_twins.h"
#include "jobs/verify/exact_network.h"
#include "jobs/verify/file_fault.h"
#include "jobs/verify/float_twins.h"
#include "jobs/verify/layer_formats.h"
#include "jobs/verify/output_noise.h"
#include "jobs/verify/pair_saturation.h"
#include "jobs/verify/scaled_weights.h"
#include "jobs/verify/second_findings.h"
#include "jobs/verify/stored_values.h"
#include "jobs/verify/unsaturated_pairs.h"
#include "jobs/verify/verify.h"
#include "jobs/verify/wrong_constants.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "numerics/fitting_scale.h"
#include "numerics/grid.h"
#include "numerics/metrics.h"
#include "numerics/tensor_grid.h"
#include "plan/constant_codes.h"
#include "plan/float_interface.h"
#include "plan/pair_form.h"
#include "plan/simulate_typed.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/report/debug_loss.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Operators on codes that no pairs stand for.
void refuse_quantized_operators(const Model& file) {
  std::set<std::string> found;
  for_each_graph(file.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (has(node, Trait::ComputesOnCodes)) found.insert(printable(node.op_type()));
    }
  });
  if (found.empty()) return;
  throw Error(ErrorCode::NotSupported,
              fmt::format("{}: its quantized operators ({}) have no Q/DQ pairs", file.path.string(),
                          list_some(std::vector<std::string>(found.begin(), found.end()))),
              "quantize to the QDQ form (quant_format=QuantFormat.QDQ), or measure it as it is with: ‹vernier verify›");
}

double sqnr_of(double signal, double noise) {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

/// Why nothing was measured at the pair of an activation.
std::string unmeasured_pair(const QuantizedTensor& quantized) {
  if (quantized.quantizer.empty()) return "the file computes its quantized values: it has no float values to compare";
  if (quantized.params.block > 0) return "scales of an activation in blocks are not measured";
  return "no sample ran it, or it lies inside a body of If, Loop or Scan";
}

/// A scale that cannot be meant for what goes through it: nearly all codes stay unused. Values that are nearly one
/// value need few codes and lose little: no defect. Nor is a range far beyond the grid: masks (-1e9) are left out on
/// purpose.
std::optional<FoundDefect> absurd_scale(const QuantizerLoss& row, const QuantParams& params, const RangeStats& range) {
  constexpr double kFew = 17.0 / 256;  // four of eight bits are lost, a zero point apart
  constexpr double kBadDb = 20;
  constexpr std::int64_t kFewestValues = 64;
  if (!row.sqnr_db || *row.sqnr_db >= kBadDb || !is_integer(row.format) || row.values < kFewestValues) return {};
  const std::string scale = row.scales == 1
                                ? fmt::format("scale {:.6g}", row.largest_scale)
                                : fmt::format("scales {:.6g} to {:.6g}", row.smallest_scale, row.largest_scale);
  const std::string& node = row.quantizer.empty() ? row.dequantizer : row.quantizer;
  if (row.used_codes && *row.used_codes <= kFew) {
    const auto codes = static_cast<double>(codes_in(row.format));
    return FoundDefect{"unused-levels", node,
                       fmt::format("'{}' uses {:.0f} of {:.0f} levels: {}, too coarse for its values",
                                   printable(row.tensor), *row.used_codes * codes, codes, scale),
                       row.scales == 1 ? fmt::format("the scale {:.6g} fits these samples: ‹vernier fix FLOAT_MODEL "
                                                     "--from FILE --data DATA› measures and sets it",
                                                     fitting_scale(params, range.min, range.max))
                                       : ""};
  }
  return {};
}

/// Pairs whose one scale is right for the large values of an output and hides a part of it.
void add_hiding_pairs(const SimulatedFile& file, const Subject& subject,
                      const std::map<std::string, OutputStats>& outputs, std::vector<FoundDefect>& defects) {
  for (const OutputPart& part : subject.parts) {
    for (const HidingPair& hiding : pairs_hiding(file, part, outputs.at(part.name).pooled)) {
      const std::string& node = hiding.pair->quantizer.empty() ? hiding.pair->dequantizer : hiding.pair->quantizer;
      defects.push_back({"hidden-part", node, hiding_text(hiding, part)});
    }
  }
}

/// Tensors of the file that hold the values of the float model times a factor, or constants that do.
std::set<std::string> scaled_constants(const Examined& file) {
  std::set<std::string> constants;
  for (const onnx::NodeProto& node : file.normalized.proto.graph().node()) {
    if (!file.equalized.contains(node.name())) continue;
    constants.insert(node.output(0));
    constants.insert(node.output(0) + "/unrounded");
  }
  return constants;
}

/// Layers, nodes that move values, and outputs that no layer makes.
LayerMatches match_everything(const Subject& subject, const Model& simulated) {
  LayerMatches matches = match_layers(subject, simulated, /*moves=*/true);
  const Makers ref_made = makers_in(subject.model), low_made = makers_in(simulated);
  for (const onnx::ValueInfoProto& output : subject.model.proto.graph().output()) {
    const std::string& name = output.name();
    const bool is_float = output.type().tensor_type().elem_type() == onnx::TensorProto::FLOAT;
    const bool known = std::ranges::any_of(matches.pairs, [&](const Match& match) { return match.ref == name; });
    if (known || !is_float || !ref_made.contains(name) || !low_made.contains(name)) continue;
    matches.pairs.push_back({name, name});
    matches.layers.push_back(nullptr);
  }
  return matches;
}

using ErrorsWith = std::function<std::vector<std::optional<ErrorStats>>(const std::vector<Match>& matches,
                                                                        const std::function<bool(std::size_t)>& stays)>;

/// Of each layer: what its inputs, its weight, and nothing at all lose by being rounded. Empty where no layer is lost.
LayerLosses losses_of_layers(const std::vector<Match>& layers, const DebugLossReport& report,
                             const ErrorsWith& errors_with) {
  LayerLosses losses;
  const auto is_lost = [](const TensorLoss& layer) { return layer.own_sqnr_db && *layer.own_sqnr_db < kSameDb; };
  if (std::ranges::none_of(report.tensors, is_lost)) return losses;
  const auto of_nothing = errors_with(layers, [](std::size_t) { return false; });
  const auto of_inputs = errors_with(layers, [&](std::size_t i) { return !report.quantizers[i].weight; });
  const auto of_weights = errors_with(layers, [&](std::size_t i) { return report.quantizers[i].weight; });
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!of_inputs[i] || !of_weights[i] || !of_nothing[i]) continue;
    losses[layers[i].ref] = {sqnr_db(*of_inputs[i]), sqnr_db(*of_weights[i]), sqnr_db(*of_nothing[i])};
  }
  return losses;
}

/// The samples on which defects are looked for: all, as long as their runs stay within these bounds, about a minute on
/// two cores. Never fewer than OutputNoise::kSamples.
std::size_t affordable_samples(const Subject& subject, std::size_t pairs) {
  constexpr double kMostRuns = 1 << 14, kMostProducts = 1e12;
  const double runs = static_cast<double>(16 + std::min(pairs, kMostLostPairs));
  double products = 0;
  try {
    products = multiply_accumulates_of(subject.model, subject.samples->at(0));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Interrupted) throw;
  }
  const double most = std::min(kMostRuns, kMostProducts / std::max(products, 1.0)) / runs;
  return std::max(static_cast<std::size_t>(most), OutputNoise::kSamples);
}

/// Those in which the outputs lose most, worst first.
std::vector<std::size_t> telling_samples(const RunFigures& figures) {
  std::vector<SampleFigure> worst;
  for (const OutputFigure& output : figures.outputs) {
    worst.insert(worst.end(), output.worst_samples.begin(), output.worst_samples.end());
  }
  std::ranges::stable_sort(worst, {}, &SampleFigure::sqnr_db);
  std::vector<std::size_t> samples;
  for (const SampleFigure& figure : worst) {
    if (std::ranges::find(samples, figure.sample) == samples.end()) samples.push_back(figure.sample);
  }
  return samples;
}

/// Defects that the data show: other operators, then wrong constants, pairs, and layers, each only where those before
/// do not explain it. `stored`: what is wrong with constants.
void find_what_is_lost(const Subject& whole, const Examined& file, const std::map<std::string, Bounds>& dropped,
                       std::vector<FoundDefect>& stored, DebugLossReport& report) {
  constexpr double kStarvesNothing = 0.98;
  const SimulatedFile& simulated = file.simulated;
  OutputNoise noise(whole, simulated.model, affordable_samples(whole, simulated.quantized.size()),
                    telling_samples(report.figures));
  const Subject& subject = noise.subject();
  report.examined = subject.samples->size();
  if (report.examined < report.samples) report.notes.push_back(not_examined_note(report.examined, report.samples));
  const auto& quantized = simulated.quantized;
  FloatValues values = float_values(file.normalized, simulated, file.weights, file.equalized, dropped);
  const auto errors_with = [&](const std::vector<Match>& matches, const std::function<bool(std::size_t)>& stays) {
    return isolated_errors(subject, with_float_values(simulated, values, stays), matches);
  };
  const auto nothing = [](std::size_t) { return false; };
  std::set<std::string> skipped = scaled_constants(file);
  std::optional<bool> agree;
  const Asked asked{[&] {
                      const auto agrees = [](const OutputFigure& output) { return output.sqnr_db >= kSameDb; };
                      if (!agree) {
                        agree = std::ranges::all_of(report.figures.outputs, agrees) ||
                                noise.of(with_float_values(simulated, values, nothing)) <= noise_of_db(kSameDb);
                      }
                      return *agree;
                    },
                    [&](const OtherLayer& other) -> std::optional<double> {
                      if (!other.instead) return noise.left_with(other.constant, *other.values);
                      Model changed = simulated.model;
                      for (onnx::NodeProto& node : *changed.proto.mutable_graph()->mutable_node()) {
                        if (node.name() == other.instead->name() && node.op_type() == other.instead->op_type())
                          node = *other.instead;
                      }
                      return noise.left_in(std::move(changed));
                    },
                    [&](const std::vector<const OtherLayer*>& mended) {
                      Model changed = with_float_values(simulated, values, nothing);
                      for (const OtherLayer* other : mended) {
                        onnx::GraphProto* owner = owner_of_initializer(changed, other->constant);
                        if (owner != nullptr) set_initializer(changed, *owner, other->constant, *other->values);
                      }
                      return noise.of(std::move(changed)) <= noise_of_db(kSameDb);
                    }};
  const LayerMatches all = match_everything(subject, simulated.model);
  auto of_all = errors_with(all.pairs, nothing);
  if (add_implied_clamps(subject, simulated, all.pairs, of_all, dropped, values))
    of_all = errors_with(all.pairs, nothing);
  const OtherOperators other = find_other_operators(subject, simulated, file.weights, all, of_all, skipped, asked);
  merge_defects(report.defects, other.defects);
  merge_defects(report.defects, std::move(stored));

  SimulatedFile exact = simulated;
  exact.model = with_float_constants(simulated, values, [](std::size_t) { return false; });
  std::vector<GridLoss> grids = measure_grids(whole, exact, values.activations, /*rounded=*/false);
  measure_on_float_model(whole, simulated, all.pairs, of_all, values.activations, grids);
  const std::set<std::size_t> masks = harmless_mask_cuts(simulated, values, grids, noise);
  const std::vector<GridLoss> with_masks = grids;
  leave_out_masks(whole, simulated, with_float_values(simulated, values, nothing), masks, grids);
  std::vector<QuantizerLoss> losses = report.quantizers;
  std::map<std::size_t, Coverage> wide_scales;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (losses[i].weight) {
      const auto weight = file.weights.found.find(read_name(quantized[i].output));
      if (weight == file.weights.found.end()) continue;
      const auto coverage = coverage_of_channels(quantized[i].params, weight->second.values);
      if (!coverage) continue;
      losses[i].coverage = coverage->middle;
      if (coverage->wide > 0) wide_scales.emplace(i, *coverage);
      continue;
    }
    losses[i] = with_loss(losses[i], quantized[i].params, grids[i]);
    if (other.behind.contains(quantized[i].tensor)) continue;
    const std::optional<FoundDefect> defect = absurd_scale(losses[i], quantized[i].params, grids[i].range);
    if (defect) merge_defects(report.defects, {*defect});
  }
  merge_defects(report.defects, find_overflowing_pairs(subject, file.normalized, simulated.model));
  const bool output_is_lost = std::ranges::any_of(
      report.figures.outputs, [](const OutputFigure& output) { return !(output.sqnr_db >= kLostOutputDb); });
  std::vector<FoundDefect> pairs =
      find_lost_pairs(subject, simulated, values, grids, losses, wide_scales, other.behind, output_is_lost);
  std::erase_if(pairs, [&](const FoundDefect& pair) {
    const auto quantizer = std::ranges::find(losses, pair.node, &node_of_pair);
    const bool weight = quantizer != losses.end() && quantizer->weight;
    return has_defect(report.defects, weight ? "weight-scale" : "unused-levels", pair.node);
  });
  merge_defects(report.defects, std::move(pairs));
  settle_scales_of_biases(file, grids, report.defects);

  skipped.insert(other.layers.begin(), other.layers.end());
  const LayerLosses errors = losses_of_layers(file.matches.pairs, report, errors_with);
  for (const std::size_t i : masks) {  // a layer in front of one loses its mask
    if (!losses[i].weight) losses[i] = with_loss(losses[i], quantized[i].params, with_masks[i]);
  }
  std::vector<FoundDefect> layers =
      find_lost_layers({file.normalized, simulated, skipped, losses_of_stored(file.normalized, file.weights)}, report,
                       errors, losses, asked.outputs_agree);
  const std::map<std::string, std::string> constants = constants_of_dequantizers(file.normalized, file.weights);
  std::erase_if(layers, [&](const FoundDefect& layer) {
    // Too few values for a factor to show, or a weight whose factors nobody looks for.
    const auto constant = constants.find(layer.node);
    // Filters that are zero in the float model too, or that nothing needs, starve nothing.
    const bool starved = layer.kind == "starved-channels";
    if ((starved || !file.equalized.empty()) && constant != constants.end()) {
      const auto left = noise.left_with(constant->second, file.weights.found.at(constant->second).values);
      if (left && *left > (starved ? kStarvesNothing : 1)) return true;
    }
    return std::ranges::any_of(masks, [&](std::size_t i) { return node_of_pair(losses[i]) == layer.node; });
  });
  merge_defects(report.defects, std::move(layers));
  if (!report.defects.empty()) return;
  std::map<std::string, double> own_db;
  for (const TensorLoss& row : report.tensors) {
    if (row.own_sqnr_db) own_db[row.layer] = *row.own_sqnr_db;
  }
  append(report.notes, costly_pairs(subject, simulated, values, losses, own_db));
}

/// The figures, and the defects that only these show.
void measure_loss(Model typed, const DebugLossOptions& options, const JobSinks& sinks, DebugLossReport& report) {
  Sources sources(options.measure, sinks);
  report.notes = give_float_interface(typed, *sources.model(options.float_model));
  const std::optional<Model> pairs = pairs_of_operators(typed, *sources.model(options.float_model));
  SimulatedFile simulated = simulate_typed(pairs ? *pairs : typed);
  const Loaded loaded = load_beside(typed, simulated, options.float_model, sources);
  const Subject& subject = loaded.subject;
  report.data = loaded.samples->description();
  report.samples = loaded.samples->size();
  report.warnings = loaded.warnings;
  append(report.notes, simulated.notes);
  if (simulated.quantized.empty()) report.notes.push_back({"no-constant-pair", {}});
  for (const Note& note : report.warnings) sinks.warn(note);

  const LayerMatches matches = match_layers(subject, simulated.model);
  report.not_compared = notes_of(matches.missing);
  report.inside_bodies = matches.inside_bodies;
  report.matched_by_structure = matches.by_structure;
  const Lockstep measured = lockstep(subject, simulated.model, matches.pairs);
  const auto own = isolated_errors(subject, simulated.model, matches.pairs);
  report.figures = figures_of(subject, measured.outputs, nullptr);
  PairSaturation saturation;
  if (!options.checked) saturation = measure_pair_saturation(subject, typed, simulated, Target::TensorRt, nullptr);
  if (saturation.note) report.notes.push_back(*saturation.note);
  report.saturated_pairs = std::move(saturation.found);
  if (report.saturated_pairs && is_worth_a_warning(*report.saturated_pairs, report.figures, Target::TensorRt)) {
    report.warnings.push_back(saturation_note(*report.saturated_pairs, report.figures, std::nullopt));
    sinks.warn(report.warnings.back());
  }
  const std::map<const Layer*, Format> formats = formats_of(simulated, matches);
  const auto factors = stored_times(simulated, matches, formats, measured.errors);
  for (std::size_t i = 0; i < matches.pairs.size(); ++i) {
    if (measured.errors[i].count == 0) continue;
    TensorLoss row;
    row.layer = matches.layers[i]->name;
    row.op_type = matches.layers[i]->op_type;
    row.tensor = matches.pairs[i].ref;
    row.quantized_tensor = matches.pairs[i].low;
    if (const auto format = formats.find(matches.layers[i]); format != formats.end()) row.format = format->second;
    const auto unscaled = [&](const ErrorStats& stats) {
      return factors[i] ? without_factor(stats, *factors[i]) : stats;
    };
    const ErrorStats error = unscaled(measured.errors[i]);
    row.sqnr_db = sqnr_db(error);
    if (own[i] && own[i]->count > 0) {
      const ErrorStats of_layer = unscaled(*own[i]);
      row.own_sqnr_db = sqnr_db(of_layer);
      const double inherited = error.error_energy - of_layer.error_energy;
      if (inherited >= 0) row.propagated_db = sqnr_of(error.ref_energy, inherited);
    }
    report.tensors.push_back(std::move(row));
  }
  std::ranges::stable_sort(report.tensors, {}, &TensorLoss::sqnr_db);

  const std::map<std::string, Bounds> dropped = dropped_activations(subject, simulated.model, matches);
  const std::vector<GridLoss> grids = measure_grids(subject, simulated, dropped);
  FloatWeights weights = float_weights(subject, simulated.model, matches);
  add_constants_of_moves(subject, simulated.model, weights);
  add_constant_twins(*loaded.original, simulated, weights);
  const Model normalized = normalized_pairs(typed);
  std::vector<FoundDefect> stored = find_wrong_constants(normalized, subject, simulated, weights, matches);
  const std::set<std::string> equalized = excuse_weights(stored, report.figures, report.notes);
  for (std::size_t i = 0; i < simulated.quantized.size(); ++i) {
    const QuantizedTensor& quantized = simulated.quantized[i];
    QuantizerLoss row = described(quantized);
    const auto constant = initializer(simulated.model, quantized.output);
    row.weight = constant.has_value();
    if (constant) {
      row.values = constant->count();
      row.used_codes = used_codes(quantized.params, *constant);
      const std::string read = read_name(quantized.output);
      if (const auto weight = weights.found.find(read); weight != weights.found.end()) {
        row.tensor = weight->second.name;
        const std::span<const float> original = weight->second.values.floats();
        row = with_loss(row, quantized.params, grid_loss(quantized.params, original, constant->floats()));
      } else if (const auto held = initializer(simulated.model, quantized.tensor);
                 held && !quantized.quantizer.empty()) {
        // The file itself holds it in float, of another shape or scale than the float model perhaps.
        row = with_loss(row, quantized.params, grid_loss(quantized.params, held->floats(), constant->floats()));
      } else {
        const auto why = weights.why_not.find(read);
        row.not_measured = why != weights.why_not.end()
                               ? why->second
                               : "no layer that reads it was matched with one of the float model";
      }
    } else {
      row = with_loss(row, quantized.params, grids[i]);
      if (!row.sqnr_db) row.not_measured = unmeasured_pair(quantized);
    }
    report.quantizers.push_back(std::move(row));
  }
  if (std::ranges::none_of(report.defects, &FoundDefect::refused)) {
    const Examined file{typed, normalized, simulated, weights, matches, equalized};
    find_what_is_lost(subject, file, dropped, stored, report);
  } else {
    merge_defects(report.defects, std::move(stored));
  }
  add_hiding_pairs(simulated, subject, measured.outputs, report.defects);
  const bool not_finite =
      std::ranges::any_of(report.figures.outputs, [](const OutputFigure& output) { return output.nonfinite > 0; });
  if (not_finite) {
    const auto found = first_not_finite(matches, measured.errors, simulated.model);
    if (found && !is_explained(*found, report.defects, normalized, simulated)) report.defects.push_back(found->defect);
  }
  drop_second_findings(report.defects, normalized);
}

}  // namespace

DebugLossReport debug_loss(const DebugLossOptions& options, const JobSinks& sinks) {
  const auto read = std::make_shared<const Model>(read_model(options.quantized_model));
  const Model typed = as_typed_file(*read);
  refuse_quantized_operators(normalized_pairs(typed));
  DebugLossReport report;
  report.command = options.command;
  report.float_file = options.float_model.name();
  report.quantized_file = options.quantized_model.name();
  report.defects = defects_of_pairs(normalized_pairs(typed), /*perhaps_meant=*/true, options.target);
  if (!options.checked && std::ranges::none_of(report.defects, &FoundDefect::refused)) {
    merge_defects(report.defects, invalid_nodes(read, options.measure.custom_operators, sinks));
  }
  if (options.target == Target::OnnxRuntime)
    merge_defects(report.defects, repeated_name_defects(*read, /*refused=*/true));
  try {
    measure_loss(typed, options, sinks, report);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Backend) throw;
    Sources sources(options.measure, sinks);
    const Error fault = fault_of_file(error, typed, options.float_model, sources);
    // An engine may refuse the file for what is wrong with it: then that is the answer.
    if (report.defects.empty()) throw Error(fault);
    report.notes.push_back({"file-does-not-run", {{"error", first_line(fault.what())}}});
  }
  return report;
}

}  // namespace vernier
