// `vernier debug accuracy` as text: where the error starts, what adds to it, what only passes it on.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/layout.h"
#include "base/text.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "vernier/report/debug_accuracy.h"
#include "vernier/report/text.h"

namespace vernier {
namespace {

constexpr std::array<std::string_view, 5> kRoles{"within", "first", "adds", "inherits", "harmless"};

std::size_t count_of(const DebugAccuracyReport& report, ErrorRole role) {
  return static_cast<std::size_t>(std::count_if(report.layers.begin(), report.layers.end(),
                                                [&](const AccuracyRow& row) { return row.role == role; }));
}

std::string passed_text(const DebugAccuracyReport& report) {
  const std::size_t harmless = count_of(report, ErrorRole::Harmless);
  const std::string compared = plural(report.layers.size(), "layer output") + " compared with the reference";
  if (harmless == 0) return fmt::format("{}: {:g} dB or better everywhere.", compared, report.min_sqnr_db);
  return fmt::format(
      "{0}: {1} at {2:g} dB or better. The other {3} harmless: the layers after {4} are at {2:g} dB or better "
      "again.",
      compared, report.layers.size() - harmless, report.min_sqnr_db,
      harmless == 1 ? "one is" : fmt::format("{} are", harmless), harmless == 1 ? "it" : "them");
}

std::string answer(const DebugAccuracyReport& report, const TextOptions& options) {
  if (report.passed) {
    return painted(wrap(passed_text(report), options.width), Paint::Good, options.color) + "\n";
  }
  const auto first = std::find_if(report.layers.begin(), report.layers.end(),
                                  [](const AccuracyRow& row) { return row.role == ErrorRole::First; });
  std::string text = fmt::format("No layer alone falls below {:g} dB.", report.min_sqnr_db);
  if (first != report.layers.end()) {
    const std::string output = first->not_finite > 0
                                   ? fmt::format("{} at its output", plural(static_cast<std::size_t>(first->not_finite),
                                                                            "infinite or NaN value"))
                                   : db_text(first->sqnr_db) + " dB at its output";
    text = fmt::format("SQNR first drops below {:g} dB at {} ({}): {}.", report.min_sqnr_db, printable(first->layer),
                       printable(first->op_type),
                       first->arriving_db
                           ? fmt::format("from {} dB at its inputs to {}", db_text(first->arriving_db), output)
                           : output + ", its inputs were not compared");
  }
  text += fmt::format(" Below {:g} dB: the error starts in {}, grows in {}, and {} only pass it on.",
                      report.min_sqnr_db, plural(count_of(report, ErrorRole::First), "layer"),
                      count_of(report, ErrorRole::Adds), count_of(report, ErrorRole::Inherits));
  return painted(wrap(text, options.width), Paint::Bad, options.color) + "\n";
}

/// What only inherits is no lead: it is counted in the answer, and listed where all are asked for.
std::vector<const AccuracyRow*> rows_of(const DebugAccuracyReport& report, const TextOptions& options) {
  std::vector<const AccuracyRow*> rows;
  for (const AccuracyRow& row : report.layers) {
    const bool leads = row.role == ErrorRole::First || row.role == ErrorRole::Adds ||
                       (report.passed && row.role == ErrorRole::Harmless);
    if (leads || options.top == 0) rows.push_back(&row);
  }
  return rows;
}

/// Not a number is the worst.
bool worse(const AccuracyRow& a, const AccuracyRow& b) {
  if (std::isnan(a.sqnr_db) || std::isnan(b.sqnr_db)) return std::isnan(a.sqnr_db) && !std::isnan(b.sqnr_db);
  return a.sqnr_db < b.sqnr_db;
}

}  // namespace

std::span<const std::string_view> words_of(ErrorRole /*which*/) { return kRoles; }

std::string report_to_text(const DebugAccuracyReport& report, const TextOptions& options) {
  std::string text = answer(report, options);
  text += labelled("Model", printable(report.model_file), options.width);
  text += labelled("Reference", printable(report.reference_run), options.width);
  text += labelled("Tested", printable(report.tested_run), options.width);
  text += labelled("Data", printable(report.data), options.width);
  Table table;
  table.flexible_column("layer");
  table.flexible_column("operator");
  table.column("SQNR dB", Align::Right);
  table.column("arriving dB", Align::Right);
  table.column("error", Align::Left);
  std::vector<const AccuracyRow*> rows = rows_of(report, options);
  const std::size_t cut = options.top != 0 && rows.size() > options.top ? rows.size() - options.top : 0;
  if (cut > 0) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const AccuracyRow* a, const AccuracyRow* b) { return worse(*a, *b); });
    rows.resize(options.top);
  }
  for (const AccuracyRow* row : rows) {
    table.row({printable(row->layer), shorten_middle(printable(row->op_type), 18), db_text(row->sqnr_db),
               db_text(row->arriving_db), std::string(word_of(row->role))});
  }
  if (!table.empty()) {
    text += heading(fmt::format("Layers{}, {}", options.top == 0 ? "" : " that fall below it or add error",
                                cut > 0 ? "the worst first" : "in the order of the graph"),
                    options) +
            table.text(options.width, options.whole_names);
    if (cut > 0) text += fmt::format("  ... and {} (--top 0 shows all)\n", plural(cut, "more layer"));
    text += wrap(
        "first: its inputs are within the threshold, its output is not. A small local error is enough if the inputs "
        "are close to it. adds: its output is at least 3 dB below its inputs. inherits: it passes the error on. "
        "harmless: it is below the threshold, but its readers are not, as with a mask behind a Softmax. A layer may "
        "also magnify the error of its inputs: vernier diagnose measures each layer on exact inputs.",
        options.width, "  ");
  }
  if (!report.not_compared.empty()) {
    text += fmt::format("\n{} not compared (all of them with --json)\n", plural(report.not_compared.size(), "tensor"));
  }
  return text + remarks(report.warnings, {}, options);
}

}  // namespace vernier
