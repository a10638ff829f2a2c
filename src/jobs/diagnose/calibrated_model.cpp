#include "jobs/diagnose/calibrated_model.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/alike_samples.h"
#include "engines/onnxruntime/runtime.h"
#include "jobs/common/halves.h"
#include "jobs/data_check/check_inputs.h"
#include "jobs/diagnose/single_sensitivities.h"
#include "jobs/diagnose/typed_result.h"
#include "jobs/search/golden.h"
#include "json/fields.h"
#include "json/json.h"
#include "plan/calibrate.h"
#include "plan/scheme.h"
#include "vernier/calibrate.h"
#include "vernier/format.h"

namespace vernier {
namespace {

/// The reference run, and what the scales come from.
struct ReferenceRun {
  std::optional<CachedCalibration> cached;  // ranges of a file
  Reference reference;
  std::shared_ptr<const Reference> golden;  // null: none is given
};

const SampleSource& calibration_samples(const Loaded& loaded) {
  return loaded.calibration ? *loaded.calibration : *loaded.samples;
}

std::map<std::string, Format> quantized(const LoadedModel& model) {
  return formats_to_calibrate(model.loaded.subject.model, model.loaded.subject.layers, model.plan);
}

/// Whose ranges are learned: with a cache to write, those of all that it holds.
std::map<std::string, Format> to_learn(const DiagnoseOptions& options, const LoadedModel& model, bool cached) {
  const bool writes = !cached && !options.measure.calibration_cache.empty();
  return writes ? tensors_for_file(model.loaded.subject.layers, quantized(model)) : quantized(model);
}

std::optional<CachedCalibration> read_cache(const DiagnoseOptions& options, const LoadedModel& model) {
  const Loaded& loaded = model.loaded;
  const std::map<std::string, Format> tensors = quantized(model);
  const Lacking lacking = calibration_samples(loaded).is_random() ? Lacking::Refuse : Lacking::Allow;
  auto cached = read_calibration_cache(options.measure.calibration_cache, *loaded.original, loaded.subject.layers,
                                       tensors, options.precision.calibration, lacking);
  if (!cached) check_method(options.precision.calibration, tensors);
  return cached;
}

Reference run_float_model(const DiagnoseOptions& options, const LoadedModel& model, bool cached) {
  const Subject& subject = model.loaded.subject;
  std::set<std::string> observed = tensors_to_observe(subject);
  observed.merge(tensors_to_calibrate(subject.model, subject.layers, model.plan));
  std::set<std::string> counted;
  if (!cached && !model.loaded.calibration) {
    const std::map<std::string, Format> tensors = to_learn(options, model, cached);
    for (const auto& [tensor, format] : tensors) observed.insert(tensor);
    counted = to_count(options.precision.calibration, tensors);
  }
  return run_reference(subject, observed, counted, Counting::All, model.loaded.partial.get());
}

FilledScales fill(const DiagnoseOptions& options, const LoadedModel& model, ReferenceRun& seen, Plan& plan) {
  const Loaded& loaded = model.loaded;
  const std::map<std::string, Format> tensors = to_learn(options, model, seen.cached.has_value());
  Subject own = loaded.subject;
  if (tensors.empty())
    return {calibrate_plan(plan, own.model, own.layers, {}, own.progress), {}};  // weights alone may have scales
  const CalibrationChoice& choice = options.precision.calibration;
  const std::filesystem::path& file = options.measure.calibration_cache;
  if (loaded.calibration) own.samples = loaded.calibration.get();
  if (seen.cached) {
    fill_lacking(*seen.cached, file, plan, own, tensors, choice);
    return fill_scales(plan, own.model, own.layers, model.precision, *seen.cached);
  }
  Reference other;
  if (loaded.calibration) {
    std::set<std::string> observed;
    for (const auto& [tensor, format] : tensors) observed.insert(tensor);
    other = run_reference(own, observed, to_count(choice, tensors), Counting::All, loaded.partial.get());
  }
  return fill_scales(plan, own.model, own.layers, own, tensors, choice, loaded.calibration ? other : seen.reference,
                     *loaded.original, file, loaded.partial.get());
}

std::optional<Note> warning_of_inputs(const DiagnosisRun& run, const Loaded& loaded, const OutputStore& outputs) {
  const std::string of = run.store == nullptr ? std::string() : input_warning_identity(loaded);
  const std::string kept =
      words_kept_in(run.store.get(), of.empty() ? of : "inputs, typed " + loaded.subject.runtime->version() + of, [&] {
        const std::optional<Note> found = input_warning(loaded, run.sinks, &outputs);
        return found ? json_text(json_of(*found)) : "";
      });
  return kept.empty() ? std::nullopt : std::optional(parse_as<Note>(kept, "warning of inputs"));
}

/// Where a step does not go over all samples, or goes over them once for each layer.
void expect_steps(DiagnosisRun& run, const Experiment& experiment) {
  constexpr double kExplained = 8, kPictured = 4;  // samples
  const auto samples = static_cast<double>(std::max<std::size_t>(experiment.subject().samples->size(), 1));
  run.steps.expect("sensitivity", 1 + expected_sample_inferences(experiment) / samples);
  run.steps.expect("causes", 1 + std::min(1.0, kExplained / samples) * 6);
  run.steps.expect("pictures", 0.5 + std::min(1.0, kPictured / samples) * 4);
}

/// Whether samples teach the network something, and halves of them can judge it.
bool cross_fits(const DiagnosisRun& run, const Loaded& loaded, const Teacher& teacher, const Plan& plan) {
  const DiagnoseOptions& options = run.options;
  const SearchOptions& search = options.search;
  // A script is shown the samples without their numbers, and may know what belongs to them by their order.
  const bool others_decide = search.task.function || search.task.metric || search.check || search.compare;
  const bool halved = options.measure.cross_fit && count_distinct(*loaded.samples) >= kFewestToHalve &&
                      !loaded.samples->is_random() && !loaded.calibration && loaded.subject.carries.empty();
  const bool learns = teacher.learns_ranges(loaded.subject, plan) ||
                      (run.repairs != nullptr && std::ranges::any_of(options.precision.low, needs_scale));
  return halved && !others_decide && learns;
}

/// Null: it is not cross-fitted.
std::shared_ptr<CrossFit> taught_halves(DiagnosisRun& run, const Loaded& loaded, const Teacher& teacher,
                                        const Plan& plan) {
  if (!cross_fits(run, loaded, teacher, plan)) return nullptr;
  run.report.cross_fit = true;
  return std::make_shared<CrossFit>(teacher, loaded.subject);
}

/// The sample in the middle, by the elements of these inputs.
std::size_t usual_sample(const std::vector<const SeenShapes*>& inputs, std::size_t samples) {
  std::vector<std::pair<std::int64_t, std::size_t>> sizes;
  for (std::size_t sample = 0; sample < samples; ++sample) {
    std::int64_t elements = 0;
    for (const SeenShapes* input : inputs) elements += element_count(input->each[sample]);
    sizes.emplace_back(elements, sample);
  }
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>((sizes.size() - 1) / 2);
  std::ranges::nth_element(sizes, middle);
  return middle->second;
}

/// What the user says that an engine should be fast for.
std::optional<Shape> given_shape(const DiagnoseOptions& options, const std::string& input) {
  if (options.compile) {
    if (const auto shape = options.compile->shapes.find(input); shape != options.compile->shapes.end())
      return shape->second;
  }
  const auto range = options.engine.shapes.find(input);
  if (range == options.engine.shapes.end() || range->second.opt.empty()) return std::nullopt;
  return range->second.opt;
}

void report_open_inputs(DiagnosisRun& run, const Model& original, const Reference& reference) {
  DiagnoseReport& report = run.report;
  std::vector<const SeenShapes*> not_given;
  for (const InputInfo& input : model_inputs(original)) {
    const auto shapes = reference.inputs.find(input.name);
    if (shapes == reference.inputs.end() || std::ranges::none_of(input.shape, [](auto d) { return d < 0; })) continue;
    const SeenShapes& seen = shapes->second;
    OpenInput open{input.name, seen.each.front(), seen.least, seen.most, given_shape(run.options, input.name)};
    if (!open.usual) not_given.push_back(&seen);
    for (std::size_t i = 0; open.usual && i < open.usual->size() && i < open.least.size(); ++i) {
      open.least[i] = std::min(open.least[i], (*open.usual)[i]);
      open.most[i] = std::max(open.most[i], (*open.usual)[i]);
    }
    report.open_inputs.push_back(std::move(open));
  }
  if (not_given.empty()) return;
  report.usual_sample = usual_sample(not_given, not_given.front()->each.size());
  for (OpenInput& open : report.open_inputs) {
    if (!open.usual) open.usual = reference.inputs.at(open.name).each[*report.usual_sample];
  }
}

ReferenceRun run_reference(DiagnosisRun& run, const std::shared_ptr<const LoadedModel>& model) {
  const Loaded& loaded = model->loaded;
  const Subject& subject = loaded.subject;
  DiagnoseReport& report = run.report;
  ReferenceRun seen{read_cache(run.options, *model), {}, nullptr};
  if (seen.cached) {
    if (seen.cached->lacking.empty()) report.calibrated_on_evaluation_samples = false;
    report.scheme = scheme_text(run.options.precision, seen.cached->scheme_words);
  }
  Reference& reference = seen.reference;
  reference = run_float_model(run.options, *model, seen.cached.has_value());
  run.optionally("the check of the inputs", [&] {
    if (const auto found = warning_of_inputs(run, loaded, reference.outputs)) run.warn(*found);
  });
  expect_steps(run, Experiment(subject_of(model), nullptr, {}, reference.shapes, model->plan, model->candidates));
  report.data_sha256 = reference.data_sha256;
  report_open_inputs(run, *loaded.original, reference);
  if (!run.options.search.golden.empty()) {
    seen.golden = std::make_shared<const Reference>(golden_reference(subject, reference, run.options.search.golden));
  }
  for (const Note& note : require_comparable(reference.totals, run.requirement())) run.warn(note);
  if (const auto alike = alike_samples_note(subject)) run.warn(*alike);
  return seen;
}

std::shared_ptr<const CalibratedModel> fill_scales(DiagnosisRun& run, const std::shared_ptr<const LoadedModel>& model,
                                                   ReferenceRun seen) {
  const Loaded& loaded = model->loaded;
  Plan plan = model->plan;
  const FilledScales filled = fill(run.options, *model, seen, plan);
  seen.reference.histograms.clear();
  if (const auto resumed = resumed_note(loaded)) run.note({*resumed});
  for (const Note& note : filled.warnings) run.warn(note);
  run.note(filled.notes);
  run.note(keep_scales(model->typed_source, loaded.subject.model, plan));
  if (model->typed_source.raised) {
    run.writing([&] { write_float(run.options, loaded, loaded.subject.model, plan, run.report.files); });
  }
  refuse_wrong_journal(run, model->typed_source, plan);
  std::shared_ptr<const CachedCalibration> cached;
  if (seen.cached) cached = std::make_shared<const CachedCalibration>(std::move(*seen.cached));
  const Teacher teacher(loaded, model->precision, cached.get(), model->typed_source);
  std::shared_ptr<CrossFit> halves = taught_halves(run, loaded, teacher, plan);
  FloatRuns runs{std::make_shared<const Reference>(std::move(seen.reference)), std::move(seen.golden)};
  return std::make_shared<const CalibratedModel>(
      CalibratedModel{model, std::move(cached), std::move(runs), std::move(plan), teacher, std::move(halves)});
}

}  // namespace

std::shared_ptr<const CalibratedModel> calibrate(DiagnosisRun& run, const std::shared_ptr<const LoadedModel>& model) {
  ReferenceRun seen = run.step("reference run", [&] { return run_reference(run, model); });
  return run.step("calibration", [&] { return fill_scales(run, model, std::move(seen)); });
}

std::shared_ptr<const CalibratedModel> calibrated_first(DiagnosisRun& run) {
  const DiagnoseReport& first = run.option->report_first;
  DiagnoseReport& report = run.report;
  report.onnxruntime_version = first.onnxruntime_version;
  report.on_gpu = first.on_gpu;
  report.model_file = first.model_file;
  report.model_sha256 = first.model_sha256;
  report.data = first.data;
  report.data_sha256 = first.data_sha256;
  report.samples = first.samples;
  report.random_data = first.random_data;
  report.open_inputs = first.open_inputs;
  report.usual_sample = first.usual_sample;
  report.reference = first.reference;
  report.excluded = first.excluded;
  report.scheme = first.scheme;
  report.calibrated_on_evaluation_samples = first.calibrated_on_evaluation_samples;
  report.cross_fit = first.cross_fit;
  report.low = first.low;
  const std::shared_ptr<const CalibratedModel>& model = run.option->calibrated_first;
  const LoadedModel& loaded = *model->model;
  refuse_wrong_journal(run, loaded.typed_source, model->plan);
  if (model->halves != nullptr) return model;
  auto own = std::make_shared<CalibratedModel>(*model);
  own->halves = taught_halves(run, loaded.loaded, own->teacher, own->plan);  // repairs are learned where ranges are not
  return own;
}

}  // namespace vernier
