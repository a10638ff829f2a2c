#include "jobs/diagnose/loaded_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/figures.h"
#include "analysis/judged_views.h"
#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "jobs/diagnose/diagnosis_notes.h"
#include "jobs/diagnose/format_ladder.h"
#include "jobs/engine/compiler.h"
#include "jobs/scripting/network_scripts.h"
#include "jobs/search/chosen_objective.h"
#include "model/contents.h"
#include "model/operator_traits.h"
#include "plan/scheme.h"
#include "search/journal.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/precision.h"
#include "vernier/target.h"

namespace vernier {
namespace {

/// Of what was read, before anything is lowered.
void report_input(DiagnosisRun& run, const LoadedModel& model) {
  const Loaded& loaded = model.loaded;
  DiagnoseReport& report = run.report;
  report.onnxruntime_version = loaded.subject.runtime->version();
  report.on_gpu = loaded.subject.runtime->gpu() != nullptr;
  report.model_file = run.options.model.name();
  report.model_sha256 = loaded.original->sha256;
  report.data = loaded.samples->description();
  report.samples = loaded.samples->size();
  report.random_data = loaded.samples->is_random();
  if (loaded.calibration) report.calibrated_on_evaluation_samples = false;
  for (const Note& note : loaded.warnings) run.warn(note);
  if (model.precision.target == Target::TensorRt) {
    if (const auto refused = shared_names_note(*loaded.original, loaded.samples->at(0))) run.warn(*refused);
  }
  report.notes = model.typed_source.notes;
  run.note(loaded.notes);
  run.note(loaded.output_notes);
}

/// Who could lower a layer of a network where the target can lower none: another target, or else nobody, and why.
std::string lowering_hint(const LoadedModel& model, const std::vector<SkippedLayer>& skipped) {
  const Loaded& loaded = model.loaded;
  if (holds_quantized_values(*loaded.original)) {
    return "it stores quantized weights: pass its float model with ‹float›";
  }
  for (const Target target : {Target::OnnxRuntime, Target::OpenVino, Target::TensorRt}) {
    PrecisionOptions other = model.precision;
    other.target = target;
    try {
      const auto layers = assign_formats(loaded.subject.model, loaded.subject.layers, other).candidates.size();
      if (layers > 0) return fmt::format("‹target› {} can lower {}", word_of(target), plural(layers, "layer"));
    } catch (const Error&) {  // the target has no such formats
    }
  }
  const auto weighted = std::ranges::find_if(skipped, [](const SkippedLayer& layer) {
    return !layer.chosen && traits_of(layer.op_type).any(Trait::Weighted);
  });
  const std::string why =
      weighted == skipped.end() ? "" : fmt::format("'{}': {}. ", printable(weighted->name), weighted->reason);
  return why + "‹vernier inspect model MODEL --show layers› lists the layers";
}

/// Errors: Input, if no layer is to be lowered.
void lower_layers(DiagnosisRun& run, LoadedModel& model) {
  const Loaded& loaded = model.loaded;
  AssignedFormats assigned = assign_formats(loaded.subject.model, loaded.subject.layers, model.precision);
  for (const Note& note : assigned.warnings) run.warn(note);
  run.note(assigned.notes);
  // That nothing would be faster is an answer: the network stays as it is.
  if (assigned.candidates.empty() && !assigned.nothing_gains) {
    throw Error(ErrorCode::NothingToLower,
                fmt::format("{}: no layer can run in the requested formats", run.options.model.name()),
                lowering_hint(model, assigned.skipped));
  }
  if (model.precision.ladder) keep_formats_of(assigned.plan, run.report.low);
  run.report.excluded =
      static_cast<std::size_t>(std::ranges::count_if(assigned.skipped, [&](const SkippedLayer& layer) {
        return layer.chosen && !model.typed_source.high.contains(layer.name);
      }));
  model.plan = std::move(assigned.plan);
  model.candidates = std::move(assigned.candidates);
}

/// Whether preparing changed what the model computes: runs the original file and the prepared model on the first
/// sample, optimizations off.
RunFigures prove_prepared(const Loaded& loaded) {
  const Subject& subject = loaded.subject;
  const Sample sample = loaded.samples->at(0);
  std::map<std::string, OutputStats> stats;
  const auto outputs_of = [&](Model model) {
    auto& listed = *model.proto.mutable_graph()->mutable_output();
    const auto others = std::ranges::remove_if(listed, [&](const onnx::ValueInfoProto& output) {
      return std::ranges::find(subject.judged, output.name()) == subject.judged.end();
    });
    listed.erase(others.begin(), others.end());  // strings, for example, cannot be compared
    std::map<std::string, Tensor> outputs;
    const std::vector<Tensor> values = Session(subject.runtime, model, {.optimize = false}).run(sample);
    for (std::size_t i = 0; i < values.size(); ++i) {
      outputs[model.proto.graph().output(static_cast<int>(i)).name()] = values[i];
    }
    return outputs;
  };
  Model original = *loaded.original;
  // The file as it was given may hold a function or a branch where the prepared one has its nodes.
  std::vector<JudgedView> views = loaded.views;
  const auto hidden = [&](const JudgedView& view) { return view.behind && tensor_of(original, *view.behind).empty(); };
  const bool fronts_hidden = std::erase_if(views, hidden) > 0;
  judge_alike(original, views);
  const auto before = outputs_of(original);
  const auto after = outputs_of(subject.model);
  for (const std::string& name : subject.judged) {
    OutputStats& sums = stats_of(stats, subject, name);
    if (!before.contains(name)) {
      sums.picked = Picked::ByOthers;
      continue;
    }
    // Both are float: then what was picked is compared itself.
    if (fronts_hidden && sums.picked == Picked::ByOthers) sums.picked = Picked::Layered;
    sums.add_sample(0, before.at(name), after.at(name));
  }
  return figures_of(subject, stats, nullptr);
}

}  // namespace

std::shared_ptr<const LoadedModel> load_model(DiagnosisRun& run) {
  const DiagnoseOptions& options = run.options;
  const auto model = std::make_shared<LoadedModel>();
  run.sources.load_runtime_ahead();
  model->precision = run_network_scripts(options.model, options.precision, options.measure.data, run.sources,
                                         [&](const Note& note) { run.warn(note); });
  TypedSource& source = model->typed_source;
  source = options.from ? take_over(*options.from, options.model, run.sources, model->precision)
                        : raise_typed_source(options.model, run.sources, model->precision);
  if (model->precision.ladder && (source.raised || source.quantized)) refuse_ladder_of(options.model);
  Loaded& loaded = model->loaded;
  loaded = load_judged(options.model, preparation_of(model->precision), run.sources);
  loaded.subject.labelled = options.search.task.labels.has_value();
  report_input(run, *model);
  lower_layers(run, *model);
  model->objective = chosen_objective(options, run.sources, *loaded.original, loaded.views);
  refuse_wrong_journal(run, source, model->plan);
  run.report.reference = prove_prepared(loaded);
  run.note(notes_of_unmeasured(loaded.subject.layers, model->plan));
  run.note(notes_of_loops(loaded.subject.model, loaded.subject.layers));
  return model;
}

void refuse_wrong_journal(const DiagnosisRun& run, const TypedSource& source, const Plan& plan) {
  Journal::Identity identity;
  const bool rewritten = run.repairs != nullptr || (source.raised && run.report.data_sha256.empty());
  if (!rewritten) identity["model_sha256"] = plan.model_sha256;
  if (!run.report.data_sha256.empty()) identity["data_sha256"] = run.report.data_sha256;
  require_journal_of(run.options.search.journal, identity, run.options.search.resume);
}

}  // namespace vernier
