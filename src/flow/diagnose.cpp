// The main job. run() below reads as the flow: each step one call, each timed.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include "check/check_loop.h"
#include "compare/effect.h"
#include "compare/own_error.h"
#include "core/file.h"
#include "core/text.h"
#include "engine/ort/runtime.h"
#include "flow/calibrated_plan.h"
#include "flow/evidence.h"
#include "flow/experiment.h"
#include "flow/figures.h"
#include "flow/golden.h"
#include "flow/judge.h"
#include "flow/kept_set.h"
#include "flow/latency.h"
#include "flow/layer_times.h"
#include "flow/network_scripts.h"
#include "flow/objective.h"
#include "flow/setup.h"
#include "flow/stopwatch.h"
#include "flow/verify.h"
#include "plan/calibrate.h"
#include "plan/lower_typed.h"
#include "plan/scheme.h"
#include "plan/simulate_typed.h"
#include "vernier/error.h"
#include "vernier/jobs.h"

namespace vernier {
namespace {

/// How many samples the effects of single layers are measured on: six, and fewer where that takes long. Each layer
/// costs about half an inference a sample. Decided by work, not by time: the same network gives the same answer
/// everywhere.
std::size_t effect_sample_count(std::int64_t macs_of_a_sample, std::size_t layers) {
  constexpr double kWork = 8e11;  // multiply-accumulates: about ten seconds on two cores
  const double work = static_cast<double>(std::max<std::int64_t>(macs_of_a_sample, 1)) * static_cast<double>(layers);
  return static_cast<std::size_t>(std::clamp(kWork / work, 2.0, 6.0));
}

/// Samples for single effects: mostly the hardest under all-low, the rest spread evenly, so that no single photo
/// decides.
std::vector<std::size_t> effect_samples(const std::vector<double>& noise, std::size_t wanted) {
  std::vector<std::size_t> order(noise.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return noise[a] > noise[b]; });
  std::vector<std::size_t> chosen(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(std::min(order.size(), (wanted + 1) / 2)));
  const std::size_t spread = std::min(wanted, order.size()) - chosen.size();
  for (std::size_t k = 0; k < spread; ++k) {
    std::size_t at = (2 * k + 1) * noise.size() / (2 * spread);
    while (std::find(chosen.begin(), chosen.end(), at % noise.size()) != chosen.end()) ++at;
    chosen.push_back(at % noise.size());
  }
  return chosen;
}

class Diagnosis {
 public:
  Diagnosis(const DiagnoseOptions& options, const JobSinks& sinks)
      : options_(options), sinks_(sinks), watch_(report_.phases) {}

  DiagnoseReport run() {
    describe();
    keep_inputs_safe();
    step("load", [&] { load_model(); });
    make_output_folder();
    try {
      step("reference run", [&] { reference(); });
      step("calibration", [&] { calibrate(); });
      if (ranks_layers()) step("own error", [&] { own_errors(); });
      step("all-low lock-step", [&] { all_low(); });
      if (ranks_layers()) step("effect on the output", [&] { effects(usual_samples()); });
      rank();
      if (searches()) {
        search();
      } else {
        step("curve", [&] { curve(); });
      }
      if (!report_.final_figures && !report_.typed) write_and_verify();
      if (!stopped() && options_.latency) step("latency", [&] { latency(); });
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Interrupted) throw;
      watch_.stop();
      rank();
      report_.interrupted = true;
      warn("interrupted: what was not measured is absent");
      write_record();
      throw;
    }
    watch_.stop();
    write_record();
    return report_;
  }

 private:
  const Requirement* requirement() const {
    return options_.measure.requirement ? &*options_.measure.requirement : nullptr;
  }
  /// A list that is walked needs no effects of single layers.
  bool ranks_layers() const { return !searches() || options_.search.mode == SearchMode::Minimal; }
  bool searches() const { return requirement() != nullptr || objective_ != nullptr || options_.search.check; }
  bool stopped() const { return sinks_.interrupted && sinks_.interrupted(); }

