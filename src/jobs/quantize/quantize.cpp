// A float model and a plan (a file, or made from the precision options) -> a typed ONNX model.

#include "vernier/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

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
#include "jobs/scripting/model_script.h"
#include "jobs/scripting/network_scripts.h"
#include "model/contents.h"
#include "model/prepare.h"
#include "plan/calibrate.h"
#include "plan/lower_typed.h"
#include "plan/overrides.h"
#include "plan/scheme.h"
#include "plan/target.h"
#include "vernier/error.h"
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
    throw Error(ErrorKind::Input,
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
        ErrorKind::Input, fmt::format("{}: the model has no layer '{}'", where, printable(layer.name)),
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
    const auto same = [&](const SkippedLayers& group) {
      return group.reason == layer.reason && group.runs_in == format;
    };
    auto group = std::ranges::find_if(groups, same);
    if (group == groups.end()) {
      groups.push_back({layer.reason, format, layer.chosen, {}, {}});
      group = groups.end() - 1;
    }
    group->op_types.push_back(layer.op_type);
    group->layers.push_back(layer.name);
  }
  return groups;
}

/// Why a conversion changed nothing.
std::string nothing_low(std::size_t layers, Format high, const std::map<std::string, std::string>& other_types) {
  if (other_types.empty()) {
    return fmt::format("every layer is in {}: what was asked for leaves nothing in low precision", format_name(high));
  }
  return fmt::format(
      "no layer is in low precision: {} of {} compute in {} in the file, and formats are chosen for float32 layers "
      "(give the float32 model that it was made from)",
      std::min(other_types.size(), layers), plural(layers, "layer"), other_types.begin()->second);
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
  result.warnings.insert(result.warnings.end(), assigned.warnings.begin(), assigned.warnings.end());
  result.skipped = by_reason(assigned.skipped, other_types);
  Planned planned{std::move(assigned.plan), {}, assigned.nothing_gains};
  Plan& plan = planned.plan;
  if (tensors_to_calibrate(model, layers, plan).empty()) {  // no samples needed, none are asked for
    for (std::string& text : calibrate_plan(plan, model, layers, {}, progress_of(sources.sinks())))
      result.warnings.push_back(std::move(text));
    return planned;
  }
  const std::filesystem::path& cache = options.measure.calibration_cache;
  const bool samples_given = !options.measure.data.is_random() || options.measure.calibration_data.has_value();
  if (calibrate_from_cache(plan, model, layers, *sources.model(options.model), precision, cache, result.warnings,
                           samples_given ? Lacking::Allow : Lacking::Refuse)) {
    if (samples_given) {
      result.notes.push_back(
          fmt::format("the samples were not read: {} has the ranges (remove it, to calibrate anew)", cache.string()));
    }
    return planned;
  }
  if (!cache.empty() && !samples_given) {
    result.warnings.push_back(
        fmt::format("{}: it holds no ranges and no samples were given: those of random inputs were taken, which fit no "
                    "real data (‹data› SAMPLES)",
                    cache.string()));
  }
  const Loaded& loaded = planned.calibrated.emplace(load_judged(options.model, prepare_options, sources));
  result.warnings.insert(result.warnings.end(), loaded.warnings.begin(), loaded.warnings.end());
  if (std::string text = input_warning(loaded, sources.sinks()); !text.empty())
    result.warnings.push_back(std::move(text));
  for (std::string& text : calibrate_on_samples(plan, model, layers, loaded, precision, cache))
    result.warnings.push_back(std::move(text));
  if (!cache.empty() && !loaded.samples->is_random()) {
    result.notes.push_back(fmt::format("the ranges are kept in {}, for the next run", cache.string()));
  }
  return planned;
}

/// A sentence where a file with kernels on codes is slower than the float model all the same, since kernel times are
/// those of another machine; else empty, also where the two differ by less than a busy machine may make them differ.
std::string slower_than_float(const Loaded& calibrated, const Plan& plan, const Model& typed) {
  const bool on_codes = std::ranges::any_of(plan.layers, [&](const PlannedLayer& layer) {
    return needs_scale(layer.format) && scaled_scheme(plan.target, layer.format).integer_kernels;
  });
  if (!on_codes) return {};
  const Sample sample = calibrated.samples->at(0);
  const auto milliseconds = [&](const Model& model) {
    return median_latency_ms(calibrated.subject.runtime, model, sample, static_cast<int>(calibrated.subject.threads));
  };
  const double in_float = milliseconds(*calibrated.original);
  const double low = milliseconds(typed);
  if (low < 1.1 * in_float || low < in_float + 0.2) return {};
  return fmt::format(
      "on this machine ONNX Runtime takes {:.3g} ms for a sample in the written file, {:.3g} ms in float32", low,
      in_float);
}

