#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "commands/report_commands.h"
#include "console/console.h"
#include "options/gate_group.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/diff.h"
#include "vernier/report/gate.h"
#include "vernier/report/kind.h"
#include "vernier/report/outcome.h"
#include "vernier/report/pipeline.h"
#include "vernier/report/text.h"
#include "vernier/report/verify.h"

namespace vernier::cli {
namespace {

struct ReportLine {
  std::string report, output, tolerance = "0.5";
  std::vector<std::string> diff;
  GateGroup gate;
  MessageGroup messages;
  ResultGroup result;
};

DiagnoseReport read_report(const std::string& file) {
  return diagnose_report_from_json(read_text(file), printable(file));
}

void check_usage(const ReportLine& line) {
  if (line.diff.empty() && line.report.empty()) {
    throw Error(ErrorCode::MissingArgument, "no report was given", "vernier report out/report.json -o page.html");
  }
  if (line.diff.empty()) return;
  if (line.diff.size() != 2 || !line.report.empty()) {
    throw Error(ErrorCode::MissingArgument, "--diff reads two reports, the earlier one first; leave out the argument",
                "vernier report --diff before.json after.json");
  }
  if (!line.output.empty()) {
    throw Error(ErrorCode::Contradiction, "--diff prints text or JSON: -o writes the page of a single report",
                "leave out one of them");
  }
}

int show_diff(const ReportLine& line, Console& console) {
  const double tolerance = parse_number("--tolerance", line.tolerance);
  const TextOptions text = line.result.values(console);
  const ReportDiff diff = diff_reports(read_report(line.diff[0]), read_report(line.diff[1]), tolerance);
  print_result(console, line.result.json ? report_to_json(diff) : diff_to_text(diff, text));
  line.gate.tell(gate_of(diff));
  return diff.worse.empty() ? 0 : 1;
}

/// As the command that wrote the report.
int code_of_missed(const PipelineReport& /*report*/) { return 1; }
template <class Report>
int code_of_missed(const Report& report) {
  return std::max(1, exit_code_of(report));
}

template <class Report>
int render(const Report& report, const ReportLine& line, Console& console) {
  TextOptions text = line.result.values(console);
  text.verbose = line.messages.verbose > 0;
  if (!line.output.empty()) {
    const std::filesystem::path output = line.output;
    std::error_code none;
    if (std::filesystem::equivalent(output, line.report, none)) {
      throw Error(ErrorCode::WouldOverwrite,
                  fmt::format("-o {}: this would overwrite the report itself", printable(line.output)),
                  "choose another name, such as report.html");
    }
    replace_file(output, report_to_html(report));
  }
  if (line.result.json) {
    print_result(console, report_to_json(report));
  } else if (line.output.empty()) {
    print_result(console, report_to_text(report, text));
  } else {
    print_result(console, fmt::format("{}: open it in a browser", printable(line.output)));
  }
  const Gate gate = gate_of(report);
  line.gate.tell(gate);
  return gate.passed() ? 0 : code_of_missed(report);
}

/// The report says itself which command wrote it.
int render(const ReportLine& line, Console& console) {
  const std::string text = read_text(line.report), where = printable(line.report);
  if (report_kind(text, where) == ReportKind::Pipeline) {
    return render(pipeline_report_from_json(text, where), line, console);
  }
  if (report_kind(text, where) == ReportKind::Verify) {
    return render(verify_report_from_json(text, where), line, console);
  }
  return render(diagnose_report_from_json(text, where), line, console);
}

}  // namespace

Command add_report(CLI::App& root) {
  auto line = std::make_shared<ReportLine>();
  CLI::App& app =
      add_command(root, "report", "Render report.json as a page or as text, or compare the diagnoses of two builds");
  add_argument(app, "REPORT", line->report, "report.json of diagnose, fix, verify or pipeline").required(false);
  add_value(app, "-o,--output", line->output, "FILE.html",
            "Write the page, one file that works offline (default: print the text)")
      .writes()
      .group("Output");
  add_values(app, "--diff", line->diff, "JSON",
             "Compare two reports of diagnose or fix: the earlier, then the later (default: none)")
      .group("Comparison");
  add_value(app, "--tolerance", line->tolerance, "DB",
            "With --diff: how many dB an SQNR may fall before it counts as worse (default: 0.5)")
      .group("Comparison");
  line->gate.add(app);
  line->result.add(app);
  add_message_options(app, line->messages);
  add_footer(app,
             "Example: vernier report out/report.json -o report.html\nExample: vernier report --diff "
             "before/report.json after/report.json --junit gate.xml\nExit code: 0 done, requirement met, later build "
             "not worse; 1 missed, lost, or worse; 4, 5 as the run that wrote it; 2 usage; 3 input; 70 internal "
             "error");
  return {&app,
          &line->messages,
          [line](Console& console) {
            check_usage(*line);
            line->gate.check();
            if (!line->output.empty()) require_writable_file(line->output);
            return line->diff.empty() ? render(*line, console) : show_diff(*line, console);
          },
          /*ignored=*/nullptr,
          /*spreads=*/false,
          &line->gate};
}

}  // namespace vernier::cli
