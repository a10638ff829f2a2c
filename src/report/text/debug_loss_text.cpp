// `vernier debug loss` as text.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/layout.h"
#include "base/quote.h"
#include "base/text.h"
#include "report/text/commands.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "report/told.h"
#include "vernier/format.h"
#include "vernier/report/debug_loss.h"
#include "vernier/report/figures.h"
#include "vernier/report/text.h"

namespace vernier {
namespace {

std::string scales_text(const QuantizerLoss& row) {
  if (row.scales == 1) return fmt::format("{:.4g}", row.smallest_scale);
  return fmt::format("{:.3g}..{:.3g}", row.smallest_scale, row.largest_scale);
}

std::string layout_text(const QuantizerLoss& row) {
  if (row.block > 0) return fmt::format("blocks of {}", row.block);
  return row.scales == 1 ? "tensor" : fmt::format("axis {}", row.axis);
}

/// A sentence; empty where nothing was measured.
std::string figures_line(const DebugLossReport& report) {
  if (report.figures.outputs.empty()) return {};
  std::string text;
  for (const OutputFigure& output : report.figures.outputs) {
    const std::string figure = db_text(output.sqnr_db);
    const bool number = figure.find_first_of("0123456789") != std::string::npos;
    text += fmt::format("{}'{}': {}{}", text.empty() ? "" : ", ", printable(output.name), figure, number ? " dB" : "");
  }
  return (report.figures.outputs.size() > 1 ? " Outputs " : " Output ") + text + ".";
}

bool outputs_are_good(const DebugLossReport& report) {
  constexpr double kGoodDb = 20;
  return std::ranges::all_of(report.figures.outputs,
                             [](const OutputFigure& output) { return output.sqnr_db >= kGoodDb; });
}

/// Of a file without a defect. Where an output is bad: what nothing was measured of.
std::string nothing_found(const DebugLossReport& report) {
  if (report.quantizers.empty()) return "There is no Q/DQ pair to measure";
  if (outputs_are_good(report)) return "No defect found in its Q/DQ pairs";
  const auto unknown =
      std::ranges::count_if(report.quantizers, [](const QuantizerLoss& row) { return !row.not_measured.empty(); });
  std::vector<std::string> gaps;
  if (unknown > 0) gaps.push_back(fmt::format("{} of {} Q/DQ pairs", unknown, report.quantizers.size()));
  if (report.inside_bodies > 0) gaps.push_back(plural(report.inside_bodies, "layer") + " inside bodies");
  return gaps.empty() ? std::string("No single defect explains the loss")
                      : fmt::format("No cause found. Not measured: {}", list_some(gaps));
}

std::string tensor_table(const DebugLossReport& report, const TextOptions& options) {
  Table table;
  table.flexible_column("layer");
  table.flexible_column("operator");
  table.column("runs in", Align::Left);
  table.column("SQNR dB", Align::Right);
  table.column("local dB", Align::Right);
  table.column("propagated dB", Align::Right, "propag.");
  const std::size_t shown_rows =
      options.top == 0 ? report.tensors.size() : std::min(options.top, report.tensors.size());
  for (std::size_t i = 0; i < shown_rows; ++i) {
    const TensorLoss& row = report.tensors[i];
    table.row({printable(row.layer), shorten_middle(printable(row.op_type), 18), std::string(format_title(row.format)),
               db_text(row.sqnr_db), db_text(row.own_sqnr_db), db_text(row.propagated_db)});
  }
  if (table.empty()) return {};
  std::string text =
      heading("Layer outputs, largest error first", options) + table.text(options.width, options.whole_names);
  if (shown_rows < report.tensors.size()) {
    text += fmt::format("  ... and {} (all of them with --top 0)\n",
                        plural(report.tensors.size() - shown_rows, "more layer output"));
  }
  if (!table.shows("local dB", options.width, options.whole_names)) return text;
  return text +
         wrap("local: on exact inputs; propagated: if only its inputs are in error. FP32 layers pass that error on.",
              options.width, "  ");
}

std::string quantizer_table(const DebugLossReport& report, const TextOptions& options) {
  std::vector<const QuantizerLoss*> ranked;
  for (const QuantizerLoss& row : report.quantizers) ranked.push_back(&row);
  std::ranges::stable_sort(ranked, {}, [](const QuantizerLoss* row) {
    return row->sqnr_db.value_or(std::numeric_limits<double>::infinity());
  });
  if (options.top != 0 && ranked.size() > options.top) ranked.resize(options.top);
  Table table;
  table.flexible_column("tensor");
  table.column("format", Align::Left);
  table.column("scale", Align::Right);
  table.column("zero", Align::Right);
  table.column("along", Align::Left);
  table.column("SQNR dB", Align::Right);
  table.stays();
  table.column("clipping", Align::Right);
  table.column("coverage", Align::Right);
  table.column("values used", Align::Right, "used");
  for (const QuantizerLoss* row : ranked) {
    table.row({printable(row->tensor), std::string(format_title(row->format)), scales_text(*row),
               std::to_string(row->zero_point), layout_text(*row), db_text(row->sqnr_db), percent_text(row->clip_share),
               row->coverage ? fmt::format("{:.2f}", *row->coverage) : "-", percent_text(row->used_codes)});
  }
  if (table.empty()) return {};
  std::string text = heading("Q/DQ pairs and stored weights, largest local error first", options) +
                     table.text(options.width, options.whole_names);
  if (ranked.size() < report.quantizers.size()) {
    text += fmt::format("  ... and {} more (all of them with --top 0)\n", report.quantizers.size() - ranked.size());
  }
  // Of the rows that are shown: one line for all of which the same is to be said.
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const QuantizerLoss* row : ranked) {
    if (row->not_measured.empty()) continue;
    const auto same = std::ranges::find(reasons, row->not_measured, [](const auto& reason) { return reason.first; });
    if (same != reasons.end()) {
      same->second.push_back(printable(row->tensor));
    } else {
      reasons.push_back({row->not_measured, {printable(row->tensor)}});
    }
  }
  for (const auto& [reason, tensors] : reasons) {
    text += wrap(fmt::format("{} without SQNR: {}", list_some(tensors, 3), told(reason)), options.width, "  ");
  }
  const auto shows = [&](const char* column) { return table.shows(column, options.width, options.whole_names); };
  std::string legend;
  if (shows("clipping")) legend += "clipping: share of the error from values beyond the range; the rest is rounding. ";
  if (shows("coverage")) legend += "coverage: width of the range over that of the values. ";
  if (shows("values used")) {
    legend +=
        "'values used': share of the quantized values in use, counted for weights, from smallest to largest for "
        "activations. ";
    const bool gaps =
        std::ranges::any_of(ranked, [](const QuantizerLoss* row) { return row->sqnr_db && !row->coverage; });
    if (gaps) legend += "Tensors with several scales have no coverage, FP8 tensors no 'values used'.";
  }
  return legend.empty() ? text : text + wrap(legend, options.width, "  ");
}

/// The command that follows; empty of a file without pairs.
std::string next_step(const DebugLossReport& report, const TextOptions& options) {
  if (report.quantizers.empty()) return {};
  const std::string data = data_options(report.command);
  const std::string samples = data.empty() ? "--data DATA" : printable(data);
  const auto all_in = [&](Format format, Format other) {
    return std::ranges::all_of(report.quantizers,
                               [&](const QuantizerLoss& row) { return row.format == format || row.format == other; });
  };
  const bool float8 = all_in(Format::Float8E4M3FN, Format::Float8E4M3FN);
  const bool bad = !report.defects.empty() || !outputs_are_good(report);
  // The options that say other schemes are not told by the formats of pairs alone.
  const bool both = std::ranges::any_of(report.quantizers, [](const QuantizerLoss& row) { return !row.weight; });
  if (bad && !float8 && !(both && all_in(Format::Int8, Format::UInt8))) return {};
  const std::string advice = bad ? "Repair it, with the ranges and the float layers of this file:"
                                 : "Check it against a limit, for each engine:";
  const std::string command =
      bad ? fmt::format("vernier fix {} --from {} {} {} -o fixed", shell_quote(report.float_file),
                        shell_quote(report.quantized_file), float8 ? "--fp8" : "--int8", samples)
          : fmt::format("vernier verify {} {} {} --min-sqnr 20", shell_quote(report.float_file),
                        shell_quote(report.quantized_file), samples);
  return heading("Next step", options) + wrap(advice, options.width, "  ") + "  $ " + command + "\n";
}

}  // namespace

