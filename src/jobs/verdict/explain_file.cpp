// The verdict on a quantized file: `debug loss` and `check placement` for those who asked whether it is good.

#include "vernier/explain_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "jobs/common/output_files.h"
#include "jobs/common/sources.h"
#include "jobs/common/typed_file.h"
#include "jobs/engine/compiler.h"
#include "jobs/verify/output_noise.h"
#include "jobs/verify/stored_values.h"
#include "model/contents.h"
#include "plan/float_interface.h"
#include "vernier/check_placement.h"
#include "vernier/debug_loss.h"
#include "vernier/error.h"
#include "vernier/report/defects.h"
#include "vernier/report/outcome.h"
#include "vernier/report/verify.h"
#include "vernier/target.h"
#include "vernier/verify.h"

namespace vernier {
namespace {

constexpr Target kTargets[] = {Target::TensorRt, Target::OnnxRuntime, Target::OpenVino};

EnginePlacement placement_on(Target target, const VerifyOptions& options, const JobSinks& sinks) {
  EnginePlacement row;
  row.target = target;
  CheckPlacementOptions wanted;
  wanted.model = options.typed_model;
  wanted.target = target;
  wanted.checked = true;
  wanted.custom_operators = options.measure.custom_operators;
  try {
    const CheckPlacementReport placed = check_placement(wanted, sinks);
    row.pairs = placed.dequantizers;
    for (const PlacementFinding& finding : placed.findings) {
      if (finding.costs_nothing) continue;
      if (++row.not_fused == 1) row.first = finding.node.empty() ? finding.why : finding.node + ": " + finding.why;
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Interrupted) throw;
    row.refused = first_line(error.what());
  }
  return row;
}

/// What does the damage: pairs, constants, layers.
void explain(const VerifyOptions& options, VerifyReport& report, const JobSinks& sinks) {
  // Of a file that an engine refuses no figure is worth anything.
  if (const Outcome outcome = outcome_of(report);
      !report.reference_quantized && (outcome == Outcome::Missed || outcome == Outcome::NoRequirement)) {
    DebugLossOptions loss{options.float_model, options.typed_model, options.measure,
                          options.command,     /*checked=*/true,    options.target};
    loss.measure.requirement.reset();
    JobSinks quiet = sinks;
    quiet.warning = {};  // verify() said what there is to say of models and samples
    try {
      const DebugLossReport measured = debug_loss(loss, quiet);
      merge_defects(report.defects, measured.defects);
      for (const Note& note : measured.notes) {
        if (note.code == "pair-costs-most") report.notes.push_back(note);
      }
      report.examined = measured.examined;
      if (report.examined < report.samples) report.notes.push_back(not_examined_note(report.examined, report.samples));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Interrupted) throw;
      report.notes.push_back({"pairs-not-measured", {{"error", first_line(error.what())}}});
    }
  }
}

/// Whether a file without pairs is worth an explanation: its requirement is missed, or an output is lost.
bool is_lost(const VerifyReport& report) {
  const Outcome outcome = outcome_of(report);
  return outcome == Outcome::Missed || (outcome == Outcome::NoRequirement &&
                                        std::ranges::any_of(report.figures.outputs, [](const OutputFigure& output) {
                                          return !(output.sqnr_db >= kLostOutputDb);
                                        }));
}

constexpr const char* kPage = "report.html";
constexpr const char* kReport = "report.json";

void keep_inputs_safe(const ExplainFileOptions& options) {
  if (options.output.empty()) return;
  std::vector<std::filesystem::path> inputs = source_files(options.measure);
  inputs.push_back(options.float_model.file());
  inputs.push_back(options.typed_model.file());
  for (const char* file : {kPage, kReport}) refuse_to_overwrite(options.output / file, inputs);
}

void write_record(VerifyReport& report, const std::filesystem::path& folder) {
  if (folder.empty()) return;
  report.files = {{"page", (folder / kPage).string()}, {"report", (folder / kReport).string()}};
  replace_file(folder / kPage, report_to_html(report));
  replace_file(folder / kReport, report_to_json(report));
}

}  // namespace

VerifyReport explain_file(const ExplainFileOptions& options, const JobSinks& sinks) {
  keep_inputs_safe(options);
  const OutputFolder folder(options.output);
  std::optional<Compiler> compiler;
  if (options.compile) compiler.emplace(for_target(*options.compile, options.target), sinks);
  bool quantized = false;
  std::optional<EngineReport> compiled;
  {
    Sources sources(options.measure, sinks);
    const std::shared_ptr<const Model> file = sources.model(options.typed_model);
    quantized = holds_quantized_values(*file);
    if (compiler) {
      const bool open = std::ranges::any_of(model_inputs(*file), [](const InputInfo& input) {
        return std::ranges::any_of(input.shape, [](std::int64_t size) { return size < 0; });
      });
      Model fed = *file;
      if (open) give_float_interface(fed, *sources.model(options.float_model));
      compiled = compiler->try_compile(as_typed_file(*file), open ? sources.samples(fed)->at(0) : Sample{});
    }
  }
  VerifyReport report = verify(options, sinks);
  if (options.explain && (quantized || is_lost(report))) explain(options, report, sinks);
  if (options.explain && quantized) {
    for (const Target target : kTargets) report.placements.push_back(placement_on(target, options, sinks));
  }
  if (compiled) {
    report.compiled = std::move(*compiled);
    report.compiled->file = report.typed_file;
  }
  write_record(report, options.output);
  return report;
}

}  // namespace vernier
