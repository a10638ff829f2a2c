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
#include "base/text.h"
#include "report/text/engine_section.h"
#include "report/text/figures.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "report/text/verify_answer.h"
#include "report/told.h"
#include "vernier/format.h"
#include "vernier/report/figures.h"
#include "vernier/report/outcome.h"
#include "vernier/report/text.h"
#include "vernier/report/verify.h"
#include "vernier/requirement.h"

namespace vernier {
namespace {

std::string answer_section(const VerifyReport& report, const TextOptions& options) {
  const Outcome outcome = outcome_of(report);
  const bool bad = outcome == Outcome::Refused || outcome == Outcome::Missed;
  const Paint paint = bad ? Paint::Bad : plainly_met(report) ? Paint::Good : Paint::Bold;
  return painted(wrap(answer_of(report).sentence, options.width), paint, options.color) + "\n";
}

std::string header_section(const VerifyReport& report, const TextOptions& options) {
  const auto file = [](const std::string& name, const std::string& sha256) {
    const std::string hash = short_hash(sha256);
    return printable(name) + (hash.empty() ? "" : "  (sha256 " + hash + ")");
  };
  std::string data = printable(report.data);
  if (report.random_data) {
    data += "; random inputs show whether the model runs, not how accurate it is";
  }
  std::string text = labelled("Reference", file(report.float_file, report.float_sha256), options.width);
  text += labelled("Tested", file(report.typed_file, report.typed_sha256), options.width);
  text += labelled("Data", data, options.width);
  text += labelled("Runner", "simulated from the casts and quantize/dequantize pairs of the file", options.width);
  if (report.engine) {
    text += labelled("Engine",
                     fmt::format("{}{}", printable(report.engine->engine),
                                 report.engine->kernels > 0 ? ": " + plural(report.engine->kernels, "kernel") : ""),
                     options.width);
  }
  text += labelled("ONNX Runtime", report.on_gpu ? printable(report.onnxruntime_version) : "", options.width);
  if (report.requirement) text += labelled("Requirement", requirement_text(*report.requirement), options.width);
  return text;
}

/// Outputs that no figure judges.
std::string exact_section(const VerifyReport& report, const TextOptions& options) {
  if (report.exact_outputs.empty()) return {};
  std::string text = heading("Outputs outside the requirement, compared exactly", options);
  for (const ExactOutput& output : report.exact_outputs) {
    text += wrap(fmt::format("'{}' ({}): equal to the float model in {} of {}", printable(output.name),
                             printable(output.what), output.equal, plural(output.samples, "sample")),
                 options.width, "  - ");
  }
  return text;
}

/// What the layers are ranked by: their own errors where those were measured, else the errors at their outputs.
std::optional<double> LayerRow::*ranked_by(const VerifyReport& report) {
  return is_measured(report.layers, &LayerRow::own_sqnr_db) ? &LayerRow::own_sqnr_db : &LayerRow::sqnr_db;
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
  table.column("runs in", Align::Left);
  if (own) {
    table.column("local dB", Align::Right, "local");
    table.column("propagated dB", Align::Right, "propag.");
  }
  table.column(own ? "both dB" : "SQNR dB", Align::Right);
  const std::map<std::string, double> on_engine = engine_layers(report);
  if (!on_engine.empty()) table.column("engine dB", Align::Right, "engine");
  events.add_headings(table);
  const std::size_t rows = options.top == 0 ? ranked.size() : std::min(options.top, ranked.size());
  for (std::size_t i = 0; i < rows; ++i) {
    const LayerRow& row = *ranked[i];
    const std::string stored =
        row.stored_times ? fmt::format(", stored times 2^{:g}", std::log2(*row.stored_times)) : std::string();
    std::vector<std::string> cells{
        std::to_string(i + 1), printable(row.name) + (row.graph.empty() ? "" : " in " + printable(row.graph)) + stored,
        shorten_middle(printable(row.op_type), 18), std::string(format_title(row.format))};
    if (own) {
      cells.push_back(db_text(row.own_sqnr_db));
      cells.push_back(db_text(row.propagated_db));
    }
    cells.push_back(db_text(row.sqnr_db));
    if (!on_engine.empty()) {
      const auto there = on_engine.find(row.name);
      cells.push_back(there == on_engine.end() ? "-" : db_text(there->second));
    }
    events.add_cells(row, cells);
    table.row(std::move(cells));
  }
  std::string text =
      heading(own ? "Layers, largest local error first" : "Layers, largest error at their outputs first", options) +
      table.text(options.width, options.whole_names);
  if (rows < ranked.size()) {
    text += fmt::format("  ... and {} (--top 0 shows all)\n", plural(ranked.size() - rows, "more layer"));
  }
  const std::string legend =
      own ? fmt::format("{}; {}; both", kLocalLegend, kPropagatedLegend) + ": SQNR of its output with both errors. "
          : "SQNR: at the layer's output, from its local error and the error of its inputs, simulated. ";
  const bool in_float = std::any_of(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(rows),
                                    [](const LayerRow* row) { return row->format == Format::Float32; });
  const bool scaled = std::ranges::any_of(ranked, [](const LayerRow* row) { return row->stored_times.has_value(); });
  const char* const scale_legend =
      scaled ? "stored times 2^k: the file holds the result at that size and undoes it later; SQNR is without it. "
             : "";
  const char* const float_legend = !own && in_float ? "Layers in FP32 pass on the error of their inputs. " : "";
  const char* const engine_legend =
      on_engine.empty() ? "" : "engine: the same on the engine, with these tensors as outputs, so that it fuses less. ";
  return text +
         wrap(fmt::format("{}{}{}{}{}", legend, scale_legend, float_legend, engine_legend, event_legend(report.layers)),
              options.width, "  ");
}

std::string compared_section(const VerifyReport& report, const TextOptions& options) {
  const auto exact = std::ranges::count_if(
      report.layers, [](const LayerRow& row) { return row.sqnr_db == std::numeric_limits<double>::infinity(); });
  std::string text = fmt::format("{} compared", plural(report.compared, "layer"));
  if (exact > 0) text += fmt::format(" ({} without error)", exact);
  if (report.not_compared.empty()) return "\n" + text + "\n";
  text = heading(fmt::format("{}, {} not compared", text, report.not_compared.size()), options);
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;  // one line for all of the same
  for (const Note& one : report.not_compared) {
    const std::string why = one.code.empty() ? one.text : one.text_of("why");  // files of earlier versions have no code
    const auto same = std::ranges::find(reasons, why, [](const auto& reason) { return reason.first; });
    auto& names = same == reasons.end() ? reasons.emplace_back(why, std::vector<std::string>()).second : same->second;
    if (!one.code.empty()) names.push_back(one.text_of("layer"));
  }
  const std::size_t most = options.top == 0 ? reasons.size() : options.top;
  for (std::size_t i = 0; i < std::min(most, reasons.size()); ++i) {
    const auto& [why, names] = reasons[i];
    const std::string which =
        options.top == 0 || names.empty() ? fmt::format("{}", fmt::join(names, ", ")) : list_some(names, 3);
    text += wrap(told(which.empty() ? why : fmt::format("{}: {}", which, why)), options.width, "  - ");
  }
  if (reasons.size() > most)
    text += fmt::format("  ... and {} more reasons (--top 0 shows all)\n", reasons.size() - most);
  return text;
}

/// What engines make of a quantized file, and what to do.
std::string verdict_section(const VerifyReport& report, const TextOptions& options) {
  std::string text;
  if (!report.placements.empty()) text += heading("How engines handle its Q/DQ pairs", options);
  for (const EnginePlacement& row : report.placements) {
    text += labelled(std::string(word_of(row.target)), placement_text(row), options.width);
  }
  if (!report.placements.empty()) text += wrap(placement_evidence(report), options.width, "  ");
  if (report.compiled) {
    text += engine_section(*report.compiled, options);
    text += remarks({report.compiled->words.begin(), report.compiled->words.end()}, report.compiled->notes, options);
  }
  const Answer answer = answer_of(report);
  if (answer.steps.empty()) return text;
  text += heading("Next steps", options);
  for (const NextStep& step : answer.steps) {
    text += wrap(step.advice, options.width, "  ");
    if (!step.command.empty()) text += "  $ " + step.command + "\n";
  }
  return text;
}

}  // namespace

std::string report_to_text(const VerifyReport& report, const TextOptions& options) {
  std::string text = answer_section(report, options);
  text += header_section(report, options);
  const bool some = report.examined > 0 && report.examined < report.samples;
  text += defects_section(
      report.defects, options,
      some ? fmt::format(", examined on {} of the {}", report.examined, plural(report.samples, "sample")) : "");
  std::vector<std::pair<std::string, const RunFigures*>> runs{
      {report.engine ? "simulated" : "the tested model", &report.figures}};
  if (report.other_sums) runs.emplace_back(sums_text(report.other_sums->accumulate), &report.other_sums->figures);
  if (report.engine) runs.emplace_back("on the engine", &report.engine->figures);
  const std::string figures = figures_table(runs, options);
  text += verdict_section(report, options);
  if (!figures.empty()) text += heading("Figures, compared with the reference", options) + figures;
  text += exact_section(report, options);
  text += worst_section(report, options);
  text += compared_section(report, options);
  text += remarks(report.warnings, report.notes, options);
  const std::string time = labelled("Time", time_text(report.phases, options.verbose), options.width);
  return time.empty() ? text : text + "\n" + time;
}

}  // namespace vernier
