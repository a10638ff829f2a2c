// One runner of `vernier run` from its options: what it loads, what it rounds, what it gives.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/marked_outputs.h"
#include "analysis/subject.h"
#include "analysis/surgery.h"
#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "jobs/common/load.h"
#include "jobs/common/model_file.h"
#include "jobs/common/sources.h"
#include "jobs/common/typed_file.h"
#include "jobs/engine/engine_runner.h"
#include "jobs/run/engine_run.h"
#include "jobs/run/live_run.h"
#include "jobs/run/planned_network.h"
#include "jobs/run/program_run.h"
#include "jobs/run/unmarked_engine.h"
#include "model/raw_proto.h"
#include "plan/engine_sums.h"
#include "plan/lower_simulated.h"
#include "plan/lower_typed.h"
#include "plan/scheme.h"
#include "plan/simulate_typed.h"
#include "plan/typed_names.h"
#include "vernier/arithmetic.h"
#include "vernier/device.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/precision.h"
#include "vernier/report/note_text.h"
#include "vernier/run.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

bool any(const OutputChoice& choice) {
  return !choice.names.empty() || !choice.excluded.empty() || !choice.op_types.empty();
}

void say_left_out(const std::vector<std::string>& names, const std::string& runner, const Warn& warn) {
  if (names.empty()) return;
  warn({"tensors-not-returned", {{"runner", runner}, {"tensors", names}}});
}

/// Gives `model` the outputs that were chosen by the names of `named`, the model as the user knows it.
void mark(Model& model, const Model& named, const OutputChoice& choice, const std::string& runner, const Warn& warn) {
  if (!any(choice)) return;
  std::vector<std::string> left_out;
  std::vector<std::pair<std::string, Dtype>> outputs;
  std::set<std::string> there;
  for (const onnx::NodeProto& node : model.proto.graph().node())
    there.insert(node.output().begin(), node.output().end());
  for (const onnx::ValueInfoProto& output : model.proto.graph().output()) there.insert(output.name());
  for (const onnx::ValueInfoProto& input : model.proto.graph().input()) there.insert(input.name());
  for (auto& [name, dtype] : choose_outputs(named, choice, left_out)) {
    const bool simulated = &model != &named && (dtype == Dtype::Float16 || dtype == Dtype::BFloat16);
    if (!there.contains(name)) {
      left_out.push_back(name);
    } else {
      outputs.emplace_back(name, simulated ? Dtype::Float32 : dtype);
    }
  }
  say_left_out(left_out, runner, warn);
  set_outputs(model, outputs);
}

std::vector<std::string> outputs_without_numbers(const Model& model) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& output : model.proto.graph().output()) {
    const onnx::TypeProto& type = output.type();
    const bool strings = type.has_tensor_type() && type.tensor_type().elem_type() == onnx::TensorProto::STRING;
    if (strings || type.has_sequence_type() || type.has_map_type()) names.push_back(output.name());
  }
  return names;
}

bool quantizes_to_float8(const Model& model) {
  return std::ranges::any_of(model.proto.graph().node(), [&](const onnx::NodeProto& node) {
    if (node.op_type() != "QuantizeLinear" || node.input_size() < 3) return false;
    const std::optional<Tensor> zero = initializer(model, node.input(2));
    return zero && (zero->dtype() == Dtype::Float8E4M3FN || zero->dtype() == Dtype::Float8E5M2);
  });
}

class Maker {
 public:
  Maker(const RunOptions& options, const RunnerOptions& runner, std::string name, Sources& sources, const Warn& warn,
        std::unique_ptr<EngineRunner> engine)
      : options_(options),
        runner_(runner),
        name_(std::move(name)),
        engine_(std::move(engine)),
        sources_(sources),
        sinks_(sources.sinks()),
        warn_(warn) {}

