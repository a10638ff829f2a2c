#include "commands/diagnosis_line.h"

#include <filesystem>
#include <utility>

#include "base/cache_folder.h"
#include "base/file.h"
#include "commands/commands.h"
#include "options/reduce_range_option.h"
#include "vernier/diagnose.h"
#include "vernier/error.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/kept_set.h"
#include "vernier/search_options.h"
#include "vernier/sinks.h"

namespace vernier::cli {

std::string diagnosis_words(const DiagnoseReport& report, bool json, const TextOptions& text) {
  if (json) return report_to_json(report);
  return report.interrupted && report.all_low.outputs.empty() ? "" : report_to_text(report, text);
}

DiagnoseOptions DiagnosisLine::values(const std::string& command, const std::string& missing,
                                      const std::filesystem::path& journals) const {
  if (!precision.any_low()) throw Error(ErrorKind::Usage, missing, "add --int8, --fp16, --bf16 or --fp8");
  DiagnoseOptions options;
  if (!float_model.empty() && !quantized.empty()) {
    throw Error(ErrorKind::Usage, "--float and --from both name a second model",
                "QUANTIZED --float FLOAT, or FLOAT --from QUANTIZED: leave one out");
  }
  options.model = float_model.empty() ? model : float_model;
  if (!float_model.empty()) options.from = model;
  if (!quantized.empty()) options.from = quantized;
  options.output = output;
  options.measure = data.values();
  options.measure.outputs = outputs;
  requirement.read_into(options.measure);
  options.precision = precision.values();
  if (per_tensor) options.precision.rules.weights_per_channel = false;
  apply_reduce_range(reduce_range, options.precision);
  options.sample_pictures = sample_pictures;
  options.rank = rank;
  options.command = command;
  options.external_data = external_data.values();
  options.compile = engine.values_if_asked(options.measure.data);
  options.confirm_on = engine.confirms_on();
  options.engine = engine.run_values(options.measure.data);
  options.search = search.values(journals);
  options.search.task = task.values();
  if (!no_split) options.measure.split = fitting_split(options);
  const std::filesystem::path cache = cache_folder();
  if (!no_cache && !cache.empty()) options.cache_folder = cache / "measured";
  if (no_cache) options.measure.partial_folder.clear();
  if (task.given() && options.measure.requirement) {
    throw Error(ErrorKind::Usage, "labels, a metric script, a requirement: only one can decide",
                "leave out the others");
  }
  return options;
}

std::vector<std::string> DiagnosisLine::without_effect() const {
  std::vector<std::string> texts = data.without_effect(precision.any_script() || task.any_script() || runs_programs() ||
                                                       engine.compile || !engine.confirm_on.empty());
  for (std::string& text : engine.without_effect()) texts.push_back(std::move(text));
  return texts;
}

DiagnoseReport DiagnosisLine::run(const DiagnoseOptions& options, Console& console,
                                  const std::function<DiagnoseReport(const JobSinks&)>& job,
                                  const std::function<std::string(const DiagnoseReport&)>& words) const {
  if (!options.output.empty()) require_writable_folder(options.output);
  for (const std::string& file : {search.pareto_csv, search.pareto_svg, options.search.journal.string()}) {
    if (!file.empty()) require_writable_file(file);
  }
  const auto print = [&](const DiagnoseReport& report) {
    if (const std::string text = words(report); !text.empty()) print_result(console, text);
  };
  try {
    DiagnoseReport report = job(console.sinks());
    print(report);  // before files, which a full disk may refuse
    const KeptSetReport kept = report.kept.value_or(KeptSetReport{});
    if (!search.pareto_csv.empty()) replace_file(search.pareto_csv, pareto_to_csv(kept));
    if (!search.pareto_svg.empty()) replace_file(search.pareto_svg, pareto_to_svg(kept));
    return report;
  } catch (const DiagnosisInterrupted& ended) {
    print(ended.report());
    throw;
  }
}

void DiagnosisLine::add_requirement(CLI::App& app) {
  requirement.add(app);
  add_values(app, "--outputs", outputs, "NAME",
             "Outputs to judge, or slices of them: 'output0[:,4:]' (default: every float output that carries no state)")
      .group("Requirement (one metric; default: none; must hold for each judged output)");
  task.add(app);
}

void DiagnosisLine::add_rank(CLI::App& app) {
  add_flag(app, "--rank", rank,
           "Rank the layers by what each costs the output, even if everything low meets the requirement (default: only "
           "if it is missed, or if there is none)")
      .group("Search");
}

void DiagnosisLine::add_no_split(CLI::App& app) {
  no_split = false;
  add_flag(
      app, "--no-split", no_split,
      "All samples calibrate, decide what is kept, and judge the result (default: from 60 samples on a third each, "
      "by lot, unless --calibration-data or scripts are given)")
      .group("Data");
}

void DiagnosisLine::add_no_cache(CLI::App& app) {
  no_cache = false;
  add_flag(app, "--no-cache", no_cache,
           "Measure all anew, and keep nothing (default: own errors, sensitivities and trials of the same network, "
           "samples and formats are taken from earlier runs, whose figures are kept in ~/.cache/vernier)")
      .group("Search");
}

void DiagnosisLine::add_sample_pictures(CLI::App& app) {
  add_flag(
      app, "--sample-pictures", sample_pictures,
      "Show the images of the worst samples on the page and in the JSON: whoever gets these sees them (default: do "
      "not)")
      .group("Output");
}

void DiagnosisLine::add_quantized(CLI::App& app) {
  add_value(app, "--float", float_model, "FLOAT",
            "MODEL is quantized, and this is its float model: measure against it, with MODEL's ranges and layers "
            "(default: MODEL is the float model)")
      .group("Precision");
  add_value(app, "--from", quantized, "QUANTIZED",
            "Take over the ranges of this file, which was quantized from MODEL, the layers that it leaves in float, "
            "and those "
            "that it quantizes, as far as the target runs them so (default: none)")
      .group("Precision");
}

void DiagnosisLine::add_per_tensor(CLI::App& app) {
  add_flag(app, "--per-tensor", per_tensor, "One scale for each weight (default: one for each output channel)")
      .group("Precision");
  add_reduce_range_option(app, reduce_range, "Precision");
}

}  // namespace vernier::cli
