// The stages of `vernier pipeline` as text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "base/layout.h"
#include "base/text.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "report/told.h"
#include "vernier/report/eval.h"
#include "vernier/report/pipeline.h"
#include "vernier/report/text.h"

namespace vernier {
namespace {

std::string short_figure_text(const TaskFigure& figure) {
  if (figure.share && figure.value < 0) return "-";
  return figure.share && std::isfinite(figure.value) ? fmt::format("{:.2f} %", 100 * figure.value)
                                                     : fmt::format("{:.5g}", figure.value);
}

}  // namespace

std::string report_to_text(const PipelineReport& report, const TextOptions& options) {
  std::string text =
      painted(wrap(told(report.answer), options.width), report.lost_at ? Paint::Bad : Paint::Good, options.color) +
      "\n";
  if (!report.data.empty()) text += labelled("Data", printable(report.data), options.width);
  Table table;
  table.flexible_column("stage");
  table.column("is", Align::Left);
  table.column("dB to the stage before", Align::Right, "step dB");
  table.column("dB to the first", Align::Right, "all dB");
  table.column("largest error", Align::Right, "max err");
  const std::vector<TaskFigure> none;
  const std::vector<TaskFigure>& figures = report.stages.empty() ? none : report.stages.front().figures;
  for (std::size_t f = 0; f < std::min<std::size_t>(figures.size(), 2); ++f)
    table.column(figures[f].name, Align::Right);
  table.column("", Align::Left);
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    const StageReport& stage = report.stages[i];
    std::vector<std::string> cells{printable(stage.name),
                                   stage_text(stage) + (stage.engine ? " on " + printable(*stage.engine) : ""),
                                   i == 0 ? "" : db_text(stage.step_db), i == 0 ? "" : db_text(stage.total_db),
                                   stage.max_abs ? fmt::format("{:.3g}", *stage.max_abs) : ""};
    for (std::size_t f = 0; f < std::min<std::size_t>(figures.size(), 2); ++f)
      cells.push_back(short_figure_text(stage.figures[f]));
    cells.emplace_back(report.lost_at == stage.name ? "<- lost here" : "");
    table.row(std::move(cells));
  }
  text += heading(fmt::format("Stages, over {}; a stage is good from {:g} dB, compared with the one before",
                              plural(report.samples, "sample"), report.min_sqnr_db),
                  options) +
          table.text(options.width, options.whole_names);
  for (const StageReport& stage : report.stages) {
    for (const std::string& why : stage.not_compared)
      text += wrap(fmt::format("{}: not compared: {}", printable(stage.name), told(why)), options.width, "  ");
  }
  if (!report.next.empty())
    text += "\n" + labelled("Next", report.next.size() == 1 ? "run this:" : "one of these:", options.width);
  for (const std::string& command : report.next) text += fmt::format("{:14}$ {}\n", "", command);
  return text + remarks(report.warnings, {}, options);
}

}  // namespace vernier
