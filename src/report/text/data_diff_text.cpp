// `vernier data diff` as a table.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "base/counts.h"
#include "base/layout.h"
#include "base/text.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "report/told.h"
#include "vernier/report/data_diff.h"
#include "vernier/report/text.h"

namespace vernier {
namespace {

std::string value_text(DiffMetric metric, double value) {
  if (metric == DiffMetric::Sqnr) return db_text(value);
  if (metric == DiffMetric::Cosine) return cosine_text(value);
  return fmt::format("{:.4g}", value);
}

std::string answer(const DiffReport& report, const TextOptions& options) {
  const DiffMetric metric = report.metric;
  const DiffRow& worst = report.rows.front();
  const bool in_db = metric == DiffMetric::Sqnr;
  std::string text = fmt::format("Worst of {}: {}, {} {}{}", plural(report.rows.size(), "output"),
                                 printable(worst.name), word_of(metric), value_text(metric, worst.value(metric)),
                                 in_db && std::isfinite(worst.sqnr_db) ? " dB" : "");
  Paint paint = Paint::Bold;
  if (report.threshold) {
    const auto beyond =
        std::count_if(report.rows.begin(), report.rows.end(), [](const DiffRow& row) { return row.beyond; });
    text += fmt::format("; {} {} the threshold of {:g}{}{}",
                        beyond == 0   ? "none is"
                        : beyond == 1 ? "1 is"
                                      : fmt::format("{} are", beyond),
                        larger_is_better(metric) ? "below" : "above", *report.threshold, in_db ? " dB" : "",
                        report.metric_chosen ? "" : " (sqnr is the default; --metric max_abs: absolute differences)");
    paint = report.passed == true ? Paint::Good : Paint::Bad;
  }
  return painted(wrap(text + ".", options.width), paint, options.color) + "\n";
}

}  // namespace

std::string report_to_text(const DiffReport& report, const TextOptions& options) {
  const DiffMetric metric = report.metric;
  std::string text = answer(report, options);
  text +=
      labelled("Reference", fmt::format("{}  ({})", printable(report.reference_file), printable(report.reference_run)),
               options.width);
  text += labelled("Tested", fmt::format("{}  ({})", printable(report.tested_file), printable(report.tested_run)),
                   options.width);
  text += labelled("Iterations", std::to_string(report.iterations), options.width);
  if (report.all_bad) {
    text += "\n" + painted(wrap("Every output is bad, even the first ones, which single layers do not cause. Check the "
                                "preprocessing of both runs first, and the calibration data if one is quantized.",
                                options.width),
                           Paint::Warning, options.color);
  }

  Table table;
  table.column("#", Align::Right);
  table.flexible_column("output");
  table.flexible_column("shape");
  table.column(report.threshold ? "beyond" : "", Align::Left);
  for (const DiffMetric column : all_diff_metrics()) {
    const std::string name(word_of(column));
    table.column(column == metric ? name + " *" : name, Align::Right);
  }
  table.column("not finite", Align::Right);
  const std::size_t rows = options.top == 0 ? report.rows.size() : std::min(options.top, report.rows.size());
  for (std::size_t i = 0; i < rows; ++i) {
    const DiffRow& row = report.rows[i];
    std::vector<std::string> cells{std::to_string(i + 1), printable(row.name), shape_text(row.shape),
                                   row.beyond ? "yes" : ""};
    for (const DiffMetric column : all_diff_metrics()) cells.push_back(value_text(column, row.value(column)));
    cells.push_back(row.nonfinite == 0 ? "" : count_text(row.nonfinite));
    table.row(std::move(cells));
  }
  text +=
      heading("Outputs, worst first (by the column with *)", options) + table.text(options.width, options.whole_names);
  if (rows < report.rows.size()) {
    text += fmt::format("  ... and {} (--top 0 shows all)\n", plural(report.rows.size() - rows, "more output"));
  }
  text += wrap(
      "sqnr in dB; cosine, sqnr: larger is better. max_rel leaves out values of the reference below 1e-6 of its "
      "largest. Values that are not finite are counted and left out.",
      options.width, "  ");
  if (!report.not_compared.empty()) {
    text += heading(fmt::format("Not compared: {}", report.not_compared.size()), options);
    const std::size_t most = options.top == 0 ? report.not_compared.size() : options.top;
    for (std::size_t i = 0; i < std::min(most, report.not_compared.size()); ++i) {
      text += wrap(told(report.not_compared[i]), options.width, "  - ");
    }
    if (report.not_compared.size() > most) {
      text += fmt::format("  ... and {} more (--top 0 shows all)\n", report.not_compared.size() - most);
    }
  }
  return text + remarks(report.warnings, {}, options);
}

}  // namespace vernier