  template <class Body>
  void step(const std::string& name, const Body& body) {
    watch_.phase(name);
    body();
    say_seconds();
  }

  /// Ends the phase that runs, if any.
  void say_seconds() {
    if (!watch_.stop() || !sinks_.info) return;
    sinks_.info(fmt::format("{}: {:.2f} s", report_.phases.back().phase, report_.phases.back().seconds));
  }

  void warn(const std::string& text) {
    report_.warnings.push_back(text);
    if (sinks_.warning) sinks_.warning(text);
  }

  void describe() {
    if (options_.precision.low.empty()) {
      throw Error(ErrorKind::Usage, "no low precision was chosen", "give --int8, --fp16, --bf16 or --fp8");
    }
    const auto without_kernels =
        std::find_if(options_.precision.low.begin(), options_.precision.low.end(),
                     [](Format format) { return format != Format::Int8 && format != Format::UInt8; });
    if (options_.search.cost == CostUnit::Time && without_kernels != options_.precision.low.end()) {
      throw Error(
          ErrorKind::Usage,
          fmt::format("--cost time: ONNX Runtime's CPU kernels compute {} in float32, so their time says nothing",
                      format_name(*without_kernels)),
          "--cost macs or --cost bytes; time works with --int8");
    }
    report_.command = options_.command;
    report_.vernier_version = VERNIER_VERSION;
    report_.onnx_version = VERNIER_ONNX_VERSION;
    report_.machine = machine_text();
    report_.target = options_.precision.target;
    report_.low = options_.precision.low;
    report_.high = options_.precision.high;
    report_.requirement = options_.measure.requirement;
    report_.scheme = scheme_text(options_.precision);
    report_.runner = options_.precision.target == "tensorrt" ? "trt-sim" : "sim-" + options_.precision.target;
    report_.calibrated_on_evaluation_samples = !options_.measure.calibration_data.has_value();
  }

  void load_model() {
    const PrecisionOptions precision = run_network_scripts(options_.model, options_.precision, options_.measure.data,
                                                           sinks_, [&](const std::string& text) { warn(text); });
    loaded_ = load(options_.model, formats_named(precision), options_.measure, sinks_);
    report_.onnxruntime_version = subject().runtime->version();
    report_.model_file = options_.model.string();
    report_.model_sha256 = loaded_.original.sha256;
    report_.data = loaded_.samples->description();
    report_.samples = loaded_.samples->size();
    report_.random_data = loaded_.samples->is_random();
    for (const std::string& text : loaded_.warnings) warn(text);
    report_.notes = loaded_.notes;
    AssignedFormats assigned = assign_formats(subject().model, subject().layers, precision);
    for (const std::string& text : assigned.warnings) warn(text);
    if (assigned.candidates.empty()) {
      throw Error(ErrorKind::Input, fmt::format("{}: no layer can run in the formats asked", options_.model.string()),
                  "list the layers with: vernier inspect model MODEL --show layers");
    }
    objective_ = make_objective();
    experiment_.emplace(subject(), requirement(), std::move(assigned.plan), std::move(assigned.candidates));
    report_.reference = prove_prepared(loaded_);
    std::size_t inside = 0;
    for (const Layer& layer : subject().layers) inside += layer.graph.empty() ? 0 : 1;
    if (inside > 0) {
      report_.notes.push_back(fmt::format("{} inside bodies of If, Loop or Scan: lowered, but not measured one by one",
                                          plural(inside, "layer")));
    }
  }

  void keep_inputs_safe() const {
    if (options_.output.empty()) return;
    std::vector<std::filesystem::path> inputs = source_files(options_.measure);
    inputs.push_back(options_.model);
    for (std::filesystem::path& script : script_files(options_.precision)) inputs.push_back(std::move(script));
    if (!options_.measure.calibration_cache.empty()) inputs.push_back(options_.measure.calibration_cache);
    for (const char* file : {"model.onnx", "model.onnx.data", "plan.json", "report.json", "deploy.md"}) {
      refuse_to_overwrite(options_.output / file, inputs);
    }
  }