std::string report_to_text(const DebugLossReport& report, const TextOptions& options) {
  const bool in_pairs =
      std::ranges::any_of(report.defects, [](const FoundDefect& defect) { return defect.kind != "other-operator"; });
  std::string answer = report.defects.empty() ? fmt::format("{}.{}", nothing_found(report), figures_line(report))
                                              : fmt::format("{}{}.{}", plural(report.defects.size(), "defect"),
                                                            in_pairs ? " in the Q/DQ pairs" : "", figures_line(report));
  std::string text =
      painted(wrap(answer, options.width), report.defects.empty() ? Paint::Good : Paint::Bad, options.color) + "\n";
  text += labelled("Reference", printable(report.float_file), options.width);
  text += labelled("Quantized", printable(report.quantized_file), options.width);
  text += labelled("Data", printable(report.data), options.width);
  text += labelled("Runner", "simulated from the casts and quantize/dequantize pairs of the file", options.width);
  text += defects_section(report.defects, options);
  text += tensor_table(report, options) + quantizer_table(report, options);
  if (report.matched_by_structure > 0) {
    text +=
        fmt::format("\n{} matched by structure, since names differ\n", plural(report.matched_by_structure, "layer"));
  }
  if (!report.not_compared.empty()) {
    text += fmt::format("\n{} not compared (all of them with --json)\n", plural(report.not_compared.size(), "layer"));
  }
  return text + remarks(report.warnings, report.notes, options) + next_step(report, options);
}

}  // namespace vernier