  std::unique_ptr<LiveRun> make() {
    say("runs " + printable(runner_.model.name()));
    if (engine_ != nullptr && is_built_engine(runner_.model)) return as_built();
    if (runner_.kind == RunnerKind::Program) return as_program(*sources_.model(runner_.model));
    if (runner_.kind == RunnerKind::OnnxRuntime) return as_it_is(*sources_.model(runner_.model));
    if (runner_.precision.arithmetic != Arithmetic{}) say(note_text(sums_evidence()));
    Model model = as_typed_file(*sources_.model(runner_.model));
    SimulatedFile file = simulate_typed(model, runner_.precision.arithmetic);
    const bool typed = any_low(file);
    if (runner_.weakly_typed && engine_ == nullptr) {
      warn_({"weakly-typed-without-effect", {}});
    }
    if (engine_ != nullptr) return on_engine(std::move(model), typed);
    if (typed) return from_file(std::move(model), std::move(file));
    return says_formats(runner_.precision) ? from_plan() : in_float32(model, std::move(file.model));
  }

 private:
  const OutputChoice& choice() const {
    const bool own = runner_.kind == RunnerKind::TensorRt && any(options_.trt_outputs);
    return own ? options_.trt_outputs : options_.onnx_outputs;
  }

  void say(const std::string& text) const {
    if (sinks_.info) sinks_.info(fmt::format("{}: {}", name_, text));
  }

  void warn_random() const { warn_({kRandomInputs, {}}); }
  void warn_low() const { warn_({"no-format-given", {}}); }

  std::unique_ptr<LiveRun> finish(Model model, const SessionOptions& session,
                                  std::shared_ptr<const SampleSource> samples) {
    if (samples->is_random()) warn_random();
    return std::make_unique<SessionRun>(name_, sources_.runtime(), std::move(model), session, std::move(samples),
                                        options_.measure.carries);
  }

  std::unique_ptr<LiveRun> as_program(const Model& model) {
    return std::make_unique<ProgramRun>(name_, runner_.command, runner_.model, sources_.samples(model),
                                        options_.measure.data.script_seconds, sinks_.interrupted);
  }

  std::unique_ptr<LiveRun> as_it_is(Model model) {
    SessionOptions session;
    session.integer_kernels = options_.measure.device.kind != DeviceKind::Cuda;  // they are the CPU's
    session.level = options_.optimization;
    session.providers = options_.providers;
    if (session.level > GraphOptimization::EnableBasic && quantizes_to_float8(model)) {
      warn_({"fp8-not-optimized", {}});
    }
    std::shared_ptr<const SampleSource> samples = sources_.samples(model);
    // Alone, a sample gets all threads; beside others, one.
    if (samples->size() == 1) session.threads = static_cast<int>(options_.measure.threads);
    mark(model, model, choice(), name_, warn_);
    if (nothing_is_looked_at()) {
      session.any_outputs = true;
      if (const std::vector<std::string> others = outputs_without_numbers(model); !others.empty()) {
        warn_({"outputs-without-numbers", {{"runner", name_}, {"outputs", others}}});
      }
    }
    return finish(std::move(model), session, std::move(samples));
  }

  /// Optimizations stay off: a fusion moves the last bits of a sum, these flip steps of a grid, and which fusions are
  /// possible depends on which tensors are outputs. Marking must not change what is computed; where nobody marks, as in
  /// `eval`, simulations run as in all other jobs.
  SessionOptions of_simulation(const Model& model) const {
    return {.optimize = options_.optimize_simulations && small_enough_to_optimize(model),
            .threads = 1,
            .integer_kernels = false};
  }

  /// One runner runs, and its outputs are neither compared nor saved.
  bool nothing_is_looked_at() const {
    return options_.runners.size() + options_.load_outputs.size() + options_.runs.size() == 1 &&
           options_.save_outputs.empty() && options_.postprocess_script.empty();
  }

  /// Several runners, and none of them rounds: something was forgotten.
  bool nothing_is_low() const {
    return options_.runners.size() > 1 &&
           std::none_of(options_.runners.begin(), options_.runners.end(), [&](const RunnerOptions& runner) {
             return says_formats(runner.precision) || runner.model != runner_.model ||
                    runner.kind == RunnerKind::Program;
           });
  }