  /// Before anything is measured: minutes of work must not end at a folder that cannot be made.
  void make_output_folder() const {
    if (options_.output.empty()) return;
    std::error_code failure;
    std::filesystem::create_directories(options_.output, failure);
    if (failure) throw Error(ErrorKind::Input, fmt::format("{}: {}", options_.output.string(), failure.message()));
  }

  void reference() {
    std::set<std::string> observed = tensors_to_observe(subject());
    observed.merge(tensors_to_calibrate(subject().model, subject().layers, all_low_plan()));
    const std::map<std::string, Format> tensors = quantized();
    cached_ = read_calibration_cache(options_.measure.calibration_cache, loaded_.original, subject().layers, tensors);
    if (!cached_) check_method(options_.precision.calibration, tensors);
    const bool learns = !cached_ && !loaded_.calibration;
    experiment_->reference = run_reference(
        subject(), observed, learns ? to_count(options_.precision.calibration, tensors) : std::set<std::string>());
    report_.data_sha256 = experiment_->reference.data_sha256;
    if (!options_.search.golden.empty()) {
      experiment_->golden = golden_reference(subject(), experiment_->reference, options_.search.golden);
    }
    for (const auto& [name, stats] : experiment_->reference.totals) {
      if (stats.pooled.ref_nonfinite > 0) {
        warn(fmt::format("the float model itself gives {} values that are not finite in output '{}': they are left out",
                         stats.pooled.ref_nonfinite, printable(name)));
      }
    }
  }

  void calibrate() {
    const std::map<std::string, Format> tensors = quantized();
    if (tensors.empty()) return use_ranges({}, {});  // weights alone may have scales
    if (cached_) {
      for (const std::string& text : cached_->warnings) warn(text);
      use_ranges(cached_->cache.ranges, {cached_->note});
      return;
    }
    const CalibrationChoice& choice = options_.precision.calibration;
    Subject own = subject();
    Reference other;
    if (loaded_.calibration) {
      own.samples = loaded_.calibration.get();
      std::set<std::string> observed;
      for (const auto& [tensor, format] : tensors) observed.insert(tensor);
      other = run_reference(own, observed, to_count(choice, tensors));
    }
    Reference& seen = loaded_.calibration ? other : experiment_->reference;
    const LearnedRanges learned = learn_ranges(own, all_low_plan(), tensors, choice, seen);
    for (const std::string& text : learned.warnings) warn(text);
    use_ranges(learned.chosen.ranges, learned.notes);
    for (const std::string& text : write_calibration_cache(options_.measure.calibration_cache, loaded_.original,
                                                           tensors, learned, choice, own.samples->is_random())) {
      warn(text);
    }
    experiment_->reference.histograms.clear();
  }

  std::map<std::string, Format> quantized() const {
    return formats_to_calibrate(subject().model, subject().layers, all_low_plan());
  }

  void use_ranges(const Ranges& ranges, const std::vector<std::string>& notes) {
    for (const std::string& text :
         calibrate_plan(experiment_->mutable_plan(), subject().model, subject().layers, ranges)) {
      warn(text);
    }
    for (const std::string& note : notes) {
      report_.notes.push_back(note);
      experiment_->mutable_plan().scheme += "; " + note;
    }
  }

  void own_errors() {
    for (LayerError& error : own_error(subject(), all_low_plan(), experiment_->weights)) {
      evidence_.own[error.layer] = std::move(error);
    }
  }

