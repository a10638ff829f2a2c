// What continuous integration is told of comparisons and of lint.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <variant>

#include "base/counts.h"
#include "base/runner_name.h"
#include "base/text.h"
#include "options/compare_function.h"
#include "report/text/numbers.h"
#include "report/told.h"
#include "vernier/check_accuracy.h"
#include "vernier/comparison.h"
#include "vernier/marks.h"
#include "vernier/report/data_diff.h"
#include "vernier/report/debug_accuracy.h"
#include "vernier/report/gate.h"
#include "vernier/report/lint.h"
#include "vernier/report/note_text.h"
#include "vernier/report/run.h"

namespace vernier {
namespace {

GateCase::State state_of(bool passed) { return passed ? GateCase::State::Passed : GateCase::State::Failed; }

std::string pair_text(const std::string& run, const std::string& reference) {
  return fmt::format("{} against {}", printable(without_time(run)), printable(without_time(reference)));
}

/// The first function that an output fails; in words.
std::string failure_of(const OutputComparison& output, std::size_t iteration) {
  for (const FunctionResult& result : output.results) {
    if (result.passed) continue;
    const std::string why = result.reason.empty() ? "failed" : told(result.reason);
    return fmt::format("iteration {}: {}: {}", iteration, compare_function_name(result.function), why);
  }
  return fmt::format("iteration {}: failed", iteration);
}

/// Adds to the case of each output, by name: the first failure stays.
void add(Gate& gate, std::map<std::string, std::size_t>& cases, const std::string& pair,
         const IterationComparison& comparison) {
  const auto case_named = [&](const std::string& name) -> GateCase& {
    const auto [at, is_new] = cases.emplace(name, gate.cases.size());
    if (is_new) gate.cases.push_back({name, GateCase::State::Passed, "passed in every iteration", pair});
    return gate.cases[at->second];
  };
  for (const OutputComparison& output : comparison.outputs) {
    GateCase& one = case_named(fmt::format("output '{}', {}", printable(output.output), pair));
    if (output.passed || one.state != GateCase::State::Passed) continue;
    one.state = GateCase::State::Failed;
    one.message = failure_of(output, comparison.iteration);
  }
  if (!comparison.outputs.empty()) return;
  GateCase& one = case_named(pair);
  one.state = GateCase::State::Failed;
  one.message = fmt::format("iteration {}: no output of one run belongs to one of the other", comparison.iteration);
}

/// "3 of 4 passed"
std::string count_text(const Gate& gate, const char* what) {
  const auto passed = std::count_if(gate.cases.begin(), gate.cases.end(),
                                    [](const GateCase& one) { return one.state == GateCase::State::Passed; });
  return fmt::format("{} of {} passed", passed, plural(gate.cases.size(), what));
}

}  // namespace

Gate gate_of_failure(const std::string& suite, const std::string& error) {
  Gate gate;
  gate.suite = suite;
  gate.answer = command_words(error);
  gate.cases = {{"command", GateCase::State::Broken, gate.answer}};
  return gate;
}

Gate gate_of(const DiffReport& report) {
  Gate gate;
  gate.suite = "vernier data diff";
  gate.warnings = note_texts(report.warnings);
  for (const DiffRow& row : report.rows) {
    GateCase one;
    one.name = fmt::format("output '{}'", printable(row.name));
    one.message = fmt::format("{} {:.6g}", word_of(report.metric), row.value(report.metric));
    if (report.threshold) one.message += fmt::format(", threshold {:g}", *report.threshold);
    one.state = report.threshold ? state_of(!row.beyond) : GateCase::State::Skipped;
    gate.cases.push_back(std::move(one));
  }
  for (const std::string& why : report.not_compared) {
    gate.cases.push_back({"not compared", GateCase::State::Skipped, told(why)});
  }
  gate.answer = fmt::format("{} against {}: {}", printable(report.tested_file), printable(report.reference_file),
                            report.threshold ? count_text(gate, "output") : "no threshold was given");
  return gate;
}

Gate gate_of(const DebugAccuracyReport& report) {
  Gate gate;
  gate.suite = "vernier debug accuracy";
  gate.warnings = note_texts(report.warnings);
  for (const AccuracyRow& row : report.layers) {
    const bool starts = row.role == ErrorRole::First || row.role == ErrorRole::Adds;
    const bool output = row.role == ErrorRole::Within;
    if (!starts && !output) continue;  // what a layer inherits is told where it begins
    gate.cases.push_back({fmt::format("tensor '{}' of layer '{}'", printable(row.tensor), printable(row.layer)),
                          state_of(!starts),
                          fmt::format("{} dB, {:g} dB required", db_text(row.sqnr_db), report.min_sqnr_db)});
  }
  gate.answer = fmt::format("{}: {}", printable(report.model_file), count_text(gate, "tensor"));
  return gate;
}

Gate gate_of(const LintReport& report, const std::string& model_file) {
  Gate gate;
  gate.suite = "vernier check lint";
  for (const LintEntry& entry : report.entries) {
    if (!entry.error) {
      gate.warnings.push_back(entry.message);
      continue;
    }
    const std::string nodes = entry.nodes.empty() ? "the model" : list_some(entry.nodes, 3);
    gate.cases.push_back({fmt::format("{}: {}", entry.source, nodes), GateCase::State::Failed, told(entry.message)});
  }
  gate.answer = report.passed ? fmt::format("{}: no error", printable(model_file))
                              : fmt::format("{}: {}", printable(model_file), plural(gate.cases.size(), "error"));
  if (gate.cases.empty()) gate.cases.push_back({"no error", GateCase::State::Passed, gate.answer});
  return gate;
}

Gate gate_of(const CheckAccuracyResult& result) {
  Gate gate;
  gate.suite = "vernier check accuracy";
  std::map<std::string, std::size_t> cases;
  for (const AccuracyRecord::Row& row : result.record.rows()) {
    for (const IterationComparison& iteration : row.iterations) {
      add(gate, cases, pair_text(row.run, row.reference), iteration);
    }
  }
  // With averages single iterations have no say.
  if (result.compare.check_average) {
    gate.cases.clear();
    for (const PairSummary& pair : result.pairs) {
      gate.cases.push_back(
          {pair_text(pair.run, pair.reference), state_of(pair.passed), "averages over all iterations"});
    }
  }
  gate.answer = count_text(gate, result.compare.check_average ? "pair" : "output");
  return gate;
}

void RunGate::operator()(const RunEvent& event) {
  if (const auto* compared = std::get_if<IterationCompared>(&event)) {
    add(gate_, cases_, pair_text(compared->run, compared->reference), *compared->comparison);
  } else if (const auto* found = std::get_if<NonFiniteOutput>(&event)) {
    gate_.cases.push_back(
        {fmt::format("output '{}' of {} is finite", printable(found->output), printable(without_time(found->run))),
         GateCase::State::Failed,
         fmt::format("iteration {}: {} of {} values {} NaN, {} infinite", found->iteration, found->nan, found->count,
                     found->nan == 1 ? "is" : "are", found->infinite)});
  } else if (const auto* done = std::get_if<PairDone>(&event)) {
    if (!done->summary.check_average) return;
    const std::string pair = pair_text(done->summary.run, done->summary.reference);
    std::erase_if(gate_.cases, [&](const GateCase& one) { return one.pair == pair; });
    gate_.cases.push_back({pair, state_of(done->summary.passed), "averages over all iterations"});
  } else if (const auto* ran = std::get_if<NothingCompared>(&event)) {
    gate_.cases.push_back({printable(without_time(ran->run)), GateCase::State::Skipped, "nothing was compared"});
  }
}

Gate RunGate::gate() const {
  Gate gate = gate_;
  gate.suite = "vernier run";
  gate.answer = count_text(gate, "output");
  return gate;
}

}  // namespace vernier
