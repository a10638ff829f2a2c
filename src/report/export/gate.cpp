// What continuous integration is told: JUnit's XML, GitHub's workflow commands, and a summary in Markdown.
#include "vernier/report/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>

#include "base/quote.h"
#include "base/text.h"
#include "report/html/page.h"
#include "report/text/diagnose_answer.h"
#include "report/text/diagnosis_words.h"
#include "report/text/figures.h"
#include "report/text/numbers.h"
#include "report/text/verify_answer.h"
#include "report/told.h"
#include "vernier/report/defects.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/diff.h"
#include "vernier/report/figures.h"
#include "vernier/report/note_text.h"
#include "vernier/report/outcome.h"
#include "vernier/report/pipeline.h"
#include "vernier/report/verify.h"
#include "vernier/requirement.h"

namespace vernier {
namespace {

double seconds_of(const std::vector<PhaseTime>& phases) {
  double seconds = 0;
  for (const PhaseTime& phase : phases) seconds += phase.seconds;
  return seconds;
}

bool holds(Metric metric, double value, double limit) {
  const bool less_is_better = metric == Metric::MaxAbsError || metric == Metric::MaxMse;
  return less_is_better ? value <= limit : value >= limit;
}

/// The verdict of labels or of a script, which look at all outputs together.
GateCase case_of(const std::string& objective, bool met, const std::string& answer) {
  return {told(objective), met ? GateCase::State::Passed : GateCase::State::Failed, answer};
}

/// `objective`: what decides in the place of a requirement; empty: nothing does.
std::vector<GateCase> cases_of(const RunFigures& run, const std::optional<Requirement>& requirement,
                               const std::string& objective) {
  std::vector<GateCase> cases;
  for (const OutputFigure& output : run.outputs) {
    GateCase made;
    made.name = fmt::format("output '{}'", printable(output.name));
    std::optional<double> limit;
    if (requirement) limit = requirement->limit_for(output.name);
    const std::optional<double> value = metric_value(requirement ? requirement->metric : Metric::MinSqnrDb, output);
    if (!limit || !value) {
      made.state = GateCase::State::Skipped;
      made.message =
          requirement ? "no limit is set for it"
                      : fmt::format("{} dB; {}", db_text(output.sqnr_db),
                                    objective.empty() ? "no requirement was given" : "decided by: " + told(objective));
    } else {
      const bool good = holds(requirement->metric, value.value_or(0), limit.value_or(0));
      made.state = good ? GateCase::State::Passed : GateCase::State::Failed;
      made.message = fmt::format("{}, {} required", metric_text(requirement->metric, *value, *limit),
                                 limit_text(requirement->metric, *limit));
    }
    cases.push_back(std::move(made));
  }
  return cases;
}

/// Without characters that XML 1.0 cannot hold.
std::string xml_text(std::string_view text) {
  std::string kept;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') kept += c;
  }
  return html_text(kept);
}

bool is_failure(GateCase::State state) { return state == GateCase::State::Failed || state == GateCase::State::Broken; }

/// Names that occur more than once are numbered: servers keep one result of a name.
std::vector<std::string> unique_names(const std::vector<GateCase>& cases) {
  std::map<std::string, int> seen;
  std::vector<std::string> names;
  for (const GateCase& one : cases) {
    const int count = ++seen[one.name];
    names.push_back(count == 1 ? one.name : fmt::format("{} ({})", one.name, count));
  }
  return names;
}

std::string github_data(std::string_view text, bool property) {
  std::string safe;
  for (const char c : text) {
    if (c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','))) {
      safe += fmt::format("%{:02X}", static_cast<unsigned>(c));
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string github_line(const char* kind, const std::string& title, const std::string& text) {
  return fmt::format("::{} title={}::{}\n", kind, github_data(title, /*property=*/true), github_data(text, false));
}

}  // namespace

bool Gate::passed() const {
  return std::none_of(cases.begin(), cases.end(), [](const GateCase& one) { return is_failure(one.state); });
}

Gate gate_of(const DiagnoseReport& report) {
  Gate gate;
  gate.suite = program_of(report);
  gate.answer = answer_of(report).sentence;
  gate.seconds = seconds_of(report.phases);
  gate.warnings = note_texts(report.warnings);
  const std::string objective = report.kept ? report.kept->objective : std::string();
  const Outcome outcome = outcome_of(report);
  if (outcome == Outcome::Refused) {
    gate.cases = {case_of("the output model runs", /*met=*/false, gate.answer)};
    return gate;
  }
  if (outcome == Outcome::NotVerified || outcome == Outcome::NoFloatModel) {
    gate.cases = {
        case_of(report.requirement ? requirement_text(*report.requirement) : objective, /*met=*/false, gate.answer)};
    return gate;
  }
  if (outcome == Outcome::Met && !report.final_figures && objective.empty()) {
    // Without a file there are no figures of the kept set, and those of everything low are not the answer.
    gate.cases = {case_of(requirement_text(*report.requirement), /*met=*/true, gate.answer)};
    return gate;
  }
  gate.cases = cases_of(report.final_figures.value_or(report.all_low), report.requirement, objective);
  if (!objective.empty()) gate.cases.push_back(case_of(objective, met(report), gate.answer));
  const bool decided = report.requirement || (outcome == Outcome::NothingLeft && !objective.empty());
  if ((outcome == Outcome::Impossible || outcome == Outcome::NothingLeft) && decided) {
    gate.cases.push_back({"kept set", GateCase::State::Failed, gate.answer});
  }
  if (report.compiled && !report.compiled->refused.empty()) {
    gate.cases.push_back({"compiled", GateCase::State::Failed, told(report.compiled->refused)});
  }
  return gate;
}

Gate gate_of(const VerifyReport& report) {
  Gate gate;
  gate.suite = "vernier verify";
  const RunFigures& figures = deciding_figures(report);
  gate.answer = fmt::format("{}: {}{}", printable(report.typed_file), figure_text(figures, report.requirement),
                            report.engine ? " on " + printable(report.engine->engine) : "");
  gate.seconds = seconds_of(report.phases);
  gate.warnings = note_texts(report.warnings);
  gate.cases = cases_of(figures, report.requirement, report.objective);
  if (const TestRow* test = deciding_test(report)) {
    const bool met = test->verdict == Verdict::Good;
    gate.answer = fmt::format("{}: {} is {} ({:.6g})", printable(report.typed_file), told(report.objective),
                              met ? "met" : "missed", test->metric);
    gate.cases.push_back(case_of(report.objective, met, gate.answer));
  }
  for (const FoundDefect& defect : report.defects) {
    if (!defect.refused) continue;
    gate.cases.push_back({fmt::format("Q/DQ pairs of '{}'", printable(defect.node)), GateCase::State::Failed,
                          fmt::format("{}: {}", defect.kind, told(defect.text))});
  }
  if (outcome_of(report) == Outcome::NothingLeft) {
    gate.answer = answer_of(report).sentence;
    gate.cases.push_back({"low precision", GateCase::State::Failed, gate.answer});
  }
  if (is_refused(report)) gate.answer = fmt::format("{}: an engine refuses this file", printable(report.typed_file));
  if (outcome_of(report) == Outcome::NoFloatModel) {
    gate.answer = answer_of(report).sentence;
    gate.cases = {case_of(report.requirement ? requirement_text(*report.requirement) : report.objective, /*met=*/false,
                          gate.answer)};
  }
  return gate;
}

Gate gate_of(const ReportDiff& diff) {
  Gate gate;
  gate.suite = "vernier report --diff";
  gate.answer = diff.worse.empty() ? "The later build is not worse." : "The later build is worse.";
  for (const std::string& why : diff.worse) gate.cases.push_back({"no worse", GateCase::State::Failed, why});
  if (gate.cases.empty()) gate.cases.push_back({"no worse", GateCase::State::Passed, gate.answer});
  return gate;
}

Gate gate_of(const PipelineReport& report) {
  Gate gate;
  gate.suite = "vernier pipeline";
  gate.answer = told(report.answer);
  gate.seconds = report.seconds.value_or(0);
  gate.warnings = note_texts(report.warnings);
  for (const StageReport& stage : report.stages) {
    if (!stage.step_db) continue;
    const bool good = *stage.step_db >= report.min_sqnr_db;
    gate.cases.push_back({fmt::format("stage '{}'", printable(stage.name)),
                          good ? GateCase::State::Passed : GateCase::State::Failed,
                          fmt::format("{} dB compared with the stage before, {:g} dB required", db_text(stage.step_db),
                                      report.min_sqnr_db)});
  }
  return gate;
}

std::string gate_to_junit(const Gate& gate) {
  const auto count = [&](GateCase::State state) {
    return std::count_if(gate.cases.begin(), gate.cases.end(), [&](const GateCase& one) { return one.state == state; });
  };
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  text += fmt::format(
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\">\n",
      xml_text(gate.suite), gate.cases.size(), count(GateCase::State::Failed), count(GateCase::State::Broken),
      count(GateCase::State::Skipped), gate.seconds);
  const std::vector<std::string> names = unique_names(gate.cases);
  for (std::size_t i = 0; i < gate.cases.size(); ++i) {
    const GateCase& one = gate.cases[i];
    text += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml_text(gate.suite), xml_text(names[i]));
    const std::string message = xml_text(one.message);
    if (one.state == GateCase::State::Passed) {
      text += fmt::format(">\n      <system-out>{}</system-out>\n    </testcase>\n", message);
    } else if (one.state == GateCase::State::Skipped) {
      text += fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n", message);
    } else if (one.state == GateCase::State::Broken) {
      text +=
          fmt::format(">\n      <error message=\"{}\">{}</error>\n    </testcase>\n", message, xml_text(gate.answer));
    } else {
      text += fmt::format(">\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n", message,
                          xml_text(gate.answer));
    }
  }
  std::string warnings;
  for (const std::string& warning : gate.warnings) warnings += told(warning) + "\n";
  text += fmt::format("    <system-out>{}</system-out>\n", xml_text(gate.answer));
  if (!warnings.empty()) text += fmt::format("    <system-err>{}</system-err>\n", xml_text(warnings));
  return text + "  </testsuite>\n</testsuites>\n";
}

