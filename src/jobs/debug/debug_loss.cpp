// What a quantized file loses: in lock-step with its float model, layer by layer on exact inputs, and quantizer by
// quantizer on what arrives there.

#include "vernier/debug_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "analysis/figures.h"
#include "analysis/hiding_pairs.h"
#include "analysis/isolated.h"
#include "analysis/lockstep.h"
#include "analysis/match_layers.h"
#include "analysis/quantizer_loss.h"
#include "base/text.h"
#include "jobs/common/invalid_nodes.h"
#include "jobs/common/load.h"
#include "jobs/common/typed_file.h"
#include "jobs/debug/lost_layers.h"
#include "jobs/verify/file_fault.h"
#include "jobs/verify/float_twins.h"
#include "jobs/verify/pair_saturation.h"
#include "jobs/verify/stored_values.h"
#include "jobs/verify/verify.h"
#include "model/operator_traits.h"
#include "numerics/grid.h"
#include "numerics/tensor_grid.h"
#include "plan/constant_codes.h"
#include "plan/pair_form.h"
#include "plan/simulate_typed.h"
#include "vernier/error.h"
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
  throw Error(ErrorKind::Usage,
              fmt::format("{}: no Q/DQ pairs stand for its quantized operators ({})", file.path.string(),
                          list_some(std::vector<std::string>(found.begin(), found.end()))),
              "quantize to the QDQ form (quant_format=QuantFormat.QDQ), or measure it as it is with: ‹vernier verify›");
}

