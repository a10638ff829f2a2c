// A float model and a plan (a file, or made from the precision options) -> a typed ONNX model.

#include "vernier/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/beside_known.h"
#include "analysis/figures.h"
#include "base/file.h"
#include "base/text.h"
#include "distributed/ranks.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "jobs/common/calibrated_plan.h"
#include "jobs/common/load.h"
#include "jobs/common/median_latency.h"
#include "jobs/common/output_files.h"
#include "jobs/common/runtime_check.h"
#include "jobs/common/sources.h"
#include "jobs/common/typed_file.h"
#include "jobs/data_check/check_inputs.h"
#include "jobs/engine/compiler.h"
#include "jobs/engine/engine_runner.h"
#include "jobs/engine/host_files.h"
#include "jobs/scripting/model_script.h"
#include "jobs/scripting/network_scripts.h"
#include "jobs/verify/pair_saturation.h"
#include "jobs/verify/verify.h"
#include "model/contents.h"
#include "model/prepare.h"
#include "plan/calibrate.h"
#include "plan/float_interface.h"
#include "plan/lower_typed.h"
#include "plan/overrides.h"
#include "plan/rules/rules.h"
#include "plan/scheme.h"
#include "plan/simulate_typed.h"
#include "plan/target.h"
#include "vernier/calibration.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/measure.h"
#include "vernier/precision.h"
#include "vernier/report/quantize.h"
#include "vernier/sinks.h"
#include "vernier/templates.h"