std::string gate_to_github(const Gate& gate) {
  std::string text;
  for (const GateCase& one : gate.cases) {
    if (is_failure(one.state)) text += github_line("error", gate.suite, one.name + ": " + one.message);
  }
  for (const std::string& warning : gate.warnings) text += github_line("warning", gate.suite, told(warning));
  return text + github_line("notice", gate.suite, gate.answer);
}

std::string gate_to_markdown(const Gate& gate) {
  std::string text =
      fmt::format("### {} {}\n\n{}\n\n", gate.passed() ? "\u2705" : "\u274c", gate.suite, markdown_text(gate.answer));
  if (gate.cases.empty()) return text;
  text += "| check | result | |\n|---|---|---|\n";
  const auto cell = [](const std::string& value) {
    std::string safe;
    for (const char c : markdown_text(value)) safe += c == '\n' ? ' ' : c;
    return safe;
  };
  for (const GateCase& one : gate.cases) {
    const char* state = one.state == GateCase::State::Passed   ? "passed"
                        : one.state == GateCase::State::Failed ? "failed"
                        : one.state == GateCase::State::Broken ? "error"
                                                               : "skipped";
    text += fmt::format("| {} | {} | {} |\n", cell(one.name), state, cell(one.message));
  }
  return text + "\n";
}

}  // namespace vernier