double sqnr_of(double signal, double noise) {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

std::size_t codes_in(Format format) { return std::size_t{1} << static_cast<unsigned>(bits_of(format)); }

QuantizerLoss described(const QuantizedTensor& quantized) {
  QuantizerLoss row;
  row.tensor = quantized.tensor;
  row.quantizer = quantized.quantizer;
  row.dequantizer = quantized.dequantizer;
  row.format = quantized.params.format;
  const auto [least, most] = std::ranges::minmax_element(quantized.params.scale);
  row.smallest_scale = *least;
  row.largest_scale = *most;
  row.scales = quantized.params.scale.size();
  row.zero_point = quantized.params.zero_point.empty() ? 0 : quantized.params.zero_point.front();
  row.axis = quantized.params.axis;
  row.block = quantized.params.block;
  return row;
}

void add_loss(QuantizerLoss& row, const QuantParams& params, const GridLoss& loss) {
  row.values = loss.count;
  if (loss.count == 0) return;
  const double noise = loss.clip_energy + loss.round_energy;
  row.sqnr_db = sqnr_of(loss.energy, noise);
  if (noise > 0) row.clip_share = loss.clip_energy / noise;
  if (params.scale.size() != 1 || loss.range.empty()) return;
  const auto [low, high] = ends_of(params);
  const double wanted = std::max(loss.range.max, 0.0F) - std::min(loss.range.min, 0.0F);
  // A one-sided range on a symmetric grid is judged on its own side.
  const double given = (loss.range.max > 0 ? high : 0.0F) - (loss.range.min < 0 ? low : 0.0F);
  if (wanted > 0) row.coverage = given / wanted;
  if (!is_integer(params.format) || row.weight) return;
  const float step = params.scale.front();
  const double span = std::round((std::min(loss.range.max, high) - std::max(loss.range.min, low)) / step) + 1;
  row.used_codes = std::clamp(span / static_cast<double>(codes_in(params.format)), 0.0, 1.0);
}

/// Share of the codes that a constant uses.
std::optional<double> used_codes(const QuantParams& params, const Tensor& values) {
  if (!is_integer(params.format) || bits_of(params.format) > 8 || !scales_fit(params, values.shape())) {
    return std::nullopt;
  }
  const std::vector<std::byte> codes = encode_tensor(params, values.shape(), values.floats());
  const std::set<std::byte> used(codes.begin(), codes.end());
  return static_cast<double>(used.size()) / static_cast<double>(codes_in(params.format));
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
std::optional<FoundDefect> absurd_scale(const QuantizerLoss& row) {
  constexpr double kFew = 1.0 / 16;  // four of eight bits are lost
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
                                   printable(row.tensor), *row.used_codes * codes, codes, scale)};
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

/// The figures, and the defects that only these show.
void measure_loss(const Model& typed, const DebugLossOptions& options, const JobSinks& sinks, DebugLossReport& report) {
  Sources sources(options.measure, sinks);
  const std::optional<Model> pairs = pairs_of_operators(typed, *sources.model(options.float_model));
  SimulatedFile simulated = simulate_typed(pairs ? *pairs : typed);
  const Loaded loaded = load_beside(typed, simulated, options.float_model, sources);
  const Subject& subject = loaded.subject;
  report.data = loaded.samples->description();
  report.samples = loaded.samples->size();
  report.warnings = loaded.warnings;
  report.notes = simulated.notes;
  if (simulated.quantized.empty()) report.notes.push_back({"no-constant-pair", {}});
  for (const Note& note : report.warnings) sinks.warn(note);

  const LayerMatches matches = match_layers(subject, simulated.model);
  report.not_compared = matches.missing;
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
  std::map<std::string, Format> formats;
  for (const PlannedLayer& layer : simulated.layers) formats[layer.name] = layer.format;
  for (std::size_t i = 0; i < matches.pairs.size(); ++i) {
    if (measured.errors[i].count == 0) continue;
    TensorLoss row;
    row.layer = matches.layers[i]->name;
    row.op_type = matches.layers[i]->op_type;
    row.tensor = matches.pairs[i].ref;
    row.quantized_tensor = matches.pairs[i].low;
    if (const auto format = formats.find(row.layer); format != formats.end()) row.format = format->second;
    row.sqnr_db = sqnr_db(measured.errors[i]);
    if (own[i] && own[i]->count > 0) {
      row.own_sqnr_db = sqnr_db(*own[i]);
      const double inherited = measured.errors[i].error_energy - own[i]->error_energy;
      if (inherited >= 0) row.inherited_sqnr_db = sqnr_of(measured.errors[i].ref_energy, inherited);
    }
    report.tensors.push_back(std::move(row));
  }
  std::ranges::stable_sort(report.tensors, {}, &TensorLoss::sqnr_db);

  const std::vector<GridLoss> grids =
      measure_grids(subject, simulated, dropped_activations(subject, simulated.model, matches));
  const FloatWeights weights = float_weights(subject, simulated.model, matches);
  const Model normalized = normalized_pairs(typed);
  merge_defects(report.defects, find_other_values(normalized, simulated, weights));
  doubt_scaled_weights(report.defects, normalized, subject, simulated, weights);
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
        add_loss(row, quantized.params, grid_loss(quantized.params, original, constant->floats()));
      } else if (const auto held = initializer(simulated.model, quantized.tensor);
                 held && !quantized.quantizer.empty()) {
        // The file itself holds it in float, of another shape or scale than the float model perhaps.
        add_loss(row, quantized.params, grid_loss(quantized.params, held->floats(), constant->floats()));
      } else {
        const auto why = weights.why_not.find(read);
        row.not_measured = why != weights.why_not.end()
                               ? why->second
                               : "no layer that reads it was matched with one of the float model";
      }
    } else {
      add_loss(row, quantized.params, grids[i]);
      if (!row.sqnr_db) row.not_measured = unmeasured_pair(quantized);
    }
    if (std::optional<FoundDefect> defect = absurd_scale(row)) report.defects.push_back(std::move(*defect));
    report.quantizers.push_back(std::move(row));
  }
  add_hiding_pairs(simulated, subject, measured.outputs, report.defects);
  excuse_scaled_weights(report.defects, report.figures, report.notes);
  if (std::ranges::any_of(report.defects, &FoundDefect::refused)) return;  // no figure of such a file is worth anything
  merge_defects(report.defects, find_lost_layers(normalized_pairs(typed), simulated, report));
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
  report.defects = defects_of_pairs(normalized_pairs(typed), /*perhaps_meant=*/true);
  if (!options.checked && std::ranges::none_of(report.defects, &FoundDefect::refused)) {
    merge_defects(report.defects, invalid_nodes(read, options.measure.custom_operators, sinks));
  }
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