/// What ONNX Runtime says of the file that is written, for whoever tries it there.
void try_written(const Model& typed, const QuantizeOptions& options, Target target, const Loaded* calibrated,
                 Sources& sources, QuantizeResult& result) {
  // Samples that were not read stay unread.
  SourceOptions random;
  const bool given = !options.measure.data.is_random();
  const std::shared_ptr<const SampleSource> samples =
      calibrated != nullptr ? calibrated->samples
                            : samples_for(typed, given ? random : options.measure.data, sources.sinks());
  result.onnxruntime = try_on_runtime(sources.runtime(), typed, *samples);
  if (!result.onnxruntime) return;
  const std::string text = refusal_text(*result.onnxruntime, sources.runtime()->version());
  if (text.empty()) return;
  if (target != Target::OnnxRuntime) {
    result.typed.notes.push_back(text);
    return;
  }
  result.warnings.push_back(text);
  if (sources.sinks().warning) sources.sinks().warning(text);
}

/// What the file does not need: where it fails, the file stands, and a warning says why.
template <class Body>
void optionally(const std::string& phase, const JobSinks& sinks, QuantizeResult& result, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Interrupted) throw;
    result.warnings.push_back(fmt::format("{} failed, the output model stands: {}", phase, error.what()));
    if (sinks.warning) sinks.warning(result.warnings.back());
  }
}

/// The whole job; with `plan_json` it ends at the plan, and nothing is written.
QuantizeResult run_conversion(const QuantizeOptions& given_options, const JobSinks& sinks, std::string* plan_json) {
  QuantizeOptions options = given_options;
  QuantizeResult result;
  const auto warn = [&](const std::string& text) { result.warnings.push_back(text); };
  ScriptedModel scripted;  // as long as its model is read
  if (is_model_script(options.model)) {
    keep_model_script(options.output, options.model.file());
    scripted =
        run_model_script(options.model.file(), formats_named(options.precision), options.measure.data, sinks, warn);
    options.model = scripted.path;
    options.precision.layer_settings = scripted.settings;
    if (!options.plan.empty() && !scripted.settings.empty()) {
      warn("the precisions that the script sets have no effect: the plan says which layer runs in which format");
    }
  }
  std::vector<std::filesystem::path> inputs = source_files(options.measure);
  inputs.insert(inputs.end(), {options.model.file(), options.plan, options.tensor_overrides});
  for (std::filesystem::path& script : script_files(options.precision)) inputs.push_back(std::move(script));
  if (!options.measure.calibration_cache.empty()) {
    refuse_to_overwrite(options.measure.calibration_cache, inputs);
    inputs.push_back(options.measure.calibration_cache);
  }
  if (!options.output.empty()) refuse_to_overwrite(options.output, inputs);
  MeasureOptions learning = options.measure;
  if (learning.calibration_data) learning.data = *std::exchange(learning.calibration_data, std::nullopt);
  Sources sources(learning, sinks);
  std::optional<Plan> given;
  if (!options.plan.empty()) given = read_plan(options, sources);
  if (!given && options.precision.low.empty() && options.precision.layer_precisions.empty() &&
      options.precision.network_scripts.empty() && options.precision.layer_settings.empty() &&
      options.precision.high == Format::Float32) {
    throw Error(ErrorKind::Usage, "no precision was chosen", "give ‹plan› FILE, or ‹int8›, ‹fp16›, ‹bf16›, ‹fp8›");
  }
  PrecisionOptions precision = options.precision;
  if (!given) {
    precision = run_network_scripts(options.model, precision, options.measure.data, sources, warn);
  }
  PrepareOptions prepare_options = given ? preparation_of(*given) : preparation_of(precision);
  if (given) {
    precision.rules = given->rules;
    precision.high = given->high;
  } else {
    prepare_options.min_opset = opset_of_rules(precision);
  }
  const std::shared_ptr<const Model> read = sources.model(options.model);
  const Model& original = *read;
  result.typed.original_weight_bytes = weight_bytes(original);
  if (const std::size_t nodes = count_quantizers(original); nodes > 0) {
    result.warnings.push_back(fmt::format(
        "the model already quantizes ({}): an engine that fuses these runs the layers between them in their "
        "format, whatever format the layers get here",
        plural(nodes, "QuantizeLinear node")));
  }
  const std::shared_ptr<const Prepared> prepared = sources.prepared(options.model, prepare_options);
  const Model& model = prepared->model;
  for (const PrepareNote& note : prepared->notes) result.notes.push_back(note.text);
  const std::vector<Layer> layers = find_layers(model);
  const std::map<std::string, std::string> other_types = layers_of_other_types(model, layers);
  if (given) check_plan_names(*given, layers, options.plan.string());
  Planned planned;
  if (given) {
    planned.plan = *given;
  } else {
    planned = make_plan(options, precision, model, layers, prepare_options, other_types, sources, result);
    if (planned.calibrated && planned.calibrated->partial && !planned.calibrated->partial->text().empty()) {
      result.notes.push_back(planned.calibrated->partial->text());
    }
  }
  Plan& plan = planned.plan;
  if (!options.tensor_overrides.empty()) {
    override_tensors(plan, read_text(options.tensor_overrides), options.tensor_overrides.string());
  }
  const Format high = given ? given->high : precision.high;
  const bool none_low =
      std::ranges::all_of(plan.layers, [&](const PlannedLayer& layer) { return layer.format == high; });
  if (none_low && !planned.nothing_gains) {
    result.warnings.push_back(nothing_low(plan.layers.size(), high, other_types));
  }
  for (const std::string& text : result.warnings) {
    if (sinks.warning) sinks.warning(text);
  }
  result.scheme = plan.scheme;
  const auto count_layers = [&](const std::set<std::string>& refused) {
    for (const PlannedLayer& layer : plan.layers) {
      const Format format = refused.contains(layer.name) ? Format::Float32 : layer.format;
      ++result.layers_by_format[runs_in(layer.name, format, other_types)];
    }
  };

  if (plan_json != nullptr) {
    count_layers({});
    *plan_json = plan_to_json(plan);
    if (planned.calibrated && planned.calibrated->partial) planned.calibrated->partial->done();
    return result;
  }
  TypedModel typed =
      lower_typed(model, plan, options.precision.constraints == PrecisionConstraints::Obey, progress_of(sinks));
  count_layers(typed.refused);
  if (planned.calibrated) {
    optionally("latency", sinks, result, [&] {
      std::string text = slower_than_float(*planned.calibrated, plan, typed.model);
      if (text.empty()) return;
      if (sinks.warning) sinks.warning(text);
      result.warnings.push_back(std::move(text));
    });
  }
  if (!options.output.empty()) {
    write_model(typed.model, options.output, {options.external_data});
    result.typed.file = options.output.string();
  }
  if (planned.calibrated && planned.calibrated->partial) planned.calibrated->partial->done();
  result.typed.casts = typed.casts;
  result.typed.quantize_pairs = typed.quantize_pairs;
  result.typed.weight_bytes = typed.weight_bytes;
  result.typed.notes = typed.notes;
  optionally("the run on ONNX Runtime", sinks, result, [&] {
    try_written(typed.model, options, plan.target, planned.calibrated ? &*planned.calibrated : nullptr, sources,
                result);
  });
  result.typed.model = result_of(std::move(typed.model), result.typed.file);
  return result;
}

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
  run_conversion(half, quiet, nullptr);
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
  if (!sinks.warning) return;
  sinks.warning(fmt::format(
      "{}: a typed ONNX model is written under this name, for no TensorRT runs here ({}); ‹compile› asks for an engine",
      printable(options.output.string()), why));
  for (const auto& [setting, values] : options.builder) {
    sinks.warning(fmt::format("‹{}› has no effect here: no engine is built", setting));
  }
}

}  // namespace

