// The text of `vernier verify`: the answer, the figures, the worst layers, and what was not compared.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/layout.h"
#include "base/quote.h"
#include "base/text.h"
#include "report/text/figures.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "report/told.h"
#include "vernier/report/figures.h"
#include "vernier/report/text.h"
#include "vernier/report/verify.h"
#include "vernier/requirement.h"

namespace vernier {
namespace {

std::string answer_section(const VerifyReport& report, const TextOptions& options) {
  std::string figure = figure_text(deciding_figures(report), report.requirement);
  if (report.engine) {
    figure += fmt::format(" on {} ({} simulated)", printable(report.engine->engine),
                          figure_text(report.figures, report.requirement));
  }
  std::string text;
  Paint paint = Paint::Bold;
  if (is_refused(report)) {
    const auto refused = static_cast<std::size_t>(std::ranges::count_if(report.defects, &FoundDefect::refused));
    text = fmt::format("{}: no, an engine refuses this file: {} of its Q/DQ pairs, listed below.{}",
                       printable(report.typed_file), plural(refused, "defect"),
                       report.figures.outputs.empty() ? "" : " Simulated all the same: " + figure + ".");
    return painted(wrap(text, options.width), Paint::Bad, options.color) + "\n";
  }
  if (const TestRow* test = deciding_test(report)) {
    const bool met = test->verdict == Verdict::Good;
    const std::string there = report.engine_test ? " on " + printable(report.engine->engine) : "";
    text = fmt::format("{}: {} is {}{}{}. {}.", printable(report.typed_file), told(report.objective),
                       met ? "met" : "missed", there,
                       test->interval ? right_text(*test) : fmt::format(" ({:.6g})", test->metric), figure);
    paint = met ? Paint::Good : Paint::Bad;
  } else if (!report.requirement) {
    text = fmt::format("{} against {}.", figure, printable(report.float_file));
    text = printable(report.typed_file) + ": " + text;
  } else {
    const bool met = deciding_figures(report).passed == true;
    const bool doubtful = met && !report.engine && missed_as_measured(report.other_sums);
    const std::string inside = met ? nonfinite_clause(report.figures) : "";
    text = fmt::format("{}: {}, {} is {}{}{}.", printable(report.typed_file), figure,
                       required_text(deciding_figures(report), *report.requirement), met ? "met" : "missed",
                       doubtful ? " with sums in float32" : "", inside);
    paint = !met ? Paint::Bad : doubtful || !inside.empty() ? Paint::Bold : Paint::Good;
  }
  if (report.other_sums && !report.engine) text += " " + other_sums_sentence(*report.other_sums, report.requirement);
  return painted(wrap(text, options.width), paint, options.color) + "\n";
}

std::string header_section(const VerifyReport& report, const TextOptions& options) {
  const auto file = [](const std::string& name, const std::string& sha256) {
    const std::string hash = short_hash(sha256);
    return printable(name) + (hash.empty() ? "" : "  (sha256 " + hash + ")");
  };
  std::string data = printable(report.data);
  if (report.random_data) {
    data += "; random inputs tell whether the model runs, not how accurate it is";
  }
  std::string text = labelled("Reference", file(report.float_file, report.float_sha256), options.width);
  text += labelled("Tested", file(report.typed_file, report.typed_sha256), options.width);
  text += labelled("Data", data, options.width);
  text += labelled("Runner", "simulated from what the file says: its casts and its quantize/dequantize pairs",
                   options.width);
  if (report.engine) {
    text += labelled("Engine",
                     fmt::format("{}{}", printable(report.engine->engine),
                                 report.engine->kernels > 0 ? ": " + plural(report.engine->kernels, "kernel") : ""),
                     options.width);
  }
  if (report.requirement) text += labelled("Requirement", requirement_text(*report.requirement), options.width);
  return text;
}

/// Outputs that no figure judges.
std::string exact_section(const VerifyReport& report, const TextOptions& options) {
  if (report.exact_outputs.empty()) return {};
  std::string text = heading("Outputs that are not judged, compared exactly", options.color);
  for (const ExactOutput& output : report.exact_outputs) {
    text += wrap(fmt::format("'{}' ({}): equal to the float model's in {} of {}", printable(output.name),
                             printable(output.what), output.equal, plural(output.samples, "sample")),
                 options.width, "  - ");
  }
  return text;
}

/// What the layers are ranked by: their own errors where those were measured, else the errors at their outputs.
std::optional<double> LayerRow::*ranked_by(const VerifyReport& report) {
  return is_measured(report.layers, &LayerRow::own_sqnr_db) ? &LayerRow::own_sqnr_db : &LayerRow::propagated_sqnr_db;
}

/// By name: what the engine gives at layers' outputs.
std::map<std::string, double> engine_layers(const VerifyReport& report) {
  std::map<std::string, double> layers;
  if (!report.engine) return layers;
  for (const EngineFigures::Layer& layer : report.engine->layers) layers[layer.name] = layer.sqnr_db;
  return layers;
}

std::string worst_section(const VerifyReport& report, const TextOptions& options) {
  const auto figure = ranked_by(report);
  const bool own = figure == &LayerRow::own_sqnr_db;
  std::vector<const LayerRow*> ranked;
  for (const LayerRow& row : report.layers) {
    // A layer without error is not among the worst, however many there are.
    if (row.*figure && *(row.*figure) != std::numeric_limits<double>::infinity()) ranked.push_back(&row);
  }
  if (ranked.empty()) return {};
  const auto badness = [&](const LayerRow* row) {
    return std::isnan(*(row->*figure)) ? -std::numeric_limits<double>::infinity() : *(row->*figure);
  };
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](const LayerRow* a, const LayerRow* b) { return badness(a) < badness(b); });
  const EventColumns events(report.layers);
  Table table;
  table.column("#", Align::Right);
  table.flexible_column("layer");
  table.flexible_column("operator");
  table.column("format", Align::Left);
  if (own) {
    table.column("own dB", Align::Right);
    table.column("inherited dB", Align::Right, "inher.");
  }
  table.column(own ? "both dB" : "SQNR dB", Align::Right);
  const std::map<std::string, double> on_engine = engine_layers(report);
  if (!on_engine.empty()) table.column("engine dB", Align::Right, "engine");
  events.add_headings(table);
  const std::size_t rows = options.top == 0 ? ranked.size() : std::min(options.top, ranked.size());
  for (std::size_t i = 0; i < rows; ++i) {
    const LayerRow& row = *ranked[i];
    std::vector<std::string> cells{std::to_string(i + 1),
                                   printable(row.name) + (row.graph.empty() ? "" : " in " + printable(row.graph)),
                                   shorten_middle(printable(row.op_type), 18), std::string(format_name(row.format))};
    if (own) {
      cells.push_back(db_text(row.own_sqnr_db));
      cells.push_back(db_text(row.inherited_sqnr_db));
    }
    cells.push_back(db_text(row.propagated_sqnr_db));
    if (!on_engine.empty()) {
      const auto there = on_engine.find(row.name);
      cells.push_back(there == on_engine.end() ? "-" : db_text(there->second));
    }
    events.add_cells(row, cells);
    table.row(std::move(cells));
  }
  std::string text =
      heading(own ? "Layers, largest own error first" : "Layers, largest error at their outputs first", options.color) +
      table.text(options.width, options.whole_names);
  if (rows < ranked.size()) {
    text += fmt::format("  ... and {} (all of them with --json)\n", plural(ranked.size() - rows, "more layer"));
  }
  const char* const legend =
      own ? "own: the layer's error on exact inputs; inherited: the error that arrives with its inputs; both: at its "
            "output. "
          : "SQNR: at the layer's output, its own error and what arrives with its inputs together, simulated. ";
  const char* const engine_legend =
      on_engine.empty()
          ? ""
          : "engine: the same, measured with these tensors as outputs of the engine, which then fuses less. ";
  return text + wrap(fmt::format("{}{}{}", legend, engine_legend, event_legend(report.layers)), options.width, "  ");
}

