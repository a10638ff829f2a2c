
#include "vernier/data_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "base/parallel.h"
#include "base/text.h"
#include "io/split_run.h"
#include "jobs/data/output_diffs.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/report/data_diff.h"
#include "vernier/runs.h"
#include "vernier/sinks.h"

namespace vernier {
namespace {

constexpr double kHopelessDb = 10;  // an output this bad holds little of its signal

/// A run of one of the two sides.
struct Side {
  std::shared_ptr<const Run> values;
  const std::filesystem::path& file;
  const std::string& wanted;
  const char* option;

  std::string name() const { return values == nullptr ? file.string() : values->name(); }
};

/// The run to compare, and a warning when nobody said which of several it is.
std::shared_ptr<const Run> chosen_run(const Side& side, std::vector<Note>& warnings) {
  if (side.values != nullptr) return side.values;
  const auto& [values, path, wanted, option] = side;
  std::vector<std::unique_ptr<Run>> runs = open_runs(path);
  if (!wanted.empty()) {
    std::vector<std::string> names;
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      names.push_back(runs[i]->name());
      if (names[i] == wanted || std::to_string(i) == wanted) return std::move(runs[i]);
      if (names[i].find(wanted) != std::string::npos) found.push_back(i);
    }
    if (found.size() == 1) return std::move(runs[found.front()]);
    throw Error(ErrorCode::UnknownName,
                fmt::format("{}: {} of {} is called '{}'", option, found.empty() ? "no run" : "more than one run",
                            printable(path.string()), printable(wanted)),
                "it holds, from 0: " + list_some(names, names.size()));
  }
  if (runs.size() > 1) {
    warnings.push_back(
        {"last-run-compared",
         {{"file", path.string()}, {"runs", runs.size()}, {"run", runs.back()->name()}, {"option", option}}});
  }
  return std::move(runs.back());
}

/// What a framework saved in one go is as many iterations as the other side has.
void split_beside(std::shared_ptr<const Run>& run, const Run& other, const Side& side, std::vector<Note>& warnings) {
  if (run->size() != 1 || other.size() < 2) return;
  std::unique_ptr<Run> split = split_run(*run, other.size(), other.at(0));
  if (!split) return;
  run = std::move(split);
  warnings.push_back({"arrays-as-iterations", {{"file", side.name()}, {"iterations", other.size()}}});
}

}  // namespace

DiffReport compare(const DiffOptions& options, const JobSinks& sinks) {
  DiffReport report;
  report.command = options.command;
  const Side references{options.reference_values, options.reference, options.reference_run, "‹reference-run›"};
  const Side tests{options.tested_values, options.tested, options.tested_run, "‹tested-run›"};
  report.reference_file = references.name();
  report.tested_file = tests.name();
  report.metric_chosen = options.metric_chosen;
  report.metric = options.metric;
  report.threshold = options.threshold;
  std::shared_ptr<const Run> reference = chosen_run(references, report.warnings);
  std::shared_ptr<const Run> tested = chosen_run(tests, report.warnings);
  split_beside(reference, *tested, references, report.warnings);
  split_beside(tested, *reference, tests, report.warnings);
  for (const Note& note : report.warnings) sinks.warn(note);
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
    report.passed = !diffs.other_shapes && std::ranges::none_of(report.rows, &DiffRow::beyond);
  }
  report.all_bad = report.rows.size() > 1 && std::all_of(report.rows.begin(), report.rows.end(),
                                                         [](const DiffRow& row) { return row.sqnr_db < kHopelessDb; });
  return report;
}

}  // namespace vernier