  /// `simulated`: of `model`, as its target computes in float32.
  std::unique_ptr<LiveRun> in_float32(const Model& model, Model simulated) {
    if (nothing_is_low() && !runner_.precision.arithmetic.tf32) warn_low();
    std::shared_ptr<const SampleSource> samples = sources_.samples(model);
    if (!runner_.precision.arithmetic.tf32) simulated = model;
    mark(simulated, model, choice(), name_, warn_);
    const SessionOptions session = of_simulation(simulated);
    return finish(std::move(simulated), session, std::move(samples));
  }

  void say_typed() const {
    if (!says_formats(runner_.precision)) return;
    warn_({"formats-in-file", {{"model", runner_.model.name()}}});
  }

  std::unique_ptr<LiveRun> on_engine(Model file, bool typed) {
    const std::shared_ptr<EngineRunner> runner = std::move(engine_);
    const std::string engine = runner->text();
    const std::shared_ptr<const SampleSource> samples = sources_.samples(file);
    const ScratchFolder scratch;
    if (runner_.weakly_typed) {
      runner->tell(weak_types(typed, scratch / "cache"));
    } else if (typed) {
      say_typed();
    } else if (says_formats(runner_.precision)) {
      const PlannedNetwork planned = plan();
      TypedModel lowered = lower_typed(planned.loaded.subject.model, planned.plan, /*strict=*/false);
      for (const Note& note : lowered.notes) say(note_text(note));
      file = std::move(lowered.model);
    }
    restore_tensor_names(file);
    if (samples->is_random()) warn_random();
    const std::optional<UnmarkedEngine> unmarked = without_marks(*runner, file, *samples);
    mark(file, file, choice(), name_, warn_);
    EngineReport report;
    auto run = std::make_unique<EngineRun>(name_, runner, std::move(file), samples, options_.measure.carries, &report);
    say(fmt::format("runs on {}: {}, built in {:.1f} s", engine, plural(report.kernels.size(), "kernel"),
                    report.seconds));
    if (!runner_.weakly_typed) {
      for (const Note& note : other_format_notes(engine, other_formats(report))) warn_(note);
    }
    for (const std::string& words : report.words) say(words);
    if (unmarked) {
      double seconds = 0;
      const UnmarkedEngine::Changes changes = unmarked->changes(report, runner->run(samples->at(0), seconds));
      const Note note{"engine-without-marks", {{"engine", engine}, {"changes", changes.text}}};
      changes.outputs ? warn_(note) : say(note_text(note));
    }
    return run;
  }

  /// What a builder is told that chooses among formats by itself. `cache`: a place for ranges that are learned.
  EngineSettings weak_types(bool typed, const std::filesystem::path& cache) {
    if (typed) {
      throw Error(ErrorCode::WithoutEffect,
                  fmt::format("‹weakly-typed›: {} says the format of each layer", printable(runner_.model.name())),
                  "leave it out, or give the float model");
    }
    const PrecisionOptions& precision = runner_.precision;
    EngineSettings settings{{"weakly-typed", {}}};
    if (!precision.layer_precisions.empty() || !precision.network_scripts.empty()) {
      settings["constraints"] = {std::string(word_of(precision.constraints))};
    }
    for (const Format format : formats_named(precision)) {
      settings["formats"].emplace_back(format_name(format));
    }
    for (const auto& [layer, format] : precision.layer_precisions) {
      settings["layer-formats"].push_back(fmt::format("{}:{}", layer, format_name(format)));
    }
    for (const std::string& script : precision.network_scripts) settings["network-scripts"].push_back(script);
    if (std::ranges::find(settings["formats"], "int8") == settings["formats"].end()) return settings;
    const std::filesystem::path& given = options_.measure.calibration_cache;
    if (given.empty() || !std::filesystem::exists(given)) {
      RunnerOptions ranges = runner_;
      ranges.precision.network_scripts.clear();
      ranges.precision.layer_precisions.clear();
      MeasureOptions measure = options_.measure;
      measure.calibration_cache = given.empty() ? cache : given;
      plan(ranges, measure);
    }
    const std::filesystem::path& file = given.empty() ? cache : given;
    if (!std::filesystem::exists(file)) {
      throw Error(ErrorCode::MissingArgument, "‹weakly-typed› ‹int8›: no ranges, which random inputs do not give",
                  "‹data› SAMPLES, or ‹calibration-cache› FILE");
    }
    settings["calibration-cache"] = {file.string()};
    return settings;
  }