std::string compared_section(const VerifyReport& report, const TextOptions& options) {
  std::string text = fmt::format("{} compared", plural(report.compared, "layer"));
  if (report.not_compared.empty()) return "\n" + text + "\n";
  text = heading(fmt::format("{}, {} not compared", text, report.not_compared.size()), options.color);
  const std::size_t most = options.top == 0 ? report.not_compared.size() : options.top;
  for (std::size_t i = 0; i < std::min(most, report.not_compared.size()); ++i) {
    text += wrap(told(report.not_compared[i]), options.width, "  - ");
  }
  if (report.not_compared.size() > most) {
    text += fmt::format("  ... and {} more (all of them with --json)\n", report.not_compared.size() - most);
  }
  return text;
}

std::string placement_line(const EnginePlacement& row, const TextOptions& options) {
  std::string text;
  if (!row.refused.empty()) {
    text = "not looked at: " + told(row.refused);
  } else if (row.not_fused == 0) {
    text = fmt::format("can fuse all {}", plural(row.pairs, "pair"));
  } else {
    text = fmt::format("{} it cannot fuse; the first: {}", plural(row.not_fused, "place"), told(row.first));
  }
  return labelled(std::string(word_of(row.target)), text, options.width);
}

/// What engines make of a quantized file, and what to do.
std::string verdict_section(const VerifyReport& report, const TextOptions& options) {
  if (report.placements.empty()) return {};
  std::string text = heading("What engines make of its Q/DQ pairs", options.color);
  for (const EnginePlacement& row : report.placements) text += placement_line(row, options);
  const bool missed = deciding_test(report) != nullptr ? deciding_test(report)->verdict != Verdict::Good
                                                       : deciding_figures(report).passed == false;
  if (report.defects.empty() && !missed) return text;
  text += heading("What to do", options.color);
  text += wrap("Repair it, with the ranges and the float layers of this file:", options.width, "  ");
  std::string limits;
  for (const Limit& limit : report.requirement ? report.requirement->limits : std::vector<Limit>{}) {
    if (limits.empty()) limits = fmt::format(" --{}", word_of(report.requirement->metric));
    limits += " " + shell_quote((limit.output.empty() ? "" : limit.output + ":") + fmt::format("{:.12g}", limit.value));
  }
  text += wrap(fmt::format("$ vernier fix {} --from {} --int8 --data DATA{} -o fixed", shell_quote(report.float_file),
                           shell_quote(report.typed_file), limits),
               options.width, "  ");
  return text;
}

}  // namespace

std::string report_to_text(const VerifyReport& report, const TextOptions& options) {
  std::string text = answer_section(report, options);
  text += header_section(report, options);
  text += defects_section(report.defects, options);
  std::vector<std::pair<std::string, const RunFigures*>> runs{
      {report.engine ? "simulated" : "the tested model", &report.figures}};
  if (report.other_sums) runs.emplace_back(sums_text(report.other_sums->accumulate), &report.other_sums->figures);
  if (report.engine) runs.emplace_back("on the engine", &report.engine->figures);
  const std::string figures = figures_table(runs, options);
  text += verdict_section(report, options);
  if (!figures.empty()) text += heading("Figures against the reference", options.color) + figures;
  text += exact_section(report, options);
  text += worst_section(report, options);
  text += compared_section(report, options);
  text += remarks(report.warnings, report.notes, options);
  const std::string time = labelled("Time", time_text(report.phases), options.width);
  return time.empty() ? text : text + "\n" + time;
}

}  // namespace vernier