namespace vernier {
namespace {

Plan read_plan(const QuantizeOptions& options, Sources& sources) {
  const Model& model = *sources.model(options.model);
  Plan plan = plan_from_json(read_text(options.plan), options.plan.string(), &model);
  if (!plan.model_sha256.empty() && plan.model_sha256 != model.sha256) {
    throw Error(ErrorCode::OtherModel,
                fmt::format("{}: the plan was made for another model ({}, sha256 {}...), {} has {}...",
                            options.plan.string(), printable(plan.model_file), plan.model_sha256.substr(0, 12),
                            options.model.name(), model.sha256.substr(0, 12)));
  }
  return plan;
}

void check_plan_names(const Plan& plan, const std::vector<Layer>& layers, const std::string& where) {
  std::vector<std::string> names;
  for (const Layer& layer : layers) names.push_back(layer.name);
  for (const PlannedLayer& layer : plan.layers) {
    if (std::find(names.begin(), names.end(), layer.name) != names.end()) continue;
    const std::vector<std::string> near = nearest_names(layer.name, names);
    throw Error(
        ErrorCode::OtherModel, fmt::format("{}: the model has no layer '{}'", where, printable(layer.name)),
        near.empty() ? "‹vernier inspect model MODEL --show layers› lists them" : "nearest: " + list_some(near));
  }
}

/// What a layer runs in, in words: the format of the plan, or the type of the file where that is another one.
std::string runs_in(const std::string& layer, Format planned, const std::map<std::string, std::string>& other_types) {
  const auto other = other_types.find(layer);
  return planned == Format::Float32 && other != other_types.end() ? other->second : std::string(format_name(planned));
}

std::vector<SkippedLayers> by_reason(const std::vector<SkippedLayer>& layers,
                                     const std::map<std::string, std::string>& other_types) {
  std::vector<SkippedLayers> groups;
  for (SkippedLayer layer : layers) {
    const std::string format = runs_in(layer.name, layer.runs_in, other_types);
    // Most operators that no scheme has are nobody's question: one group, whatever they are.
    if (layer.reason == layer.op_type + " is not an operator of the scheme") layer.reason = "not in the scheme";
    const std::string instead_of = layer.instead_of ? std::string(format_name(*layer.instead_of)) : std::string();
    const auto same = [&](const SkippedLayers& group) {
      return group.reason == layer.reason && group.runs_in == format && group.instead_of == instead_of;
    };
    auto group = std::ranges::find_if(groups, same);
    if (group == groups.end()) {
      groups.push_back({layer.reason, format, instead_of, layer.chosen, {}, {}});
      group = groups.end() - 1;
    }
    group->op_types.push_back(layer.op_type);
    group->layers.push_back(layer.name);
  }
  return groups;
}

/// Why a conversion changed nothing.
Note nothing_low(std::size_t layers, Format high, const std::map<std::string, std::string>& other_types) {
  if (other_types.empty()) return {"nothing-low", {{"format", format_name(high)}}};
  return {"layers-of-other-types",
          {{"count", std::min(other_types.size(), layers)}, {"of", layers}, {"type", other_types.begin()->second}}};
}

/// A plan, and what was found on the way to it.
struct Planned {
  Plan plan;
  std::optional<Loaded> calibrated;  // with the samples of a plan that was calibrated here
  bool nothing_gains = false;        // no layer is low, which was said
};

/// The plan from options for `model`, which is prepared as `prepare_options` say; formats with scales are calibrated on
/// the samples of `sources`.
Planned make_plan(const QuantizeOptions& options, const PrecisionOptions& precision, const Model& model,
                  const std::vector<Layer>& layers, const PrepareOptions& prepare_options,
                  const std::map<std::string, std::string>& other_types, Sources& sources, QuantizeResult& result) {
  AssignedFormats assigned = assign_formats(model, layers, precision);
  append(result.warnings, assigned.warnings);
  append(result.notes, assigned.notes);
  result.skipped = by_reason(assigned.skipped, other_types);
  Planned planned{std::move(assigned.plan), {}, assigned.nothing_gains};
  Plan& plan = planned.plan;
  if (tensors_to_calibrate(model, layers, plan).empty()) {  // no samples needed, none are asked for
    append(result.warnings, calibrate_plan(plan, model, layers, {}, progress_of(sources.sinks())));
    return planned;
  }
  const std::filesystem::path& cache = options.measure.calibration_cache;
  const bool samples_given = !options.measure.data.is_random() || options.measure.calibration_data.has_value();
  if (calibrate_from_cache(plan, model, layers, *sources.model(options.model), precision, cache, result.warnings,
                           samples_given ? Lacking::Allow : Lacking::Refuse)) {
    if (samples_given) {
      result.notes.push_back({"samples-not-read", {{"file", cache.string()}}});
    }
    return planned;
  }
  if (!cache.empty() && !samples_given) {
    result.warnings.push_back({"ranges-of-random-inputs", {{"file", cache.string()}}});
  }
  if (precision.calibration.method != CalibrationMethod::Automatic) {
    sources.output_parts.emplace();  // outputs judge nothing
  }
  const Loaded& loaded = planned.calibrated.emplace(load_judged(options.model, prepare_options, sources));
  append(result.warnings, loaded.warnings);
  if (const auto found = input_warning(loaded, sources.sinks())) result.warnings.push_back(*found);
  append(result.warnings, calibrate_on_samples(plan, model, layers, loaded, precision, cache));
  if (!cache.empty() && !loaded.samples->is_random()) {
    result.notes.push_back({"ranges-kept", {{"file", cache.string()}}});
  }
  return planned;
}

/// A warning where a file with kernels on codes is slower than the float model all the same, since kernel times are
/// those of another machine; else nothing, also where the two differ by less than a busy machine may make them differ.
std::optional<Note> slower_than_float(const Loaded& calibrated, const Plan& plan, const Model& typed) {
  const bool on_codes = std::ranges::any_of(plan.layers, [&](const PlannedLayer& layer) {
    return needs_scale(layer.format) && scaled_scheme(plan.target, layer.format).integer_kernels;
  });
  if (!on_codes) return std::nullopt;
  const Sample sample = calibrated.samples->at(0);
  const auto milliseconds = [&](const Model& model) {
    return median_latency_ms(calibrated.subject.runtime, model, sample, static_cast<int>(calibrated.subject.threads));
  };
  const double in_float = milliseconds(*calibrated.original);
  const double low = milliseconds(fed_with_floats(typed, *calibrated.original));
  if (low < 1.1 * in_float || low < in_float + 0.2) return std::nullopt;
  return Note{"slower-than-float", {{"ms", low}, {"float32_ms", in_float}}};
}

/// A warning where pairs of products saturate on CPUs without VNNI, in the runtime that the file is made for.
std::optional<Note> saturating_pairs_note(const Loaded& calibrated, const Plan& plan, const Model& typed) {
  if (plan.target == Target::TensorRt) return std::nullopt;
  const Subject& subject = calibrated.subject;
  SimulatedFile file = simulate_typed(typed);
  bring_beside(calibrated, typed, file.model);
  const PairSaturation saturation = measure_pair_saturation(subject, typed, file, plan.target, nullptr);
  if (!saturation.found) return std::nullopt;
  const BesideKnown exact = run_beside_known(subject, std::move(file.model), outputs_of_float(subject));
  return saturation_note(*saturation.found, figures_of(subject, exact.outputs, nullptr), std::nullopt,
                         /*in_sample=*/true);
}

/// What ONNX Runtime says of the file that is written, for whoever tries it there.
void try_written(const Model& typed, const QuantizeOptions& options, Target target, const Loaded* calibrated,
                 Sources& sources, QuantizeResult& result) {
  const Model fed = fed_with_floats(typed, *sources.model(options.model));
  // Samples that were not read stay unread.
  SourceOptions random;
  const bool given = !options.measure.data.is_random();
  const std::shared_ptr<const SampleSource> samples =
      calibrated != nullptr ? calibrated->samples
                            : samples_for(fed, given ? random : options.measure.data, sources.sinks());
  result.onnxruntime = try_on_runtime(sources.runtime(), fed, *samples);
  if (too_large_to_try(typed)) result.typed.notes.push_back({"too-large-to-try", {}});
  if (!result.onnxruntime) return;
  const std::optional<Note> note = refusal_note(*result.onnxruntime, sources.runtime()->version());
  if (!note) return;
  if (target != Target::OnnxRuntime) {
    result.typed.notes.push_back(*note);
    return;
  }
  result.warnings.push_back(*note);
  sources.sinks().warn(*note);
}

/// What the file does not need: where it fails, the file stands, and a warning says why.
template <class Body>
void optionally(const std::string& phase, const JobSinks& sinks, QuantizeResult& result, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Interrupted) throw;
    result.warnings.push_back({"phase-failed-model-stands", {{"phase", phase}, {"error", error.what()}}});
    sinks.warn(result.warnings.back());
  }
}

