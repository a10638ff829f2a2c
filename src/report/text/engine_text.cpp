// `vernier inspect engine` as text: how many kernels, in which formats, and which layers run otherwise than asked.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/layout.h"
#include "base/text.h"
#include "report/text/engine_section.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "report/told.h"
#include "vernier/report/engine.h"

namespace vernier {
namespace {

std::string types_text(const std::vector<std::string>& types) {
  return types.empty() ? "-" : fmt::format("{}", fmt::join(types, ", "));
}

/// "12 kgen, 9 correlation": kernels by kind, most first.
std::string kinds_text(const EngineReport& report) {
  std::map<std::string, std::size_t> counts;
  for (const EngineKernel& kernel : report.kernels) ++counts[kernel.kind.empty() ? "of no kind" : kernel.kind];
  std::vector<std::pair<std::string, std::size_t>> kinds(counts.begin(), counts.end());
  std::ranges::stable_sort(kinds, std::ranges::greater{}, &std::pair<std::string, std::size_t>::second);
  std::vector<std::string> texts;
  for (const auto& [kind, count] : kinds) texts.push_back(fmt::format("{} {}", count, printable(kind)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// Fewer bits are not always fewer kernels. Empty where nothing is to be said.
std::string float16_text(const EngineReport& report) {
  if (!report.float16_kernels || *report.float16_kernels >= report.kernels.size()) return "";
  return fmt::format(" With every layer in FP16 it has {}, so FP16 may be as fast: vernier bench measures it.",
                     *report.float16_kernels);
}

std::string answer_of(const EngineReport& report, std::size_t differing) {
  std::string text = plural(report.kernels.size(), "kernel");
  if (!report.helpers.empty()) {
    text +=
        fmt::format(", and {} of them {} no layer but {}", report.helpers.size(),
                    report.helpers.size() == 1 ? "computes" : "compute",
                    report.helpers.size() == 1 ? "rescales, converts or moves data" : "rescale, convert or move data");
  }
  text += ". ";
  if (report.layers.empty()) return text + "Pass --model MODEL to see the layers that they compute.";
  if (differing == 0) return text + "Every layer runs in the format that the file asks for." + float16_text(report);
  return text +
         fmt::format("{} in another format than the file asks for.",
                     plural(differing, "layer") + (differing == 1 ? " runs" : " run")) +
         float16_text(report);
}

std::vector<std::string> layer_cells(const EngineReport& report, const EngineLayer& layer) {
  if (!layer.kernel) {
    return {printable(layer.name), printable(layer.op_type), std::string(format_name(layer.asked)), "-", "-", "-",
            "in no kernel by name"};
  }
  const EngineKernel& kernel = report.kernels[*layer.kernel];
  std::string where = printable(kernel.kind);
  if (layer.shared > 1) where += fmt::format(", with {}", plural(layer.shared - 1, "other layer"));
  return {printable(layer.name),   printable(layer.op_type), std::string(format_name(layer.asked)),
          types_text(layer.reads), types_text(layer.writes), std::to_string(*layer.kernel + 1),
          std::move(where)};
}

std::string layers_table(const EngineReport& report, const std::vector<const EngineLayer*>& layers,
                         const TextOptions& options) {
  Table table;
  table.flexible_column("layer");
  table.column("operator", Align::Left);
  table.column("file asks", Align::Left);
  table.column("reads", Align::Left);
  table.column("writes", Align::Left);
  table.column("kernel", Align::Right);
  table.column("kind", Align::Left);
  const std::size_t rows = options.top == 0 ? layers.size() : std::min(options.top, layers.size());
  for (std::size_t i = 0; i < rows; ++i) table.row(layer_cells(report, *layers[i]));
  std::string text = table.text(options.width, options.whole_names);
  if (rows < layers.size()) {
    text += fmt::format("  ... and {} (all of them with --top 0)\n", plural(layers.size() - rows, "more layer"));
  }
  return text;
}

std::string kernels_table(const EngineReport& report, const TextOptions& options) {
  std::map<std::size_t, std::vector<std::string>> computed;
  for (const EngineLayer& layer : report.layers) {
    if (layer.kernel) computed[*layer.kernel].push_back(printable(layer.name));
  }
  Table table;
  table.column("#", Align::Right);
  table.column("kind", Align::Left);
  table.column("reads", Align::Left);
  table.column("writes", Align::Left);
  table.flexible_column(report.layers.empty() ? "name" : "computes");
  const std::size_t rows = options.top == 0 ? report.kernels.size() : std::min(options.top, report.kernels.size());
  for (std::size_t i = 0; i < rows; ++i) {
    const EngineKernel& kernel = report.kernels[i];
    const bool converts = std::ranges::binary_search(report.helpers, i);
    std::string does = report.layers.empty()  ? printable(kernel.name)
                       : computed.contains(i) ? list_some(computed[i], 2)
                       : converts             ? "(no layer)"
                                              : "(" + list_some(kernel.nodes, 1) + ")";
    table.row({std::to_string(i + 1), printable(kernel.kind), types_text(types_of(kernel.inputs)),
               types_text(types_of(kernel.outputs)), std::move(does)});
  }
  std::string text = table.text(options.width, options.whole_names);
  if (rows < report.kernels.size()) {
    text +=
        fmt::format("  ... and {} (all of them with --top 0)\n", plural(report.kernels.size() - rows, "more kernel"));
  }
  return text;
}

std::string engine_of(const EngineReport& report) {
  return fmt::format("{} {}, compiled for {}, not run", report.engine.name, report.engine.version,
                     printable(report.compiled_for));
}

std::vector<const EngineLayer*> differing_in(const EngineReport& report) {
  std::vector<const EngineLayer*> differing;
  for (const EngineLayer& layer : report.layers) {
    if (layer.differs) differing.push_back(&layer);
  }
  return differing;
}

}  // namespace

std::string engine_section(const EngineReport& report, const TextOptions& options) {
  if (!report.refused.empty()) {
    return labelled("Compiled", fmt::format("{}: {}", engine_of(report), told(report.refused)), options.width);
  }
  const std::vector<const EngineLayer*> differing = differing_in(report);
  std::string text = labelled("Compiled", fmt::format("{}: {}", engine_of(report), answer_of(report, differing.size())),
                              options.width);
  if (!differing.empty()) {
    text += heading("Layers that run in another format than the file asks for", options) +
            layers_table(report, differing, options);
  }
  return text;
}

std::string report_to_text(const EngineReport& report, const TextOptions& options) {
  const std::vector<const EngineLayer*> differing = differing_in(report);
  std::vector<const EngineLayer*> all;
  for (const EngineLayer& layer : report.layers) all.push_back(&layer);
  std::string text = painted(wrap(answer_of(report, differing.size()), options.width),
                             differing.empty() ? Paint::Bold : Paint::Bad, options.color) +
                     "\n";
  const std::string hash = short_hash(report.sha256);
  text += labelled("File", printable(report.file) + (hash.empty() ? "" : "  (sha256 " + hash + ")"), options.width);
  if (!report.compiled_for.empty()) {
    text += labelled("Engine", engine_of(report), options.width);
    text += labelled(
        "Built", fmt::format("in {:.1f} s, {}", report.seconds, bytes_text(static_cast<std::int64_t>(report.bytes))),
        options.width);
  }
  text += labelled("Kernels", kinds_text(report), options.width);
  if (!differing.empty()) {
    text += heading("Layers that run in another format than the file asks for", options) +
            layers_table(report, differing, options);
  }
  if (!all.empty()) text += heading("Layers", options) + layers_table(report, all, options);
  text += heading("Kernels, in the order in which they run", options) + kernels_table(report, options);
  return text + remarks({report.words.begin(), report.words.end()}, report.notes, options);
}

}  // namespace vernier
