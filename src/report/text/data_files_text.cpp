// What is in files of saved data, in the layout that users of the peer know; and what was joined of them.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/text.h"
#include "report/text/stats_text.h"
#include "vernier/report/data_files.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr std::size_t kStep = 4;

std::string indented(const std::string& text, std::size_t indent) {
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    made += std::string(indent, ' ') + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return made;
}

std::string array_lines(const InspectedArray& array, std::size_t indent) {
  std::string text = fmt::format("{:{}}{} [dtype={}, shape={}] | Stats: {}\n", "", indent,
                                 array.name.empty() ? "(the only input)" : printable(array.name),
                                 dtype_name(array.dtype), tuple_text(array.shape),
                                 stats_to_text(array.stats, array.shape, /*percentiles=*/array.dtype != Dtype::Bool));
  if (array.histogram) text += indented(histogram_to_text(*array.histogram), indent + kStep);
  if (array.values) text += indented(*array.values, indent + kStep);
  return text;
}

std::string run_lines(const InspectedRun& run, bool all) {
  if (run.iterations == 0) return "\nno iterations\n";
  const bool several = all && run.iterations > 1;
  std::string text;
  for (std::size_t i = 0; i < run.shown.size(); ++i) {
    text += several ? fmt::format("\n-- Iteration: {}\n", i) : "\n";
    if (run.shown[i].empty()) text += "no arrays\n";
    for (const InspectedArray& array : run.shown[i]) text += array_lines(array, several ? kStep : 0);
  }
  return text;
}

}  // namespace

std::string report_to_text(const DataInspection& report) {
  if (report.kind != DataInspection::Kind::Results) {
    const InspectedRun& run = report.runs.front();
    const std::string head = report.kind == DataInspection::Kind::Inputs
                                 ? fmt::format("==== Data ({} iterations) ====\n", run.iterations)
                                 : std::string("==== Arrays ====\n");
    return head + run_lines(run, report.all);
  }
  std::string text = fmt::format("==== Run Results ({} runners) ====\n", report.runs.size());
  std::size_t width = 0;
  for (const InspectedRun& run : report.runs) width = std::max(width, printable(run.name).size());
  for (const InspectedRun& run : report.runs) {
    text += fmt::format("\n---- {:<{}} ({} iterations) ----\n", printable(run.name), width, run.iterations);
    text += run_lines(run, report.all);
  }
  return text;
}

std::string merged_to_text(const JoinedData& result) {
  return fmt::format("{}: {}{}\n", printable(result.file.string()), plural(result.iterations, "sample"),
                     result.names.empty() ? "" : " of " + list_some(result.names, 8));
}

std::string joined_to_text(const JoinedData& result) {
  const std::string file = printable(result.file.string());
  if (result.names.empty()) return fmt::format("{}: {} of inputs\n", file, plural(result.iterations, "sample"));
  return fmt::format("{}: {} of {}: {}\n", file, plural(result.iterations, "iteration"),
                     plural(result.names.size(), "run"), list_some(result.names, 8));
}

}  // namespace vernier