/// From options to a plan, and from there to a typed file.
class Conversion {
 public:
  Conversion(const QuantizeOptions& options, const JobSinks& sinks) : options_(options), sinks_(sinks) {
    run_script();
    keep_inputs();
    MeasureOptions learning = options_.measure;
    if (learning.calibration_data) learning.data = *std::exchange(learning.calibration_data, std::nullopt);
    sources_.emplace(learning, sinks_);
    if (!options_.plan.empty()) given_ = read_plan(options_, *sources_);
    plan();
  }

  std::string plan_json() {
    done();
    return plan_to_json(planned_.plan);
  }

  QuantizeResult write() {
    Plan& plan = planned_.plan;
    TypedModel typed = lower_typed(prepared_->model, plan, options_.precision.constraints == PrecisionConstraints::Obey,
                                   progress_of(sinks_));
    for (const PlannedLayer& layer : plan.layers) {
      const Format format = typed.refused.contains(layer.name) ? Format::Float32 : layer.format;
      ++result_.layers_by_format[runs_in(layer.name, format, other_types_)];
    }
    if (const auto nodes = not_simulated(typed.model, plan.target)) {
      const Note otherwise = computes_otherwise_note(*nodes);
      sinks_.warn(otherwise);
      warn(otherwise);
    }
    if (planned_.calibrated) {
      optionally("latency", sinks_, result_,
                 [&] { add_warning(slower_than_float(*planned_.calibrated, plan, typed.model)); });
      optionally("the simulation of CPUs without VNNI", sinks_, result_,
                 [&] { add_warning(saturating_pairs_note(*planned_.calibrated, plan, typed.model)); });
    }
    if (!options_.output.empty()) {
      write_model(typed.model, options_.output, {options_.external_data});
      result_.typed.file = options_.output.string();
    }
    done();
    result_.typed.casts = typed.casts;
    result_.typed.quantize_pairs = typed.quantize_pairs;
    result_.typed.quantized_weights = typed.quantized_weights;
    result_.typed.quantized_biases = typed.quantized_biases;
    result_.typed.weight_bytes = typed.weight_bytes;
    result_.typed.float_weights = typed.float_weights;
    result_.typed.notes = typed.notes;
    optionally("the run on ONNX Runtime", sinks_, result_, [&] {
      try_written(typed.model, options_, plan.target, planned_.calibrated ? &*planned_.calibrated : nullptr, *sources_,
                  result_);
    });
    result_.typed.model = result_of(std::move(typed.model), result_.typed.file);
    return std::move(result_);
  }

