// `vernier inspect model --show formats` and `vernier inspect plan` as text, JSON and CSV.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/layout.h"
#include "base/text.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "vernier/format.h"
#include "vernier/report/scheme.h"
#include "vernier/report/text.h"

namespace vernier {
namespace {

std::string skipped_text(const SchemeReport& report, const TextOptions& options) {
  std::map<std::pair<Format, std::string>, std::vector<std::string>> groups;
  for (const SchemeLayer& layer : report.layers) {
    if (!layer.why_not.empty()) groups[{layer.format, layer.why_not}].push_back(shown(layer.name));
  }
  std::string text;
  for (const auto& [key, names] : groups) {
    text += wrap(fmt::format("{} in {}: {} ({})", plural(names.size(), "layer"), format_name(key.first),
                             shown(key.second), list_some(names, 3)),
                 options.width, "  ");
  }
  return text.empty() ? text : heading("Not in the lowest format", options.color) + text;
}

std::string csv_cell(const std::string& text) {
  std::string cell = shown(text);
  if (cell.find_first_of(",\"\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string report_to_text(const SchemeReport& report, const TextOptions& options) {
  std::string text = labelled("File", shown(report.file), options.width);
  text += labelled("Scheme", shown(report.scheme), options.width);
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
                    plural(*report.stored_constants, "constant") + " stored as codes", plural(*report.casts, "cast"));
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
    layers.row({shown(layer.name), shorten_middle(shown(layer.op_type), 20), std::string(format_name(layer.format)),
                layer.macs > 0 ? count_text(layer.macs) : ""});
  }
  if (!layers.empty()) {
    text +=
        heading("Layers, in the order of the graph", options.color) + layers.text(options.width, options.whole_names);
    if (rows < report.layers.size()) {
      text += fmt::format("  ... and {} (--top 0 shows all)\n", plural(report.layers.size() - rows, "more layer"));
    }
  }
  return text + remarks({}, report.notes, options);
}

std::string report_to_json(const SchemeReport& report) {
  using Json = nlohmann::ordered_json;
  Json formats = Json::array();
  for (const FormatRow& row : report.formats) {
    formats.push_back({{"format", format_name(row.format)},
                       {"layers", row.layers},
                       {"multiply_accumulates", row.macs},
                       {"weight_bytes", row.weight_bytes}});
  }
  Json layers = Json::array();
  for (const SchemeLayer& layer : report.layers) {
    layers.push_back({{"name", layer.name},
                      {"operator", layer.op_type},
                      {"format", format_name(layer.format)},
                      {"multiply_accumulates", layer.macs},
                      {"why_not_lower", layer.why_not}});
  }
  Json json = {{"version", report.version}, {"file", report.file}, {"scheme", report.scheme},
               {"formats", formats},        {"layers", layers},    {"open_dimensions", report.open_dimensions},
               {"notes", report.notes}};
  if (report.casts) {
    json["fused_pairs"] = *report.fused_pairs;
    json["standalone_pairs"] = *report.standalone_pairs;
    json["stored_constants"] = *report.stored_constants;
    json["casts"] = *report.casts;
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string report_to_csv(const SchemeReport& report) {
  std::string text = "layer,operator,format,multiply_accumulates,why_not_lower\n";
  for (const SchemeLayer& layer : report.layers) {
    text += fmt::format("{},{},{},{},{}\n", csv_cell(layer.name), csv_cell(layer.op_type), format_name(layer.format),
                        layer.macs, csv_cell(layer.why_not));
  }
  return text;
}

}  // namespace vernier
