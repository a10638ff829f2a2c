// What the commands that diagnose share: diagnose, fix, debug precision and the older precision
// commands.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "console/console.h"
#include "options/engine_group.h"
#include "options/external_data_options.h"
#include "options/gate_group.h"
#include "options/options.h"
#include "options/peer_options.h"
#include "options/score_group.h"
#include "options/search_group.h"
#include "vernier/diagnose.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/text.h"
#include "vernier/run.h"
#include "vernier/sinks.h"

namespace vernier::cli {

/// JSON, or text; none of a report that was cut short before it had figures of the low formats.
std::string diagnosis_words(const DiagnoseReport& report, bool json, const TextOptions& text);

struct DiagnosisLine {
  virtual ~DiagnosisLine() = default;
  std::string model, output;
  Texts typed;  // of options that the commands add
  ExternalDataGroup external_data;
  EngineGroup engine;                   // of the commands that add it
  bool claims = false, caches = false;  // of the commands that add what says otherwise
  PrecisionGroup precision;
  RequirementGroup requirement;
  ScoreGroup task;
  SearchGroup search;
  DataGroup data;

  /// Errors: Usage. `missing`: what is wrong with a command that names no low format.
  DiagnoseOptions values(const std::string& command, const std::string& missing,
                         const std::filesystem::path& journals) const;

  /// Options of samples that nothing reads, in words.
  std::vector<std::string> without_effect() const;

  /// The job, with the files of the command line checked before and written behind it. Prints `words` of its report;
  /// where it is ended early, of what it has measured, unless there are none.
  DiagnoseReport run(const DiagnoseOptions& options, Console& console,
                     const std::function<DiagnoseReport(const JobSinks&)>& job,
                     const std::function<std::string(const DiagnoseReport&)>& words) const;

  /// What must hold, of which outputs, and the task that may decide instead.
  void add_requirement(CLI::App& app);
  /// Whether programs run that --timeout may end.
  virtual bool runs_programs() const { return false; }
  /// --rank and --quick: more than the answer, or nothing but it.
  void add_extent(CLI::App& app);
  /// --no-split and --claim-confidence: what holds on new samples.
  void add_claim(CLI::App& app);
  void read_claim(MeasureOptions& measure, std::optional<LabelRequirement>& labels) const;
  /// --no-cache: with it all is measured anew, and nothing is kept.
  void add_no_cache(CLI::App& app);
  /// --sample-pictures, of commands that write a page.
  void add_sample_pictures(CLI::App& app);
  /// --float and --from: a quantized file of the network.
  void add_quantized(CLI::App& app);
  /// --per-tensor; not of the commands whose options are a peer's.
  void add_per_tensor(CLI::App& app);
};

/// What diagnose and fix ask and answer alike.
struct AnswerLine : DiagnosisLine {
  GateGroup gate;
  MessageGroup messages;
  ResultGroup result;

  /// The formats, what must hold, and the search.
  void add_question(CLI::App& app);
  /// Samples, files and output. `written`: of -o. `example`: of the footer.
  IgnoredOptions add_answer(CLI::App& app, const std::string& written, const std::string& example);
  /// Runs the job, prints its answer and returns its exit code.
  int answer(Console& console, const DiagnoseOptions& options,
             const std::function<DiagnoseReport(const JobSinks&)>& job) const;
};

}  // namespace vernier::cli
