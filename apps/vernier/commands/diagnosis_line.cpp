#include "commands/diagnosis_line.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "base/cache_folder.h"
#include "base/file.h"
#include "commands/commands.h"
#include "options/rules_options.h"
#include "table/diagnose.h"
#include "table/measure.h"
#include "table/precision.h"
#include "vernier/diagnose.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/gate.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/outcome.h"
#include "vernier/search_options.h"
#include "vernier/sinks.h"

namespace vernier::cli {

std::string diagnosis_words(const DiagnoseReport& report, bool json, const TextOptions& text) {
  if (json) return report_to_json(report);
  return report.interrupted && report.all_low.outputs.empty() ? "" : report_to_text(report, text);
}

DiagnoseOptions DiagnosisLine::values(const std::string& command, const std::string& missing,
                                      const std::filesystem::path& journals) const {
  if (search.has_ladder() && precision.any_low()) {
    throw Error(ErrorCode::Contradiction, "--ladder names all formats, and --int8, --fp16 or the like one more",
                "remove --int8, --fp16 or the like");
  }
  if (!precision.any_low() && !search.has_ladder() && !typed.given("--kv-cache"))
    throw Error(ErrorCode::MissingArgument, missing, "add --int8, --fp16, --bf16 or --fp8");
  DiagnoseOptions options;
  const std::string& float_model = typed.last("--float");
  const std::string& quantized = typed.last("--from");
  if (!float_model.empty() && !quantized.empty()) {
    throw Error(ErrorCode::Contradiction, "--float and --from both name a second model",
                "QUANTIZED --float FLOAT, or FLOAT --from QUANTIZED: leave one out");
  }
  options.model = float_model.empty() ? model : float_model;
  if (!float_model.empty()) options.from = model;
  if (!quantized.empty()) options.from = quantized;
  options.output = output;
  options.measure = data.values();
  requirement.read_into(options.measure);
  options.precision = precision.values();
  options.search = search.values(journals);
  if (search.has_ladder()) {
    if (options.precision.high != Format::Float32) {
      throw Error(ErrorCode::WithoutEffect, "--ladder ends with the high format, which --precision names again",
                  "remove --precision");
    }
    options.precision.low.assign(options.search.ladder.begin(), options.search.ladder.end() - 1);
  }
  read_rows(table::kRules, typed, options.precision.rules);
  apply_reduce_range(typed.given("--reduce-range"), options.precision);
  check_weight_bits(options.precision);
  options.sample_pictures = typed.given("--sample-pictures");
  options.rank = typed.given("--rank");
  options.quick = typed.given("--quick");
  if (options.rank && options.quick) {
    throw Error(ErrorCode::Contradiction, "--rank asks for more than the answer, and --quick for nothing else",
                "leave one out");
  }
  options.command = command;
  options.external_data = external_data.values();
  options.compile = engine.values_if_asked(options.measure.data);
  options.confirm_on = engine.confirms_on();
  options.engine = engine.run_values(options.measure.data);
  options.search.task = task.values();
  if (claims) read_claim(options.measure, options.search.task.labels);
  const std::filesystem::path cache = cache_folder();
  const bool keeps = caches && !typed.given("--no-cache");
  if (keeps && !cache.empty()) options.cache_folder = cache / "measured";
  if (!keeps) options.measure.partial_folder.clear();
  if (task.given() && options.measure.requirement) {
    throw Error(ErrorCode::Contradiction, "labels, a metric script, a requirement: only one can decide",
                "leave out the others");
  }
  return options;
}

std::vector<std::string> DiagnosisLine::without_effect() const {
  std::vector<std::string> texts = data.without_effect(precision.any_script() || task.any_script() || runs_programs() ||
                                                       engine.compile || engine.confirms());
  for (std::string& text : engine.without_effect()) texts.push_back(std::move(text));
  return texts;
}

DiagnoseReport DiagnosisLine::run(const DiagnoseOptions& options, Console& console,
                                  const std::function<DiagnoseReport(const JobSinks&)>& job,
                                  const std::function<std::string(const DiagnoseReport&)>& words) const {
  if (!options.output.empty()) require_writable_folder(options.output);
  for (const std::string& file : {search.pareto_csv(), search.pareto_svg(), options.search.journal.string()}) {
    if (!file.empty()) require_writable_file(file);
  }
  const auto print = [&](const DiagnoseReport& report) {
    if (const std::string text = words(report); !text.empty()) print_result(console, text);
  };
  try {
    DiagnoseReport report = job(console.sinks());
    print(report);  // before files, which a full disk may refuse
    const KeptSetReport kept = report.kept.value_or(KeptSetReport{});
    if (!search.pareto_csv().empty()) replace_file(search.pareto_csv(), pareto_to_csv(kept));
    if (!search.pareto_svg().empty()) replace_file(search.pareto_svg(), pareto_to_svg(kept));
    return report;
  } catch (const DiagnosisInterrupted& ended) {
    print(ended.report());
    throw;
  }
}

void DiagnosisLine::add_requirement(CLI::App& app) {
  requirement.add(app);
  task.add(app);
}

void DiagnosisLine::add_extent(CLI::App& app) {
  add_row(app, table::kRank, "Search", typed);
  add_row(app, table::kQuick, "Search", typed);
}

void DiagnosisLine::read_claim(MeasureOptions& measure, std::optional<LabelRequirement>& labels) const {
  measure.cross_fit = !typed.given("--no-split");
  std::optional<double> confidence;
  if (typed.given("--claim-confidence")) {
    confidence = parse_number("--claim-confidence", typed.last("--claim-confidence"));
    if (!measure.requirement && !labels) {
      throw Error(ErrorCode::MissingArgument, "--claim-confidence needs a requirement",
                  "--min-sqnr DB, or --labels FILE with --min-top1 P");
    }
  }
  if (labels) labels->confidence = confidence.value_or(labels->confidence);
  if (!measure.requirement) return;
  measure.requirement->confidence = confidence.value_or(kClaimConfidence);
  require_valid(*measure.requirement);
}

void DiagnosisLine::add_claim(CLI::App& app) {
  claims = true;
  add_row(app, table::kNoSplit, "Data", typed);
  add_row(app, table::kConfidence, table::kMetricGroup, typed);
}

void DiagnosisLine::add_no_cache(CLI::App& app) {
  caches = true;
  add_row(app, table::kNoCache, "Search", typed);
}

void DiagnosisLine::add_sample_pictures(CLI::App& app) { add_row(app, table::kSamplePictures, "Output", typed); }

void DiagnosisLine::add_quantized(CLI::App& app) { add_rows(app, table::kQuantized, typed); }

void DiagnosisLine::add_per_tensor(CLI::App& app) {
  add_row(app, table::kPerTensor, "Precision", typed);
  add_row(app, table::kReduceRange, "Precision", typed);
  add_row(app, table::kWeightBits, "Precision", typed);
  add_row(app, table::kKvCache, "Precision", typed);
}

void AnswerLine::add_question(CLI::App& app) {
  precision.add(app);
  add_per_tensor(app);
  add_quantized(app);
  add_requirement(app);
  search.add(app);
}

IgnoredOptions AnswerLine::add_answer(CLI::App& app, const std::string& written, const std::string& example) {
  data.add(app, "Samples to measure on");
  data.add_calibration(app);
  add_claim(app);
  add_no_cache(app);
  add_extent(app);
  add_value(app, "-o,--output", output, "DIR", written).writes().group("Output");
  external_data.add(app);
  add_sample_pictures(app);
  engine.add_behind_compile(app);
  engine.add_confirm_on(app);
  gate.add(app);
  result.add(app);
  add_message_options(app, messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app,
             "Example: " + example +
                 "\nExit code: 0 no requirement, or met; 1 missed; 2 usage; 3 input; 4 backend; 5 met, with no layer "
                 "in low precision; 70 internal error; 130 interrupted");
  return ignored;
}

int AnswerLine::answer(Console& console, const DiagnoseOptions& options,
                       const std::function<DiagnoseReport(const JobSinks&)>& job) const {
  for (const std::string& text : without_effect()) console.warning(text);
  TextOptions text = result.values(console);
  text.verbose = messages.verbose > 0;
  gate.check();
  const DiagnoseReport report =
      run(options, console, job, [&](const DiagnoseReport& of) { return diagnosis_words(of, result.json, text); });
  gate.tell(gate_of(report));
  return exit_code_of(report);
}

}  // namespace vernier::cli