 private:
  void warn(const Note& note) { result_.warnings.push_back(note); }

  void add_warning(const std::optional<Note>& note) {
    if (!note) return;
    sinks_.warn(*note);
    warn(*note);
  }

  /// A script that makes the model takes its place.
  void run_script() {
    if (!is_model_script(options_.model)) return;
    keep_model_script(options_.output, options_.model.file());
    scripted_ = run_model_script(options_.model.file(), formats_named(options_.precision), options_.measure.data,
                                 sinks_, [&](const Note& note) { warn(note); });
    options_.model = scripted_.path;
    options_.precision.layer_settings = scripted_.settings;
    if (!options_.plan.empty() && !scripted_.settings.empty()) {
      warn({"script-precisions-without-effect", {}});
    }
  }

  void keep_inputs() const {
    std::vector<std::filesystem::path> inputs = source_files(options_.measure);
    inputs.insert(inputs.end(), {options_.plan, options_.tensor_overrides});
    for (std::filesystem::path& script : script_files(options_.precision)) inputs.push_back(std::move(script));
    if (!options_.measure.calibration_cache.empty()) {
      refuse_to_overwrite(options_.measure.calibration_cache, inputs);
      refuse_to_overwrite(options_.measure.calibration_cache, {options_.model.file()});
      inputs.push_back(options_.measure.calibration_cache);
    }
    if (!options_.output.empty()) refuse_to_overwrite(options_.output, inputs);
  }

  void plan() {
    const PrecisionOptions& asked = options_.precision;
    if (!given_ && asked.low.empty() && !asked.rules.kv_cache && asked.layer_precisions.empty() &&
        asked.network_scripts.empty() && asked.layer_settings.empty() && asked.high == Format::Float32) {
      throw Error(ErrorCode::MissingArgument, "no precision was chosen",
                  "give ‹plan› FILE, or ‹int8›, ‹fp16›, ‹bf16›, ‹fp8›");
    }
    PrecisionOptions precision = asked;
    if (!given_) {
      precision = run_network_scripts(options_.model, precision, options_.measure.data, *sources_,
                                      [&](const Note& note) { warn(note); });
    }
    PrepareOptions prepare = given_ ? preparation_of(*given_) : preparation_of(precision);
    if (given_) {
      precision.rules = given_->rules;
      precision.high = given_->high;
    } else {
      prepare.min_opset = opset_of_rules(precision);
    }
    const std::shared_ptr<const Model> original = sources_->model(options_.model);
    result_.typed.original_weight_bytes = weight_bytes(*original);
    if (const std::size_t nodes = count_quantizers(*original); nodes > 0) {
      warn({"model-already-quantizes", {{"nodes", nodes}}});
    }
    prepared_ = sources_->prepared(options_.model, prepare);
    const Model& model = prepared_->model;
    for (const PrepareNote& done : prepared_->notes) result_.notes.push_back(done.note);
    const std::vector<Layer> layers = find_layers(model);
    other_types_ = layers_of_other_types(model, layers);
    if (given_) {
      check_plan_names(*given_, layers, options_.plan.string());
      planned_.plan = *given_;
    } else {
      planned_ = make_plan(options_, precision, model, layers, prepare, other_types_, *sources_, result_);
      const auto resumed = planned_.calibrated ? resumed_note(*planned_.calibrated) : std::nullopt;
      if (resumed) result_.notes.push_back(*resumed);
    }
    if (!options_.tensor_overrides.empty()) {
      override_tensors(planned_.plan, read_text(options_.tensor_overrides), options_.tensor_overrides.string());
    }
    if (planned_.plan.target == Target::TensorRt) {
      const auto refused = planned_.calibrated ? shared_names_note(*original, planned_.calibrated->samples->at(0))
                                               : shared_names_note(*original);
      if (refused) warn(*refused);
    }
    const std::vector<PlannedLayer>& planned = planned_.plan.layers;
    const bool none_low =
        std::ranges::all_of(planned, [&](const PlannedLayer& layer) { return layer.format == precision.high; });
    if (none_low && !planned_.nothing_gains) warn(nothing_low(planned.size(), precision.high, other_types_));
    for (const Note& note : result_.warnings) sinks_.warn(note);
    result_.scheme = planned_.plan.scheme;
  }

