#include "jobs/verify/pair_saturation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "analysis/beside_known.h"
#include "analysis/figures.h"
#include "base/text.h"
#include "plan/saturating_pairs.h"
#include "report/text/figures.h"

namespace vernier {

std::optional<SaturatedPairs> measure_saturated_pairs(const Subject& subject, const SimulatedFile& file,
                                                      const Requirement* requirement, const OutputStore* known) {
  SaturatingFile saturating = saturating_pairs(file);
  if (saturating.layers.empty()) return std::nullopt;
  std::optional<OutputStore> own;
  if (known == nullptr) known = &own.emplace(outputs_of_float(subject));
  const BesideKnown run = run_beside_known(subject, std::move(saturating.model), *known, {}, saturating.layers.size());
  SaturatedPairs found;
  for (std::size_t i = 0; i < saturating.layers.size(); ++i) {
    if (run.events[i].saturated == 0) continue;
    found.layers.push_back(
        {saturating.layers[i].name, saturating.layers[i].op_type, run.events[i].count, run.events[i].saturated});
  }
  if (found.layers.empty()) return std::nullopt;
  std::ranges::stable_sort(found.layers, std::ranges::greater{}, [](const SaturatedPairs::Layer& layer) {
    return static_cast<double>(layer.saturated) / static_cast<double>(std::max<std::int64_t>(layer.pairs, 1));
  });
  found.figures = figures_of(subject, run.outputs, requirement);
  return found;
}

std::string saturation_text(const SaturatedPairs& found, const RunFigures& exact,
                            const std::optional<Requirement>& requirement) {
  const SaturatedPairs::Layer& worst = found.layers.front();
  const std::string there = figure_text(found.figures, requirement), elsewhere = figure_text(exact, requirement);
  std::string text = fmt::format(
      "on an x86 CPU without VNNI ONNX Runtime adds products in pairs of 16 bits: in '{}' {} of {} pairs saturate{}, "
      "and the result is at {} there, {} (simulated)",
      printable(worst.name), worst.saturated, worst.pairs,
      found.layers.size() == 1 ? "" : fmt::format(", and pairs in {}", plural(found.layers.size() - 1, "more layer")),
      there, there == elsewhere ? "as elsewhere" : "not " + elsewhere);
  if (!found.reduced) return text + ". ‹reduce-range› avoids it: weights in 7 bits";
  return text + fmt::format(". ‹reduce-range› avoids it: weights in 7 bits give {} on every CPU (measured)",
                            figure_text(*found.reduced, requirement));
}

}  // namespace vernier
