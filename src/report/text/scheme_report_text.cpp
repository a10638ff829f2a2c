// `vernier inspect model --show formats` and `vernier inspect plan` as text.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/counts.h"
#include "base/layout.h"
#include "base/text.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "report/told.h"
#include "vernier/format.h"
#include "vernier/report/scheme.h"
#include "vernier/report/text.h"

namespace vernier {
namespace {

std::string skipped_text(const SchemeReport& report, const TextOptions& options) {
  std::map<std::pair<Format, std::string>, std::vector<std::string>> groups;
  for (const SchemeLayer& layer : report.layers) {
    if (!layer.why_not.empty()) groups[{layer.format, layer.why_not}].push_back(printable(layer.name));
  }
  std::string text;
  for (const auto& [key, names] : groups) {
    text += wrap(fmt::format("{} in {}: {} ({})", plural(names.size(), "layer"), format_title(key.first),
                             told(key.second), list_some(names, 3)),
                 options.width, "  ");
  }
  return text.empty() ? text : heading("Not in the lowest format", options) + text;
}

}  // namespace

std::string report_to_text(const SchemeReport& report, const TextOptions& options) {
  std::string text = labelled("File", printable(report.file), options.width);
  text += labelled("Scheme", scheme_words(printable(report.scheme)), options.width);
  std::int64_t all_macs = 0;
  for (const FormatRow& row : report.formats) all_macs += row.macs;
  Table table;
  table.column("format", Align::Left);
  table.column("layers", Align::Right);
  table.column("multiply-adds", Align::Right, "MACs");
  table.column("share", Align::Right);
  table.column("weights", Align::Right);
  for (const FormatRow& row : report.formats) {
    const bool counted = all_macs > 0;
    table.row({std::string(format_name(row.format)), std::to_string(row.layers), counted ? count_text(row.macs) : "",
               counted ? percent_text(static_cast<double>(row.macs) / static_cast<double>(all_macs)) : "",
               report.casts ? bytes_text(row.weight_bytes) : ""});
  }
  text += "\n" + table.text(options.width, options.whole_names);
  if (report.casts) {
    text +=
        fmt::format("  {} that a layer can take up, {} on their own, {}, {}\n",
                    plural(*report.fused_pairs, "Q/DQ pair"), *report.standalone_pairs,
                    plural(*report.stored_constants, "constant") + " stored quantized", plural(*report.casts, "cast"));
  }
  if (report.open_dimensions) text += "  Dimensions that are left open count as 1.\n";
  text += skipped_text(report, options);
  Table layers;
  layers.flexible_column("layer");
  layers.column("operator", Align::Left);
  layers.column("format", Align::Left);
  layers.column("multiply-adds", Align::Right, "MACs");
  const std::size_t rows = options.top == 0 ? report.layers.size() : std::min(options.top, report.layers.size());
  for (std::size_t i = 0; i < rows; ++i) {
    const SchemeLayer& layer = report.layers[i];
    layers.row({printable(layer.name), shorten_middle(printable(layer.op_type), 20),
                std::string(format_name(layer.format)), layer.macs > 0 ? count_text(layer.macs) : ""});
  }
  if (!layers.empty()) {
    text += heading("Layers, in the order of the graph", options) + layers.text(options.width, options.whole_names);
    if (rows < report.layers.size()) {
      text += fmt::format("  ... and {} (--top 0 shows all)\n", plural(report.layers.size() - rows, "more layer"));
    }
  }
  return text + remarks({}, report.notes, options);
}

}  // namespace vernier