  void done() {
    if (planned_.calibrated && planned_.calibrated->partial) planned_.calibrated->partial->done();
  }

  QuantizeOptions options_;
  const JobSinks& sinks_;
  QuantizeResult result_;
  ScriptedModel scripted_;  // as long as its model is read
  std::optional<Sources> sources_;
  std::optional<Plan> given_;
  std::shared_ptr<const Prepared> prepared_;
  std::map<std::string, std::string> other_types_;
  Planned planned_;
};

/// Fewer bits are not always fewer kernels: those of the same network in float16.
void count_float16_kernels(EngineReport& compiled, Compiler& compiler, const QuantizeOptions& options,
                           const JobSinks& sinks) {
  if (options.precision.target != Target::TensorRt || !compiled_below_float16(compiled)) return;
  const ScratchFolder scratch;
  QuantizeOptions half;
  half.model = options.model;
  half.output = scratch / "float16.onnx";
  half.precision.low = {Format::Float16};
  half.measure.data = options.measure.data;
  JobSinks quiet = sinks;
  quiet.warning = {};  // they are of another file
  Conversion(half, quiet).write();
  const EngineReport other = compiler.compile(half.output);
  if (other.refused.empty()) compiled.float16_kernels = other.kernels.size();
}

/// For an engine's name without --compile: a compiler where its engines run, as `run --trt` would take one.
void find_running(std::optional<Compiler>& compiler, const QuantizeOptions& options, const JobSinks& sinks) {
  std::string why = "there is no NVIDIA driver";
  if (has_nvidia_driver()) {
    CompileOptions compile;
    compile.settings = options.builder;
    compile.python = options.measure.data.python;
    compile.plugins = options.plugins;
    if (options.measure.data.script_seconds > 0) compile.seconds = options.measure.data.script_seconds;
    try {
      compiler.emplace(for_target(compile, options.precision.target), sinks);
      return;
    } catch (const Error& error) {
      const bool may_lack = error.kind() == ErrorKind::Backend || error.kind() == ErrorKind::Usage;
      if (!may_lack || !options.plugins.empty()) throw;
      why = error.what();
    }
  }
  refuse_unwritten(options.builder);
  sinks.warn({"typed-model-not-engine", {{"file", options.output.string()}, {"why", why}}});
  for (const auto& [setting, values] : options.builder) {
    sinks.warn({"builder-setting-without-effect", {{"setting", fmt::format("‹{}›", setting)}}});
  }
}

}  // namespace

QuantizeResult quantize(const QuantizeOptions& options, const JobSinks& sinks) {
  std::optional<Compiler> compiler;
  const bool first = job_ranks().first();
  if (options.compile && first) compiler.emplace(for_target(*options.compile, options.precision.target), sinks);
  if (!options.as_engine) {
    QuantizeResult result = Conversion(options, sinks).write();
    if (compiler) {
      result.compiled = compiler->compile(options.output);
      optionally("the comparison with float16 kernels", sinks, result,
                 [&] { count_float16_kernels(*result.compiled, *compiler, options, sinks); });
    }
    return result;
  }
  if (!compiler && first) find_running(compiler, options, sinks);
  if (!compiler) return Conversion(options, sinks).write();
  if (options.precision.target != Target::TensorRt) {
    throw Error(ErrorCode::WithoutEffect,
                fmt::format("{}: an engine's name, and the file is made for ‹target› {}",
                            printable(options.output.string()), word_of(options.precision.target)),
                "‹output› typed.onnx");
  }
  const ScratchFolder scratch;
  QuantizeOptions typed = options;
  typed.output = scratch / "typed.onnx";
  typed.external_data = {};
  QuantizeResult result = Conversion(typed, sinks).write();
  EngineReport compiled = compiler->compile(typed.output, options.output);
  if (!compiled.refused.empty()) {
    throw Error(ErrorCode::EngineFails,
                fmt::format("{} {}: {}", compiled.engine.name, compiled.engine.version, compiled.refused),
                "‹output› typed.onnx writes the typed model alone");
  }
  compiled.file = result.typed.file = options.output.string();
  result.compiled = std::move(compiled);
  result.is_engine = true;
  return result;
}

std::string plan_template(const QuantizeOptions& options, const JobSinks& sinks) {
  return Conversion(options, sinks).plan_json();
}

}  // namespace vernier
