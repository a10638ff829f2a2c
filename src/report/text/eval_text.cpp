// The figures of `vernier eval` as text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "base/layout.h"
#include "base/text.h"
#include "report/text/sections.h"
#include "vernier/report/eval.h"
#include "vernier/report/text.h"

namespace vernier {
namespace {

/// Shares with two digits behind the point, cut off: 99.996 % is not 100 %.
std::string figure_text(const TaskFigure& figure) {
  if (figure.share && figure.value < 0) return "-";  // nothing to measure
  if (!figure.share || !std::isfinite(figure.value)) return fmt::format("{:.6g}", figure.value);
  return fmt::format("{:.2f} %", std::floor(figure.value * 1e4 + 1e-9) / 100);
}

std::string difference_text(const TaskFigure& got, const TaskFigure& other) {
  if (!std::isfinite(got.value) || !std::isfinite(other.value) || (got.share && (got.value < 0 || other.value < 0)))
    return "";
  const double difference = got.value - other.value;
  return got.share ? fmt::format("{:+.2f}", 100 * difference) : fmt::format("{:+.4g}", difference);
}

}  // namespace

std::string report_to_text(const EvalReport& report, const TextOptions& options) {
  const bool two = report.models.size() == 2;
  std::string text;
  if (!report.missed.empty()) {
    for (const std::string& why : report.missed)
      text += painted(wrap("Missed: " + why + ".", options.width), Paint::Bad, options.color);
  } else if (report.required) {
    text += painted("Met.\n", Paint::Good, options.color);
  }
  if (report.required) text += "\n";
  text += labelled("Model", printable(report.models.front().file), options.width);
  if (two) text += labelled("Against", printable(report.models.back().file), options.width);
  text += labelled("Task", report.task, options.width);
  text += labelled("Data", printable(report.data), options.width);
  text += labelled("Labels", printable(report.labels), options.width);
  text += labelled("Runner",
                   report.models.front().runner == "sim" ? "sim: FP32 kernels, rounded as in the model"
                                                         : "onnxrt: ONNX Runtime's own kernels",
                   options.width);
  Table table;
  table.column("figure", Align::Left);
  table.column(two ? "model" : "value", Align::Right);
  if (two) {
    table.column("against", Align::Right);
    table.column("difference", Align::Right);
  }
  const std::vector<TaskFigure>& figures = report.models.front().figures;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    std::vector<std::string> cells{figures[i].name + (figures[i].higher_is_better ? "" : " (less is better)"),
                                   figure_text(figures[i])};
    if (two) {
      const TaskFigure& other = report.models.back().figures[i];
      cells.push_back(figure_text(other));
      cells.push_back(difference_text(figures[i], other));
    }
    table.row(std::move(cells));
  }
  text += heading(fmt::format("Figures of {}", plural(report.samples, "sample")), options) +
          table.text(options.width, options.whole_names);
  if (report.max_abs_error) {
    text +=
        wrap(fmt::format("largest difference of any output value: {:.4g}", *report.max_abs_error), options.width, "  ");
  }
  if (report.preset && (!report.required || !report.missed.empty())) {
    text += wrap(fmt::format("A usual starting point is a largest error of {} for {} (--max-abs-error of diagnose). It "
                             "is a suggestion: the figures above decide.",
                             *report.preset, report.task),
                 options.width, "  ");
  }
  return text + remarks(report.warnings, {}, options);
}

}  // namespace vernier
