#include "vernier/data_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/parallel.h"
#include "core/text.h"
#include "flow/output_diffs.h"

namespace vernier {
namespace {

constexpr double kHopelessDb = 10;  // an output this bad holds little of its signal

/// The run to compare, and a warning when the file holds others.
std::unique_ptr<Run> last_run(const std::filesystem::path& path, std::vector<std::string>& warnings) {
  std::vector<std::unique_ptr<Run>> runs = open_runs(path);
  if (runs.size() > 1) {
    warnings.push_back(fmt::format("{} holds {}: the last one, {}, is compared", printable(path.string()),
                                   plural(runs.size(), "run"), printable(runs.back()->name())));
  }
  return std::move(runs.back());
}

}  // namespace

DiffReport data_diff(const DiffOptions& options, const JobSinks& sinks) {
  DiffReport report;
  report.command = options.command;
  report.reference_file = options.reference.string();
  report.tested_file = options.tested.string();
  report.metric = diff_metric_name(options.metric);
  report.threshold = options.threshold;
  const std::unique_ptr<Run> reference = last_run(options.reference, report.warnings);
  const std::unique_ptr<Run> tested = last_run(options.tested, report.warnings);
  for (const std::string& text : report.warnings) {
    if (sinks.warning) sinks.warning(text);
  }
  report.reference_run = reference->name();
  report.tested_run = tested->name();
  report.iterations = reference->size();
  OutputDiffs diffs = diff_runs(*reference, *tested, printable(report.reference_file), printable(report.tested_file),
                                usable_cores(), sinks);
  report.rows = std::move(diffs.rows);
  report.not_compared = std::move(diffs.not_compared);

  const auto badness = [&](const DiffRow& row) {
    const double value = row.value(options.metric);
    if (row.broken > 0 || std::isnan(value)) return std::numeric_limits<double>::infinity();
    return larger_is_better(options.metric) ? -value : value;
  };
  std::stable_sort(report.rows.begin(), report.rows.end(),
                   [&](const DiffRow& a, const DiffRow& b) { return badness(a) > badness(b); });
  if (options.threshold) {
    const double limit = larger_is_better(options.metric) ? -*options.threshold : *options.threshold;
    for (DiffRow& row : report.rows) row.beyond = badness(row) > limit;
    report.passed = std::none_of(report.rows.begin(), report.rows.end(), [](const DiffRow& row) { return row.beyond; });
  }
  report.all_bad = report.rows.size() > 1 && std::all_of(report.rows.begin(), report.rows.end(),
                                                         [](const DiffRow& row) { return row.sqnr_db < kHopelessDb; });
  return report;
}

}  // namespace vernier