  void all_low() {
    const std::vector<Match> matches = match_layer_outputs(subject());
    experiment_->run_all_low(matches);
    for (std::size_t i = 0; i < matches.size(); ++i) {
      evidence_.propagated[matches[i].ref] = experiment_->all_low().errors[i];
    }
    report_.all_low = figures_of(subject().judged, experiment_->all_low().outputs, requirement());
    if (!experiment_->all_high_is_reference()) {
      const TrialResult high = experiment_->run_keeping(experiment_->candidate_names(), requirement(),
                                                        all_samples(subject()), /*early_stop=*/false);
      report_.all_high = figures_of(subject().judged, high.outputs, requirement());
    }
  }

  /// Layers whose effect can be measured alone.
  std::vector<std::string> singles() const {
    std::vector<std::string> single;
    for (const Layer* layer : experiment_->candidates()) {
      if (layer->graph.empty()) single.push_back(layer->name);
    }
    return single;
  }

  std::size_t usual_samples() const { return effect_sample_count(total_macs(*experiment_), singles().size()); }

  void effects(std::size_t samples) {
    if (!subject().carries.empty()) return effects_by_trials(singles());
    EffectOptions effect_options;
    effect_options.samples = effect_samples(experiment_->all_low().sample_noise, samples);
    effect_samples_ = effect_options.samples.size();
    const Effects measured = measure_effects(subject(), all_low_plan(), singles(), experiment_->reference,
                                             experiment_->weights, effect_options);
    for (const LayerEffect& effect : measured.layers) evidence_.alone[effect.layer] = effect.outputs;
  }

  /// When the ranking is poor: three times as many samples.
  bool measure_more() {
    const std::size_t more = std::min(subject().samples->size(), 3 * effect_samples_);
    if (!subject().carries.empty() || more <= effect_samples_) return false;
    effects(more);
    return true;
  }

  /// With carried states a suffix would need the state of every sample before: whole runs over a short sequence
  /// instead.
  void effects_by_trials(const std::vector<std::string>& single) {
    std::vector<std::size_t> order = all_samples(subject());
    order.resize(std::min<std::size_t>(order.size(), 64));
    for (const std::string& name : single) {
      std::vector<std::string> others;
      for (const Layer* other : experiment_->candidates()) {
        if (other->name != name) others.push_back(other->name);
      }
      evidence_.alone[name] = experiment_->run_keeping(others, nullptr, order, /*early_stop=*/false).outputs;
    }
  }

  void rank() {
    if (experiment_) report_.layers = ranked_rows(*experiment_, evidence_);
  }

  /// What decides where no requirement and no check does; null: nothing else.
  std::unique_ptr<Objective> make_objective() const {
    const SearchOptions& search = options_.search;
    if (requirement() != nullptr || search.check) return nullptr;
    if (search.labels) return label_objective(*search.labels, subject().samples->size());
    if (search.metric) {
      SourceOptions how = options_.measure.data;
      how.interrupted = sinks_.interrupted;
      return metric_objective(*search.metric, how);
    }
    return search.compare ? comparison_objective(search) : nullptr;
  }

  /// What decides, in words: for the report and the journal.
  std::string objective_text() const {
    if (options_.search.check) {
      std::string command = "--check";
      for (const std::string& word : options_.search.check->command) command += " " + word;
      return command;
    }
    std::string text = objective_ != nullptr ? objective_->text() : std::string(metric_option(requirement()->metric));
    if (objective_ == nullptr) {
      for (const Limit& limit : requirement()->limits) {
        text += fmt::format(" {}{}{:.17g}", limit.output, limit.output.empty() ? "" : ":", limit.value);
      }
    }
    const std::filesystem::path& golden = options_.search.golden;
    return text + (golden.empty() ? "" : fmt::format(", against {}", printable(golden.string())));
  }

