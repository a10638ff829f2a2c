// What `vernier check data` found, as text.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/layout.h"
#include "base/text.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "report/told.h"
#include "vernier/report/check_data.h"
#include "vernier/report/text.h"

namespace vernier {
namespace {

std::string list_numbers(const std::vector<double>& values) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(values.size(), 4); ++i)
    text += (i > 0 ? ", " : "") + fmt::format("{:.4g}", values[i]);
  return values.size() > 4 ? text + ", .." : text;
}

}  // namespace

std::string report_to_text(const CheckDataReport& report, const TextOptions& options) {
  const bool bad = report.better || report.unlike_training;
  std::string text =
      painted(wrap(told(report.answer), options.width),
              bad                                                                                ? Paint::Bad
              : report.decided_by.empty() || report.decided_by == "confidence" || report.perhaps ? Paint::Bold
                                                                                                 : Paint::Good,
              options.color) +
      "\n";
  if (!report.outputs.answer.empty()) {
    text += painted(wrap(told(report.outputs.answer), options.width), report.outputs.better ? Paint::Bad : Paint::Bold,
                    options.color) +
            "\n";
  }
  text += labelled("Model", printable(report.file), options.width);
  text += labelled("Data", printable(report.data), options.width);
  Table inputs;
  inputs.flexible_column("input");
  inputs.column("shape", Align::Left);
  inputs.column("smallest", Align::Right);
  inputs.column("largest", Align::Right);
  inputs.column("mean", Align::Left);
  inputs.column("deviation", Align::Left);
  for (const SeenInput& input : report.inputs) {
    inputs.row({printable(input.name), input.shape, fmt::format("{:.4g}", input.min), fmt::format("{:.4g}", input.max),
                list_numbers(input.mean), list_numbers(input.deviation)});
  }
  if (!inputs.empty()) text += heading("Inputs", options) + inputs.text(options.width, options.whole_names);
  Table readings;
  readings.flexible_column("inputs");
  readings.column("right", Align::Right);
  readings.column("misfit", Align::Right);
  readings.column("confidence", Align::Right);
  for (const InputReading& reading : report.readings) {
    readings.row({reading.change.empty() ? "as given" : reading.change,
                  reading.accuracy ? percent_text(reading.accuracy) : "",
                  reading.misfit ? fmt::format("{:.3g}", *reading.misfit) : "",
                  reading.confidence ? percent_text(reading.confidence) : ""});
  }
  if (!report.decided_by.empty()) {
    text += heading("Readings of the inputs, compared by " + report.decided_by, options) +
            readings.text(options.width, options.whole_names);
  }
  Table outputs;
  outputs.flexible_column("outputs and labels");
  outputs.column(report.outputs.figure, Align::Right);
  outputs.flexible_column("option");
  for (const OutputReading& reading : report.outputs.readings) {
    outputs.row(
        {reading.change.empty() ? "as given" : reading.change, percent_text(reading.value), told(reading.do_this)});
  }
  if (!outputs.empty()) {
    text += heading("Readings of the outputs, compared by " + report.outputs.figure, options) +
            outputs.text(options.width, options.whole_names);
  }
  Table norms;
  norms.flexible_column("BatchNormalization");
  norms.column("shift", Align::Right);
  norms.column("spread", Align::Right);
  norms.column("misfit", Align::Right);
  for (const SeenNorm& norm : report.norms) {
    norms.row({printable(norm.node), fmt::format("{:.2f}", norm.shift), fmt::format("{:.2f}x", norm.ratio),
               fmt::format("{:.3g}", norm.misfit)});
  }
  if (!norms.empty()) {
    text += heading("Statistics stored in the file by training, compared with the inputs as given", options) +
            norms.text(options.width, options.whole_names);
    text += wrap(
        "shift: of the mean, in trained deviations; spread: of the deviation; misfit: divergence of the two in nats "
        "per channel, 0 if they agree",
        options.width, "  ");
  }
  if (report.better && !report.undecided) {
    for (const InputReading& reading : report.readings) {
      if (reading.change == *report.better && !reading.do_this.empty())
        text += "\n" + labelled("Next",
                                "For images that Vernier reads: " + told(reading.do_this) +
                                    ". Apply it to arrays before you save them.",
                                options.width);
    }
  }
  return text + remarks(report.warnings, {}, options);
}

}  // namespace vernier
