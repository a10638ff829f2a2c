// `vernier debug accuracy` as text: where the error starts, what adds to it, what only passes it on.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

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

std::string answer(const DebugAccuracyReport& report, const TextOptions& options) {
  if (report.passed) {
    const std::size_t harmless = count_of(report, ErrorRole::Harmless);
    std::string text = fmt::format("{} compared with the reference: {:g} dB or better {}.",
                                   plural(report.layers.size(), "layer output"), report.min_sqnr_db,
                                   harmless == 0 ? "everywhere" : "wherever it matters");
    if (harmless > 0) {
      text += fmt::format(" {} below it, and nothing that is made of {} is (harmless).",
                          harmless == 1 ? "One is" : fmt::format("{} are", harmless), harmless == 1 ? "it" : "them");
    }
    return painted(wrap(text, options.width), Paint::Good, options.color) + "\n";
  }
  const auto first = std::find_if(report.layers.begin(), report.layers.end(),
                                  [](const AccuracyRow& row) { return row.role == ErrorRole::First; });
  std::string text = fmt::format("No layer alone falls below {:g} dB.", report.min_sqnr_db);
  if (first != report.layers.end()) {
    text = fmt::format("{:g} dB are first missed at {} ({}): {} dB at its output, {}.", report.min_sqnr_db,
                       printable(first->layer), printable(first->op_type), db_text(first->sqnr_db),
                       first->arriving_db ? fmt::format("{} dB arrive", db_text(first->arriving_db))
                                          : "of inputs that were not compared");
  }
  text += fmt::format(" Below {:g} dB: {} whose inputs are not, {} that add to the error, {} that only inherit it.",
                      report.min_sqnr_db, count_of(report, ErrorRole::First), count_of(report, ErrorRole::Adds),
                      count_of(report, ErrorRole::Inherits));
  return painted(wrap(text, options.width), Paint::Bad, options.color) + "\n";
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
  std::size_t beyond = 0;
  for (const AccuracyRow& row : report.layers) {
    // What only inherits is no lead: it is counted above, and listed where all are asked for.
    const bool leads = row.role == ErrorRole::First || row.role == ErrorRole::Adds ||
                       (report.passed && row.role == ErrorRole::Harmless);
    if (options.top != 0 && (!leads || beyond >= options.top)) continue;
    beyond += leads ? 1 : 0;
    table.row({printable(row.layer), shorten_middle(printable(row.op_type), 18), db_text(row.sqnr_db),
               db_text(row.arriving_db), std::string(word_of(row.role))});
  }
  if (!table.empty()) {
    text += heading(options.top == 0 ? "Layers, in the order of the graph"
                                     : "Layers that fall below it or add error, in the order of the graph",
                    options.color) +
            table.text(options.width, options.whole_names);
    const std::size_t leads = count_of(report, ErrorRole::First) + count_of(report, ErrorRole::Adds) +
                              (report.passed ? count_of(report, ErrorRole::Harmless) : 0);
    if (options.top != 0 && leads > beyond) {
      text += fmt::format("  ... and {} (--top 0 shows all)\n", plural(leads - beyond, "more layer"));
    }
    text += wrap(
        "first: what arrives is within the threshold, what leaves is not; a small own error is enough where little is "
        "missing. adds: leaves 3 dB or more below what "
        "arrives. harmless: below it, and all that is made of it is not, as with a mask behind a Softmax. A layer may "
        "also magnify what it inherits: vernier diagnose measures each layer on exact "
        "inputs.",
        options.width, "  ");
  }
  if (!report.not_compared.empty()) {
    text += fmt::format("\n{} not compared (all of them with --json)\n", plural(report.not_compared.size(), "tensor"));
  }
  return text + remarks(report.warnings, {}, options);
}

}  // namespace vernier
