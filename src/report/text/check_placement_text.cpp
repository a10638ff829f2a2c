// `vernier check placement` as text.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/layout.h"
#include "base/text.h"
#include "report/text/engine_section.h"
#include "report/text/sections.h"
#include "report/told.h"
#include "vernier/report/check_placement.h"
#include "vernier/report/text.h"

namespace vernier {

namespace {

std::string answer_of(const CheckPlacementReport& report) {
  const auto refused = static_cast<std::size_t>(std::ranges::count(report.findings, true, &PlacementFinding::refused));
  const auto otherwise = static_cast<std::size_t>(std::ranges::count_if(
      report.findings, [](const auto& finding) { return finding.computes_otherwise && !finding.refused; }));
  const auto not_listed =
      static_cast<std::size_t>(std::ranges::count(report.findings, kOperatorNotListed, &PlacementFinding::rule));
  const auto harmless =
      static_cast<std::size_t>(std::ranges::count(report.findings, true, &PlacementFinding::costs_nothing));
  const bool whole = std::ranges::any_of(report.findings, [](const PlacementFinding& finding) {
    return finding.computes_otherwise && finding.node.empty();
  });
  const std::size_t unfused = report.findings.size() - refused - otherwise - not_listed - harmless;
  std::string answer;
  if (not_listed > 0) {
    answer = fmt::format("{} does not list {} on quantized values that the file has.", word_of(report.target),
                         plural(not_listed, "operator"));
  }
  if (refused > 0) {
    answer += fmt::format("{}{} rejects the file because of {}.", answer.empty() ? "" : " ", word_of(report.target),
                          plural(refused, "layer"));
  }
  if (otherwise > 0) {
    answer += fmt::format("{}{} computes {} differently from ONNX.", answer.empty() ? "" : " ", word_of(report.target),
                          whole ? "the file" : plural(otherwise, "layer"));
  }
  if (unfused > 0) {
    answer += fmt::format("{}{} of Q/DQ pairs that {} cannot fuse.", answer.empty() ? "" : " ",
                          plural(unfused, "place"), word_of(report.target));
  }
  if (!answer.empty()) return answer;
  if (report.quantizers + report.dequantizers > 0) {
    if (harmless == 0) return fmt::format("{} can fuse every Q/DQ pair.", word_of(report.target));
    if (report.target == Target::OnnxRuntime) {
      return fmt::format("{} can fuse every Q/DQ pair, except at {} in float between quantized ones.",
                         word_of(report.target), plural(harmless, "layer"));
    }
    return fmt::format("{} {} from what TensorRT documents, and {} no kernel in TensorRT-RTX.",
                       plural(harmless, "place"), harmless == 1 ? "differs" : "differ",
                       harmless == 1 ? "costs" : "cost");
  }
  if (report.stored_constants == 0) return "The file has no Q/DQ pairs, so there is nothing to fuse.";
  return fmt::format(
      "{} read by a DequantizeLinear, and no pair at an activation: only weights are quantized, their layers compute "
      "in float, and there is nothing to fuse.",
      plural(report.stored_constants, "stored constant"));
}

}  // namespace

std::string report_to_text(const CheckPlacementReport& report, const TextOptions& options) {
  const std::string answer = answer_of(report);
  const bool good = std::ranges::all_of(report.findings, &PlacementFinding::costs_nothing);
  std::string text = painted(wrap(answer, options.width), good ? Paint::Good : Paint::Bad, options.color) + "\n";
  text += labelled("Model", printable(report.file), options.width);
  text += labelled("Pairs",
                   fmt::format("{}, {}, {}", plural(report.quantizers, "QuantizeLinear node"),
                               plural(report.dequantizers, "DequantizeLinear node"),
                               plural(report.stored_constants, "stored constant")),
                   options.width);
  text += labelled("Rules",
                   report.ran ? fmt::format("checked against ONNX Runtime's optimized graph: {}, {} and {} left",
                                            plural(report.integer_kernels, "kernel") + " on quantized values",
                                            plural(report.quantizers_left, "QuantizeLinear node"),
                                            plural(report.dequantizers_left, "DequantizeLinear node"))
                   : report.target == Target::TensorRt
                       ? "documented for TensorRT, not run. Each place shows what TensorRT-RTX 1.7.1 compiled for "
                         "compute capability 8.9. It says if it was also run"
                       : "documented, not run",
                   options.width);
  if (report.compiled) text += engine_section(*report.compiled, options);
  // One paragraph for all places of which the same is to be said.
  std::vector<std::pair<const PlacementFinding*, std::vector<std::string>>> groups;
  for (const PlacementFinding& finding : report.findings) {
    const auto same = std::ranges::find_if(groups, [&](const auto& group) {
      return group.first->rule == finding.rule && group.first->why == finding.why;
    });
    if (same == groups.end()) {
      groups.push_back({&finding, {printable(finding.node)}});
    } else {
      same->second.push_back(printable(finding.node));
    }
  }
  for (const auto& [finding, nodes] : groups) {
    const std::string at = finding->node.empty() ? "" : list_some(nodes, 3) + ": ";
    text += "\n" + wrap(at + told(finding->why), options.width,
                        (finding->costs_nothing ? "note: " : "") + finding->rule + ": ");
    text += wrap(told(finding->change), options.width, "  fix: ");
    if (!finding->compiled.empty()) text += wrap(told(finding->compiled), options.width, "  TensorRT-RTX: ");
  }
  return text + remarks({}, report.notes, options);
}

}  // namespace vernier