  /// The written file has the last word: what misses in it is searched again with less allowance.
  void search() {
    watch_.phase("search");
    std::optional<TestRow> file_test;
    SearchRequest request;
    request.options = options_.search;
    request.objective = objective_.get();
    request.objective_text = objective_text();
    request.measure_more = [&] { return measure_more(); };
    request.rank = [&] {
      say_seconds();
      step("effect on the output", [&] { effects(usual_samples()); });
      watch_.phase("minimal search");
    };
    request.confirm = [&](const KeptSetReport& found) {
      say_seconds();
      report_.kept = found;
      write_and_verify();
      double damage = std::numeric_limits<double>::quiet_NaN();
      if (objective_ != nullptr && !stopped()) {
        file_test = test_of_file(found);
        damage = file_test->damage;
      } else if (report_.final_figures && report_.final_figures->damage) {
        damage = *report_.final_figures->damage;
      }
      if (!(damage <= 1)) watch_.phase("search");
      return damage;
    };
    std::optional<CheckLoop> loop;
    if (options_.search.check) {
      const CheckIdentity identity{"debug precision", options_.model.string(), report_.model_sha256,
                                   fmt::format("scheme={}", report_.scheme), objective_text()};
      loop.emplace(*options_.search.check, identity, sinks_, options_.search.check_sinks);
      request.external = [&](const std::vector<std::string>& kept) { return trial_of_check(*loop, kept); };
    }
    LayerTimes times;
    if (options_.search.cost == CostUnit::Time) {
      times = measure_layer_times(subject().runtime, loaded_.original,
                                  lower_typed(exported_model(), all_low_plan(), false).model, subject().samples->at(0));
      request.times = &times;
    }
    report_.kept = find_kept_set(*experiment_, evidence_, request, sinks_);
    report_.kept->file_test = file_test;
    say_seconds();
    const std::set<std::string> kept(report_.kept->layers.begin(), report_.kept->layers.end());
    for (LayerRow& row : report_.layers) row.kept = kept.contains(row.name);
  }

  /// An outside program looks at the typed model with these layers kept.
  Trial trial_of_check(CheckLoop& loop, const std::vector<std::string>& kept) {
    const CheckLoop::Result result = loop.check({{"kept", kept}}, "", [&](const std::filesystem::path& path) {
      write_model(lower_typed(exported_model(), experiment_->plan_keeping(kept), /*strict=*/false).model, path,
                  {options_.external_data});
    });
    Trial trial;
    trial.verdict = result.verdict;
    trial.why = result.why;
    return trial;
  }

  /// The typed model, simulated from what it says, by the objective.
  TestRow test_of_file(const KeptSetReport& found) {
    Judge judge(*experiment_, objective_.get(), /*early_stop=*/false);
    const Trial trial = judge.of_model(simulate_typed(typed_).model, /*early_stop=*/false);
    return {found.layers, trial.verdict == Verdict::Good ? "good" : "bad", trial.metric, trial.damage, false,
            trial.why};
  }

  void curve() { report_.curve = quality_curve(*experiment_, evidence_, report_.layers); }

  Plan final_plan() const { return report_.kept ? experiment_->plan_keeping(report_.kept->layers) : all_low_plan(); }

  /// The model that typed lowering edits: prepared, but with its Ifs as the file has them.
  const Model& exported_model() {
    if (!loaded_.inlined_ifs) return subject().model;
    if (exported_.proto.ByteSizeLong() == 0) {
      PrepareOptions prepare_options;
      for (const PlannedLayer& layer : all_low_plan().layers) prepare_options.formats.insert(layer.format);
      prepare_options.min_opset = default_opset(subject().model.proto);
      exported_ = prepare(loaded_.original, prepare_options, evaluator(subject().runtime)).model;
    }
    return exported_;
  }

  void write_and_verify() {
    report_.final_figures.reset();
    step("typed model", [&] { write_typed(); });
    if (!stopped()) step("verify", [&] { verify_typed_model(); });
  }

