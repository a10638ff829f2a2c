#include "jobs/verify/pair_saturation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "analysis/beside_known.h"
#include "analysis/figures.h"
#include "base/text.h"
#include "engines/onnxruntime/optimized_graph.h"
#include "model/operator_traits.h"
#include "plan/pair_form.h"
#include "plan/saturating_pairs.h"
#include "report/text/figures.h"
#include "vernier/error.h"
#include "vernier/format.h"

namespace vernier {
namespace {

bool has_int8_weights(const SimulatedFile& file) {
  const auto is_weight = [&](const QuantizedTensor& quantized) {
    return quantized.params.format == Format::Int8 &&
           (quantized.quantizer.empty() || is_initializer(file.model, quantized.output));
  };
  return std::ranges::any_of(file.quantized, is_weight) ||
         std::ranges::any_of(file.model.proto.graph().node(), [](const onnx::NodeProto& node) {
           return has(node, Trait::ComputesOnCodes | Trait::StoresCodes) && node.op_type() != "MatMulNBits";
         });
}

/// The layers of the simulation that these kernels compute: one on codes has the name of the layer that it was made of.
std::set<std::string> of_layers(const std::set<std::string>& kernels, const SimulatedFile& file) {
  const auto& nodes = file.model.proto.graph().node();
  std::set<std::string> layers;
  for (const std::string& kernel : kernels) {
    const bool known = std::ranges::any_of(nodes, [&](const onnx::NodeProto& node) { return node.name() == kernel; });
    layers.insert(known ? kernel : name_in_pair_form(kernel));
  }
  return layers;
}

const char* name_of(Target runtime) { return runtime == Target::OpenVino ? "OpenVINO" : "ONNX Runtime"; }

/// What each of the worst layers adds to the noise of the outputs where it alone saturates.
void measure_shares(const Subject& subject, const SimulatedFile& file, Neighbours neighbours, const OutputStore& known,
                    const std::map<std::string, OutputStats>& there, SaturatedPairs& found) {
  constexpr std::size_t kMost = 8;
  const auto noise = [&](Model model, std::size_t slots) {
    return noise_share(run_beside_known(subject, std::move(model), known, {}, slots).outputs);
  };
  const double of_all = noise_share(there), of_none = noise(file.model, 0);
  if (!std::isfinite(of_all) || !std::isfinite(of_none) || !(of_all > 0)) return;
  for (std::size_t i = 0; i < std::min(kMost, found.layers.size()); ++i) {
    SaturatedPairs::Layer& layer = found.layers[i];
    SaturatingFile alone = saturating_pairs(file, {layer.name}, neighbours);
    const double of_one = found.layers.size() == 1 ? of_all : noise(std::move(alone.model), alone.layers.size());
    layer.share = std::clamp((of_one - of_none) / of_all, 0.0, 1.0);
  }
}

bool is_signed(const SaturatedPairs::Layer& layer) { return layer.data == Format::Int8; }

}  // namespace

PairSaturation measure_pair_saturation(const Subject& subject, const Model& typed, const SimulatedFile& file,
                                       Target target, const Requirement* requirement, const OutputStore* known) {
  const Target runtime = target == Target::OpenVino ? Target::OpenVino : Target::OnnxRuntime;
  if (!has_int8_weights(file)) return {};
  PairSaturation result;
  if (bytes_beside(typed) > kLargeWeights) {
    result.note = Note{"saturation-not-simulated", {{"runtime", name_of(runtime)}}};
    return result;
  }
  const Neighbours neighbours = runtime == Target::OpenVino ? Neighbours::WithinPlaces : Neighbours::AcrossPlaces;
  SaturatingFile saturating;
  if (runtime == Target::OpenVino) {
    saturating = saturating_pairs(file, kernels_of_openvino(file), neighbours);
  } else {
    std::set<std::string> kernels;
    try {
      kernels = saturating_kernels(optimized_graph(subject.runtime, typed, /*kernels_of_x86=*/true));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Backend) throw;
      return {};  // nobody runs it there
    }
    saturating = saturating_pairs(file, of_layers(kernels, file), neighbours);
  }
  if (!saturating.not_simulated.empty()) {
    result.note = Note{"sums-may-saturate", {{"runtime", name_of(runtime)}, {"layers", saturating.not_simulated}}};
  }
  if (saturating.layers.empty()) return result;
  std::optional<OutputStore> own;
  if (known == nullptr) known = &own.emplace(outputs_of_float(subject));
  Subject on_cpu = subject;
  if (subject.runtime->gpu() != nullptr) on_cpu.threads = subject.cpu_threads;
  const BesideKnown run = run_beside_known(on_cpu, std::move(saturating.model), *known, {}, saturating.layers.size());
  SaturatedPairs found;
  found.runtime = runtime;
  for (std::size_t i = 0; i < saturating.layers.size(); ++i) {
    if (run.events[i].saturated == 0) continue;
    const SaturatingLayer& layer = saturating.layers[i];
    found.layers.push_back({layer.name, layer.op_type, layer.data, run.events[i].count, run.events[i].saturated});
  }
  if (found.layers.empty()) return result;
  std::ranges::stable_sort(found.layers, std::ranges::greater{}, [](const SaturatedPairs::Layer& layer) {
    return static_cast<double>(layer.saturated) / static_cast<double>(std::max<std::int64_t>(layer.pairs, 1));
  });
  found.figures = figures_of(subject, run.outputs, requirement);
  measure_shares(on_cpu, file, neighbours, *known, run.outputs, found);
  result.found = std::move(found);
  return result;
}

bool is_worth_a_warning(const SaturatedPairs& found, const RunFigures& exact, Target target) {
  constexpr double kMatters = 1;  // dB
  if (target != Target::TensorRt || !std::ranges::all_of(found.layers, is_signed)) return true;
  if (found.figures.passed != exact.passed) return true;
  return !std::ranges::equal(found.figures.outputs, exact.outputs,
                             [](const OutputFigure& there, const OutputFigure& elsewhere) {
                               return !(there.sqnr_db < elsewhere.sqnr_db - kMatters);
                             });
}

Note saturation_note(const SaturatedPairs& found, const RunFigures& exact,
                     const std::optional<Requirement>& requirement, bool in_sample) {
  const SaturatedPairs::Layer& worst = found.layers.front();
  const std::string there = figure_text(found.figures, requirement), elsewhere = figure_text(exact, requirement);
  const bool any_signed = std::ranges::any_of(found.layers, is_signed);
  Note note{"pairs-saturate",
            {{"runtime", name_of(found.runtime)},
             {"signed", any_signed},
             {"layer", worst.name},
             {"saturated", worst.saturated},
             {"pairs", worst.pairs},
             {"in_sample", in_sample},
             {"there", there},
             {"alike", there == elsewhere},
             {"elsewhere", there == elsewhere ? "" : elsewhere}}};
  if (found.layers.size() > 1) note.fields.emplace_back("more", found.layers.size() - 1);
  if (found.reduced) {
    const auto badness = [&](const RunFigures& run) {
      const OutputFigure* const figure = deciding_output(run, requirement);
      return run.damage ? *run.damage : figure != nullptr ? -figure->sqnr_db : 0;
    };
    note.fields.emplace_back("helps", badness(*found.reduced) < badness(found.figures));
    note.fields.emplace_back("reduced", figure_text(*found.reduced, requirement));
  } else {
    note.fields.emplace_back("needs_target", any_signed && found.runtime == Target::OnnxRuntime);
  }
  return note;
}

}  // namespace vernier