QuantizeResult quantize(const QuantizeOptions& options, const JobSinks& sinks) {
  std::optional<Compiler> compiler;
  const bool first = job_ranks().first();
  if (options.compile && first) compiler.emplace(for_target(*options.compile, options.precision.target), sinks);
  if (!options.as_engine) {
    QuantizeResult result = run_conversion(options, sinks, nullptr);
    if (compiler) {
      result.compiled = compiler->compile(options.output);
      optionally("the comparison with float16 kernels", sinks, result,
                 [&] { count_float16_kernels(*result.compiled, *compiler, options, sinks); });
    }
    return result;
  }
  if (!compiler && first) find_running(compiler, options, sinks);
  if (!compiler) return run_conversion(options, sinks, nullptr);
  if (options.precision.target != Target::TensorRt) {
    throw Error(ErrorKind::Usage,
                fmt::format("{}: an engine's name, and the file is made for ‹target› {}",
                            printable(options.output.string()), word_of(options.precision.target)),
                "‹output› typed.onnx");
  }
  const ScratchFolder scratch;
  QuantizeOptions typed = options;
  typed.output = scratch / "typed.onnx";
  typed.external_data = {};
  QuantizeResult result = run_conversion(typed, sinks, nullptr);
  EngineReport compiled = compiler->compile(typed.output, options.output);
  if (!compiled.refused.empty()) {
    throw Error(ErrorKind::Backend,
                fmt::format("{} {}: {}", compiled.engine.name, compiled.engine.version, compiled.refused),
                "‹output› typed.onnx writes the typed model alone");
  }
  compiled.file = result.typed.file = options.output.string();
  result.compiled = std::move(compiled);
  result.is_engine = true;
  return result;
}

std::string plan_template(const QuantizeOptions& options, const JobSinks& sinks) {
  std::string plan_json;
  run_conversion(options, sinks, &plan_json);
  return plan_json;
}

}  // namespace vernier