  void write_typed() {
    TypedModel typed = lower_typed(exported_model(), final_plan(), /*strict=*/false);
    TypedReport info;
    info.casts = typed.casts;
    info.quantize_pairs = typed.quantize_pairs;
    info.weight_bytes = typed.weight_bytes;
    info.original_weight_bytes = weight_bytes(loaded_.original);
    info.notes = typed.notes;
    if (!options_.output.empty()) {
      const std::filesystem::path file = options_.output / "model.onnx";
      write_model(typed.model, file, {options_.external_data});
      info.file = file.string();
      report_.files["model"] = file.string();
      const std::filesystem::path plan_file = options_.output / "plan.json";
      replace_file(plan_file, plan_to_json(final_plan()));
      report_.files["plan"] = plan_file.string();
    }
    typed_ = std::move(typed.model);
    report_.typed = std::move(info);
  }

  /// The claim. Without a folder to write to, the model that would have been written is measured.
  void verify_typed_model() {
    const bool written = !options_.output.empty();
    // Nothing to claim: all low, or all high, was measured already.
    if (!written && (!report_.kept || report_.kept->end == "impossible")) return;
    VerifyOptions verify_options;
    verify_options.float_model = options_.model;
    verify_options.measure = options_.measure;
    if (written) verify_options.typed_model = report_.files.at("model");
    const JobSinks quiet{sinks_.progress, {}, {}, sinks_.interrupted};
    const VerifyReport verified = written ? verify(verify_options, quiet) : verify_model(typed_, verify_options, quiet);
    report_.final_figures = verified.figures;
  }

  void latency() {
    LatencyReport latency;
    latency.threads = static_cast<int>(subject().threads);
    const bool integer = std::any_of(options_.precision.low.begin(), options_.precision.low.end(),
                                     [](Format format) { return format == Format::Int8 || format == Format::UInt8; });
    const Sample sample = subject().samples->at(0);
    latency.float_ms = median_latency_ms(subject().runtime, loaded_.original, sample, latency.threads);
    if (integer) {
      const TypedModel low = lower_typed(exported_model(), all_low_plan(), false);
      latency.low_ms = median_latency_ms(subject().runtime, low.model, sample, latency.threads);
      if (report_.kept && !report_.kept->layers.empty()) {  // else the two are one network
        latency.repaired_ms = median_latency_ms(subject().runtime, typed_, sample, latency.threads);
      }
      latency.note =
          options_.precision.target == "tensorrt"
              ? "the tensorrt placement quantizes inputs only, which ONNX Runtime's CPU kernels do not fuse: "
                "there it is slower than float; engines that fuse it are not"
              : "";
    } else {
      latency.note =
          "ONNX Runtime's CPU kernels compute these formats in float32, or not at all: their latency there says "
          "nothing";
    }
    report_.latency = std::move(latency);
  }

  void write_record() {
    if (options_.output.empty()) return;
    const std::filesystem::path report_file = options_.output / "report.json";
    const std::filesystem::path deploy_file = options_.output / "deploy.md";
    report_.files["report"] = report_file.string();
    if (report_.typed) {
      report_.files["deploy"] = deploy_file.string();
      replace_file(deploy_file, deploy_markdown(report_));
    }
    replace_file(report_file, report_to_json(report_));
  }

  Subject& subject() { return loaded_.subject; }
  const Subject& subject() const { return loaded_.subject; }
  const Plan& all_low_plan() const { return experiment_->all_low_plan(); }

  const DiagnoseOptions& options_;
  const JobSinks& sinks_;
  DiagnoseReport report_;
  Stopwatch watch_;
  Loaded loaded_;
  std::optional<CachedCalibration> cached_;
  std::optional<Experiment> experiment_;  // from load_model() on
  Evidence evidence_;
  std::unique_ptr<Objective> objective_;  // null: the requirement decides, if there is one
  std::size_t effect_samples_ = 0;        // that the effects rest on
  Model typed_;
  Model exported_;
};

}  // namespace

DiagnoseReport diagnose(const DiagnoseOptions& options, const JobSinks& sinks) {
  return Diagnosis(options, sinks).run();
}

}  // namespace vernier
