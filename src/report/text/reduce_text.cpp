#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/layout.h"
#include "base/text.h"
#include "report/told.h"
#include "vernier/report/reduce.h"
#include "vernier/report/text.h"

namespace vernier {

std::string report_to_text(const ReduceReport& report, const TextOptions& options) {
  if (!report.not_judged.empty()) {
    return fmt::format("The check has no verdict on the whole model, so no file was written: {}\nCheck: {}\n",
                       told(report.not_judged), report.check);
  }
  if (!report.reproduced) {
    return fmt::format("Nothing to reduce: the whole model passes this check. {}{}\nCheck: {}\n",
                       report.output.empty() ? "The result is" : report.output + " is",
                       fmt::format(" the whole model, {}.", plural(report.nodes_before, "node")), report.check);
  }
  std::string claim;
  if (report.minimal && report.nodes_after > 1) claim = "; each of them is needed for the failure";
  if (report.minimal && report.unjudged > 0) {
    claim += fmt::format(" ({} of them tried; without {} the model is empty)", report.nodes_after - report.unjudged,
                         plural(report.unjudged, "node"));
  }
  if (!report.unstable.empty()) claim = "; not proven: the check is unstable";
  std::string text =
      painted(fmt::format("{}: {}, {} of {}{}\n",
                          report.unstable.empty() ? "Minimum bad model" : "Smallest model that was bad once",
                          report.output.empty() ? "not written" : report.output, report.nodes_after,
                          plural(report.nodes_before, "node"), claim),
              Paint::Bold, options.color);
  if (!report.unstable.empty()) {
    text += fmt::format(
        "Asked again, the check changed its answer for {}. A check that answers at random proves nothing.\n",
        report.unstable);
  }
  if (report.repeated > 0 && report.unstable.empty()) {
    text += fmt::format("The decisive checks ran again, {}, with the same answers.\n", plural(report.repeated, "time"));
  }
  constexpr std::size_t kMost = 20;
  for (std::size_t i = 0; i < std::min(report.nodes.size(), kMost); ++i) {
    text += fmt::format("  {}\n", printable(report.nodes[i]));
  }
  if (report.nodes.size() > kMost) text += fmt::format("  and {} more\n", report.nodes.size() - kMost);
  const auto names = [](const std::vector<std::string>& list) {
    std::vector<std::string> safe;
    for (const std::string& name : list) safe.push_back(printable(name));
    return list_some(safe, 6);
  };
  text += fmt::format("inputs: {}\n", report.inputs.empty() ? "none" : names(report.inputs));
  text += fmt::format("outputs: {}\n", names(report.outputs));
  if (!report.frozen.empty()) text += fmt::format("frozen to constants: {}\n", names(report.frozen));
  for (const std::string& note : report.shrunk) text += fmt::format("shrunk: {}\n", note);
  if (!report.inputs_file.empty()) {
    text += fmt::format("its inputs on {}: {}; its outputs: {}\n", plural(report.samples, "sample"), report.inputs_file,
                        report.outputs_file);
  }
  if (!report.min_good.empty()) {
    text += fmt::format("Minimum good model: {}, {}\n", report.min_good, plural(report.nodes_good, "node"));
  }
  if (report.sqnr_db) text += fmt::format("worst output: {:.2f} dB\n", *report.sqnr_db);
  text += fmt::format("{} in {:.1f} s: {}\n", plural(report.checks, "check"), report.seconds, report.check);
  if (!report.minimal && report.unstable.empty() && report.nodes_after > 1)
    text += "It may still hold unneeded nodes: --mode ddmin drops nodes until each one is needed.\n";
  return text;
}

}  // namespace vernier