  /// The engine as it is where tensors are to be marked, which may change it.
  std::optional<UnmarkedEngine> without_marks(EngineRunner& runner, const Model& file,
                                              const SampleSource& samples) const {
    if (!any(choice())) return std::nullopt;
    try {
      return UnmarkedEngine(runner, file, samples);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Backend) throw;
      warn_({"does-not-run-without-marks", {{"error", error.what()}}});
      return std::nullopt;
    }
  }

  /// An engine that was built before: it gives the outputs that it was built with.
  std::unique_ptr<LiveRun> as_built() {
    if (any(choice())) {
      throw Error(
          ErrorCode::WithoutEffect,
          fmt::format("{}: an engine only has the outputs that it was built with", printable(runner_.model.name())),
          "choose outputs where the engine is built, from the ONNX file");
    }
    if (says_formats(runner_.precision)) {
      warn_({"formats-in-engine", {{"model", runner_.model.name()}}});
    }
    Model ports;
    const EngineReport report = engine_->open_built(ModelFile(runner_.model).path(), ports);
    std::shared_ptr<const SampleSource> samples = sources_.samples(ports);
    if (samples->is_random()) warn_random();
    say(fmt::format("runs on {}: {}", engine_->text(), plural(report.kernels.size(), "kernel")));
    return std::make_unique<EngineRun>(name_, std::move(engine_), std::move(ports), std::move(samples),
                                       options_.measure.carries, nullptr);
  }

  std::unique_ptr<LiveRun> from_file(Model typed, SimulatedFile file) {
    say("formats as the file says: " + formats_of(file.layers));
    say_typed();
    for (const Note& note : file.notes) say(note_text(note));
    // Its inputs are float32 where the file's are float16 or bfloat16: they are rounded inside.
    std::shared_ptr<const SampleSource> samples = sources_.samples(file.model);
    restore_tensor_names(typed);
    restore_tensor_names(file.model);
    OutputChoice chosen = choice();
    if (means_all(chosen.names)) {
      // Of a tensor, of its codes and of what these stand for, one is enough: the one that the float model has too.
      for (const std::string& name : tensors_of_typing(typed)) chosen.excluded.push_back(name);
    }
    mark(file.model, typed, chosen, name_, warn_);
    const SessionOptions session = of_simulation(file.model);
    return finish(std::move(file.model), session, std::move(samples));
  }

  PlannedNetwork plan() { return plan(runner_, options_.measure); }

  PlannedNetwork plan(const RunnerOptions& runner, const MeasureOptions& measure) {
    PlannedNetwork planned =
        plan_network(runner, measure, sources_, warn_, [&](const std::string& text) { say(text); });
    if (planned.calibrated_here && !planned.loaded.calibration) {
      warn_({"calibrated-on-compared-samples", {}});
    }
    return planned;
  }

  std::unique_ptr<LiveRun> from_plan() {
    PlannedNetwork planned = plan();
    const Subject& subject = planned.loaded.subject;
    RoundedWeights weights;
    Model lowered = lower_simulated(subject.model, subject.layers, planned.plan, weights);
    mark(lowered, subject.model, choice(), name_, warn_);
    const SessionOptions session = of_simulation(lowered);
    return finish(std::move(lowered), session, std::move(planned.loaded.samples));
  }

  const RunOptions& options_;
  const RunnerOptions& runner_;
  std::string name_;
  std::unique_ptr<EngineRunner> engine_;
  Sources& sources_;
  const JobSinks& sinks_;
  const Warn& warn_;
};

}  // namespace

std::unique_ptr<LiveRun> make_live_run(const RunOptions& options, std::size_t index, const std::string& name,
                                       Sources& sources, const Warn& warn, std::unique_ptr<EngineRunner> engine) {
  return Maker(options, options.runners[index], name, sources, warn, std::move(engine)).make();
}

}  // namespace vernier
