// Measures a typed file by what the file says: it is reloaded, simulated from its own Casts and Q/DQ, and compared with
// the float model layer by layer in lock-step.

#include "jobs/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/beside_known.h"
#include "analysis/figures.h"
#include "analysis/lockstep.h"
#include "analysis/match_layers.h"
#include "analysis/output_store.h"
#include "analysis/sampling_interval.h"
#include "analysis/trials.h"
#include "base/machine.h"
#include "base/text.h"
#include "base/version.h"
#include "distributed/ranks.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "jobs/common/invalid_nodes.h"
#include "jobs/common/load.h"
#include "jobs/common/runtime_check.h"
#include "jobs/common/stopwatch.h"
#include "jobs/common/typed_file.h"
#include "jobs/search/chosen_objective.h"
#include "jobs/verify/constant_twins.h"
#include "jobs/verify/default_optimizations.h"
#include "jobs/verify/file_fault.h"
#include "jobs/verify/float_twins.h"
#include "jobs/verify/hidden_nonfinite.h"
#include "jobs/verify/layer_formats.h"
#include "jobs/verify/near_limit.h"
#include "jobs/verify/on_engine.h"
#include "jobs/verify/output_values.h"
#include "jobs/verify/pair_saturation.h"
#include "jobs/verify/scaled_weights.h"
#include "jobs/verify/second_findings.h"
#include "jobs/verify/stored_values.h"
#include "jobs/verify/tf32_reads.h"
#include "jobs/verify/wrong_constants.h"
#include "model/contents.h"
#include "model/prepare.h"
#include "plan/engine_limits.h"
#include "plan/engine_sums.h"
#include "plan/float_interface.h"
#include "plan/half_steps.h"
#include "plan/nbits_weight.h"
#include "plan/pair_form.h"
#include "plan/rules/rules.h"
#include "plan/simulate_typed.h"
#include "report/text/figures.h"
#include "vernier/arithmetic.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/report/defects.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/note_text.h"
#include "vernier/report/verify.h"
#include "vernier/requirement.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"
#include "vernier/verify.h"

namespace vernier {
namespace {

void check_same_interface(const Model& reference, const Model& typed) {
  const auto names = [](const std::vector<InputInfo>& infos) {
    std::vector<std::string> list;
    for (const InputInfo& info : infos) list.push_back(info.name);
    std::sort(list.begin(), list.end());
    return list;
  };
  const auto compare = [&](const char* what, const std::vector<InputInfo>& a, const std::vector<InputInfo>& b) {
    if (names(a) == names(b)) return;
    throw Error(ErrorCode::Unlike, fmt::format("{} and {} have different {}: {} against {}", reference.path.string(),
                                               typed.path.string(), what, list_some(names(a)), list_some(names(b))));
  };
  compare("inputs", model_inputs(reference), model_inputs(typed));
  compare("outputs", model_outputs(reference), model_outputs(typed));
}

TestRow row_of(const Trial& trial, std::size_t samples) {
  TestRow row;
  row.verdict = trial.verdict == Verdict::Good ? Verdict::Good : Verdict::Bad;
  row.metric = trial.metric;
  row.damage = trial.damage;
  row.needs = trial.why;
  row.samples = samples;
  return row;
}

/// What a share of right labels is worth: how sure it is, and what the float model has.
void say_share(TestRow& row, std::optional<double> reference, double limit) {
  row.interval = share_interval(row.metric, row.samples);
  row.reference = reference;
  row.limit = limit;
}

/// Both models over all samples, by an objective that wants to see the outputs. `labels`: null where others decide;
/// `known`: outputs of the float model, null where they are not.
TestRow test_by(const Objective& objective, const LabelRequirement* labels, const Subject& subject, const Model& typed,
                const OutputStore* known) {
  std::optional<OutputStore> ran;
  const OutputStore& references = known != nullptr ? *known : ran.emplace(outputs_of_float(subject));
  const std::unique_ptr<Tally> tally = objective.begin(subject.judged);
  const std::unique_ptr<Tally> own = objective.begin(subject.judged);
  for (std::size_t sample = 0; labels != nullptr && sample < subject.samples->size(); ++sample) {
    const std::vector<Tensor> outputs = references.get(sample);
    own->add(sample, outputs, outputs);
  }
  run_outputs(subject, typed, all_samples(subject), [&](std::size_t sample, const std::vector<Tensor>& outputs) {
    tally->add(sample, references.get(sample), outputs);
    return true;
  });
  TestRow row = row_of(tally->trial(), subject.samples->size());
  if (labels != nullptr && row.samples > 0) say_share(row, own->trial().metric, labels->min_share);
  return row;
}

}  // namespace

void bring_beside(const Loaded& loaded, const Model& typed, Model& simulated) {
  const Subject& subject = loaded.subject;
  if (loaded.inlined_ifs || default_opset(subject.model.proto) > default_opset(typed.proto)) {
    PrepareOptions prepare_options;
    prepare_options.formats = {Format::Float32};
    prepare_options.inline_ifs = loaded.inlined_ifs;
    prepare_options.min_opset = default_opset(subject.model.proto);
    show_samples(*loaded.samples, loaded.calibration.get(), prepare_options);
    simulated = prepare(simulated, prepare_options, evaluator(subject.runtime)).model;
  }
  fit_beside(simulated, loaded);
}

std::optional<Model> pairs_of_operators(const Model& typed, const Model& float_model) {
  if (!lacks_pairs(typed) || computes_on_codes(float_model)) return std::nullopt;
  return normalized_pairs(typed);
}

Loaded load_beside(const Model& typed, SimulatedFile& simulated, const OnnxModel& float_model, Sources& sources,
                   const Arithmetic& arithmetic) {
  PrepareOptions preparation;
  preparation.formats = {Format::Float32};
  preparation.min_opset = default_opset(typed.proto);
  // A reference that rounds is simulated by the same rules as what is held against it: ONNX Runtime's own kernels round
  // float16 elsewhere.
  const std::shared_ptr<const Model> given = sources.model(float_model);
  SimulatedFile reference = simulate_typed(*given, arithmetic);
  const bool rounds = any_low(reference);
  if (rounds) {
    reference.model.path = given->path;
    reference.model.sha256 = given->sha256;
    reference.model.data_files = given->data_files;
    sources.set_model(float_model, std::move(reference.model));
  }
  Loaded loaded = load_judged(float_model, preparation, sources);
  loaded.rounds = rounds;
  check_same_interface(*loaded.original, typed);
  require_values_of_inputs(loaded, typed);
  bring_beside(loaded, typed, simulated.model);
  return loaded;
}

namespace {

/// Where the engine's verdict is not the simulation's.
std::optional<Note> disagreement(const VerifyReport& report) {
  std::string there, simulated;
  if (report.engine_test) {
    if (report.test->verdict == report.engine_test->verdict) return std::nullopt;
    there = fmt::format("{:.4g}", report.engine_test->metric);
    simulated = fmt::format("{:.4g}", report.test->metric);
  } else {
    if (!report.requirement || report.figures.passed == report.engine->figures.passed) return std::nullopt;
    there = figure_text(report.engine->figures, *report.requirement);
    simulated = figure_text(report.figures, *report.requirement);
  }
  return Note{"engine-disagrees", {{"engine", report.engine->engine}, {"there", there}, {"simulated", simulated}}};
}

/// For TensorRT, which is measured to sum otherwise than simulations assume.
bool sums_may_differ(const SimulatedFile& file, Target target) {
  return target == Target::TensorRt && std::ranges::any_of(file.layers, [](const PlannedLayer& layer) {
           return layer.format == Format::Float16 || layer.format == Format::BFloat16;
         });
}

/// `simulate`: the typed file.
OtherSums measure_other_sums(const Subject& subject, const SimulateWith& simulate, const Arithmetic& arithmetic,
                             const Requirement* requirement, const OutputStore* known) {
  const Arithmetic other = other_arithmetic(arithmetic);
  return {other.accumulate, figures_of_file(subject, simulate(other), requirement, known)};
}

/// In lock-step; without errors of layers where outputs of the float model are known and no layer needs a look. Then
/// `typed` gets the outputs of `low`, if this process runs all samples.
Lockstep compare(const Subject& subject, const Model& low, const LayerMatches& matches, const OutputStore* known,
                 std::optional<OutputStore>& typed) {
  if (known == nullptr) return lockstep(subject, low, matches.pairs);
  std::set<std::string> layers;
  for (const Match& match : matches.pairs) layers.insert(match.low);
  if (subject.ranks == nullptr || subject.ranks->alone()) typed.emplace();
  BesideKnown beside = run_beside_known(subject, low, *known, layers, 0, typed ? &*typed : nullptr);
  if (!beside.finite) return lockstep(subject, low, matches.pairs);
  Lockstep outputs_alone;
  outputs_alone.outputs = std::move(beside.outputs);
  return outputs_alone;
}

/// What is known of the files before anything runs.
VerifyReport described(const Model& typed, const VerifyOptions& options, Sources& sources) {
  VerifyReport report;
  report.command = options.command;
  report.vernier_version = vernier_version();
  report.onnx_version = onnx_version();
  report.onnxruntime_version = sources.runtime()->version();
  report.on_gpu = sources.runtime()->gpu() != nullptr;
  report.machine = machine_text();
  report.float_file = options.float_model.name();
  report.typed_file = options.typed_model.name();
  report.typed_sha256 = typed.sha256;
  report.requirement = options.measure.requirement;
  return report;
}

/// What is measured against quantized values says nothing of the float model behind them.
void not_judged(VerifyReport& report) {
  report.reference_quantized = true;
  report.figures.passed.reset();
  if (report.other_sums) report.other_sums->figures.passed.reset();
  if (report.engine) report.engine->figures.passed.reset();
}

}  // namespace

namespace {

/// Constants in FP16 or BF16, or a Cast to one of them.
bool holds_halves(const Model& model) {
  const auto is_half = [](std::int64_t type) {
    return type == onnx::TensorProto::FLOAT16 || type == onnx::TensorProto::BFLOAT16;
  };
  bool found = false;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    found =
        found || std::ranges::any_of(graph.initializer(), [&](const auto& one) { return is_half(one.data_type()); });
    found = found || std::ranges::any_of(graph.node(), [&](const onnx::NodeProto& node) {
              return is_onnx(node, "Cast") && is_half(attribute_int(node, "to", 0));
            });
  });
  return found;
}

}  // namespace

VerifyReport verify(const VerifyOptions& options, const JobSinks& sinks) {
  if (options.measure.requirement) require_valid(*options.measure.requirement);
  Sources sources(options.measure, sinks);
  sources.load_runtime_ahead();
  const std::shared_ptr<const Model> read = sources.model(options.typed_model);
  Model typed = as_typed_file(*read);
  const std::shared_ptr<const Model> reference = sources.model(options.float_model);
  const bool reference_low = any_low(simulate_typed(*reference));
  std::vector<FoundDefect> defects = defects_of_pairs(normalized_pairs(typed), /*perhaps_meant=*/false, options.target);
  if (std::ranges::none_of(defects, &FoundDefect::refused)) {
    merge_defects(defects, invalid_nodes(read, options.measure.custom_operators, sinks));
  }
  merge_defects(defects,
                repeated_name_defects(*read, options.on == MeasureOn::OnnxRuntime ||
                                                 options.target == Target::OnnxRuntime || is_for_onnxruntime(typed)));
  const std::vector<Note> interface = give_float_interface(typed, *reference);
  VerifyReport report;
  try {
    report = verify_model(typed, options, sources, sinks, nullptr, /*as_users_run_it=*/true);
  } catch (const Error& error) {
    const Error fault = fault_of_file(error, typed, options.float_model, sources);
    // An engine may refuse the file for what is wrong with it: then that is the answer.
    if (error.kind() != ErrorKind::Backend || std::ranges::none_of(defects, &FoundDefect::refused)) throw Error(fault);
    report = described(typed, options, sources);
    report.notes.push_back({"file-does-not-run", {{"error", first_line(fault.what())}}});
  }
  report.notes.insert(report.notes.begin(), interface.begin(), interface.end());
  if (holds_quantized_values(*reference) && !options.task.labels) not_judged(report);
  merge_defects(defects, std::move(report.defects));
  drop_second_findings(defects, normalized_pairs(typed));
  report.defects = std::move(defects);
  excuse_weights(report.defects, report.figures, report.notes);
  for (const FoundDefect& defect : report.defects) {
    sinks.warn({"file-defect", {{"node", defect.node}, {"text", defect.text}}});
  }
  const auto warn = [&](const Note& note) {
    report.warnings.push_back(note);
    sinks.warn(note);
  };
  if (report.saturated_pairs && is_worth_a_warning(*report.saturated_pairs, report.figures, options.target)) {
    warn(saturation_note(*report.saturated_pairs, report.figures, report.requirement));
  }
  const bool seen =
      std::ranges::any_of(report.layers, [](const LayerRow& row) { return row.format != Format::Float32; });
  report.nothing_low =
      !seen && !holds_quantized_values(typed) && !holds_halves(typed) && !any_low(simulate_typed(typed));
  if (!report.nothing_low) return report;
  if (reference_low) {
    warn({"models-swapped", {{"reference", options.float_model.name()}, {"file", options.typed_model.name()}}});
  } else {
    warn({"no-layer-low", {{"file", options.typed_model.name()}}});
  }
  return report;
}

VerifyReport verify_model(const Model& typed, const VerifyOptions& options, Sources& sources, const JobSinks& sinks,
                          const OutputStore* known, bool as_users_run_it) {
  VerifyReport report = described(typed, options, sources);
  Stopwatch watch(report.phases);
  watch.phase("load");
  const std::optional<Model> pairs = pairs_of_operators(typed, *sources.model(options.float_model));
  const Model& simulates = pairs ? *pairs : typed;
  WidenedWeights weights;  // large FP16 files would be as many times in memory as they are simulated
  SimulatedFile simulated = simulate_typed(simulates, options.arithmetic, kOneCopyAbove, &weights);
  Loaded loaded = load_beside(typed, simulated, options.float_model, sources, options.arithmetic);
  if (loaded.rounds) known = nullptr;  // an earlier run left that to the runtime
  const Subject& subject = loaded.subject;
  loaded.subject.labelled = options.task.labels.has_value();
  if (options.measure.batch > 1) set_batch(loaded.subject, options.measure.batch);
  const auto warn = [&](const Note& note) {
    if (std::ranges::find(report.warnings, note) != report.warnings.end()) return;
    report.warnings.push_back(note);
    sinks.warn(note);
  };
  loaded.subject.one_by_one = warn;

  report.float_sha256 = loaded.original->sha256;
  report.data = loaded.samples->description();
  report.samples = loaded.samples->size();
  report.random_data = loaded.samples->is_random();
  report.warnings = loaded.warnings;
  report.notes = simulated.notes;
  append(report.notes, loaded.output_notes);
  for (const Note& note : report.warnings) sinks.warn(note);

  watch.phase("lock-step comparison");
  // Before minutes of measuring: a script that cannot be loaded ends it here.
  const std::unique_ptr<Objective> objective = task_objective(options.task, sources, *loaded.original, loaded.views);
  const LabelRequirement* const labels = options.task.labels ? &*options.task.labels : nullptr;
  const LayerMatches matches = match_layers(subject, simulated.model);
  const bool stores_codes = !simulated.quantized.empty() || has_nbits_weights(simulated.model);
  if (known == nullptr && stores_codes) {
    const Model normalized = normalized_pairs(typed);
    FloatWeights of_float = float_weights(subject, simulated.model, matches);
    add_constants_of_moves(subject, simulated.model, of_float);
    add_constant_twins(*loaded.original, simulated, of_float);
    report.defects = find_wrong_constants(normalized, subject, simulated, of_float, matches);
  }
  std::optional<OutputStore> typed_outputs;
  const Lockstep measured = compare(subject, simulated.model, matches, known, typed_outputs);
  watch.stop();
  const Requirement* requirement = options.measure.requirement ? &*options.measure.requirement : nullptr;
  for (const Note& note : require_comparable(measured.outputs, requirement)) warn(note);
  if (const auto alike = alike_samples_note(subject)) warn(*alike);
  report.figures = figures_of(subject, measured.outputs, requirement);
  if (const auto both = measure_other_order(subject, simulated.model, report.figures, requirement, known)) {
    report.figures = both->worse;
    if (both->doubtful) report.doubt = note_text(*both->note);
    if (both->note) warn(*both->note);
  }

  if (options.target == Target::TensorRt) {
    if (!simulated.lost_limits.empty()) warn({"lost-limits", {{"layers", simulated.lost_limits}}});
    if (!simulated.half_steps.empty()) warn({"half-steps", {{"layers", simulated.half_steps}}});
  }
  report.not_simulated = not_simulated(typed, options.target);
  if (report.not_simulated) warn(computes_otherwise_note(*report.not_simulated));
  if (sums_may_differ(simulated, options.target)) {
    watch.phase("other sums");
    // Whoever asks for sums in float16 wants what holds in either case.
    const bool decides = options.arithmetic.accumulate == Accumulate::Float16;
    try {
      const auto simulate = [&](const Arithmetic& arithmetic) {
        SimulatedFile file = simulate_typed(simulates, arithmetic, kOneCopyAbove, &weights);
        bring_beside(loaded, typed, file.model);
        return std::move(file.model);
      };
      report.other_sums = measure_other_sums(subject, simulate, options.arithmetic, requirement, known);
      const auto tf32 = tf32_reads(subject, simulate, decides ? report.other_sums->figures : report.figures,
                                   decides ? report.figures : report.other_sums->figures, known);
      if (tf32) warn(*tf32);
    } catch (const Error& error) {
      if (decides || error.kind() != ErrorKind::Backend) throw;
      warn({"phase-failed", {{"phase", "other sums"}, {"error", error.what()}}});
    }
    watch.stop();
    if (decides && requirement && !(*report.other_sums->figures.damage <= *report.figures.damage)) {
      std::swap(report.figures, report.other_sums->figures);
      report.other_sums->accumulate = Accumulate::Float16;
    }
  }

  if (report.other_sums || options.arithmetic != Arithmetic{}) report.notes.push_back(sums_evidence());

  // A job's own file for TensorRT is run there.
  if (options.target != Target::TensorRt || known == nullptr) {
    watch.phase("saturated pairs");
    PairSaturation saturation = measure_pair_saturation(subject, typed, simulated, options.target, requirement, known);
    if (saturation.note) report.notes.push_back(*saturation.note);
    report.saturated_pairs = std::move(saturation.found);
    watch.stop();
  }

  const bool on_it = options.on == MeasureOn::OnnxRuntime;
  if (as_users_run_it && (!options.on || on_it)) {
    watch.phase("ONNX Runtime");
    const bool for_it = on_it || options.target == Target::OnnxRuntime || is_for_onnxruntime(typed);
    const bool all_samples = !on_it && (for_it || holds_quantized_values(typed));
    auto [note, decide, refused] =
        what_users_get(typed, loaded, report.figures, report.saturated_pairs, options.measure.requirement, all_samples);
    watch.stop();
    if (for_it) report.engine = std::move(decide);
    if (refused && for_it) {
      report.defects.push_back({"refused-run", options.typed_model.name(), note_text(*note), "", /*refused=*/true});
    } else if (note && (for_it || refused)) {
      warn(*note);
    } else if (note) {
      report.notes.push_back(*note);
    }
  }

  if (objective) {
    watch.phase("task");
    report.objective = objective->text();
    std::optional<Note> doubt;
    report.test = test_in_both_orders(
        subject, [&](const Subject& which) { return test_by(*objective, labels, which, simulated.model, known); },
        doubt);
    if (doubt) warn(*doubt);
    watch.stop();
  }

  // Labels and scripts judge what ONNX Runtime itself gives, where that is the target and worse.
  std::optional<MeasureOn> on = options.on;
  if (objective && report.engine) on = MeasureOn::OnnxRuntime;
  if (on) {
    watch.phase("engine");
    const std::unique_ptr<Tally> tally = objective ? objective->begin(subject.judged) : nullptr;
    report.engine = measure_on_engine(typed, loaded, matches, requirement, *on, options.engine,
                                      options.layers_on_engine, tally.get(), sinks);
    if (tally) {
      report.engine_test = row_of(tally->trial(), subject.samples->size());
      if (labels != nullptr) say_share(*report.engine_test, report.test->reference, labels->min_share);
    }
    watch.stop();
    for (const Note& note : other_format_notes(report.engine->engine, report.engine->changed_formats)) warn(note);
    if (const auto note = disagreement(report)) warn(*note);
  }

  watch.phase("output values");
  report.exact_outputs = compare_exact_outputs(subject, simulated);
  for (const ExactOutput& output : report.exact_outputs) {
    if (output.equal == output.samples) continue;
    warn({"exact-output-differs",
          {{"output", output.name},
           {"what", output.what},
           {"differing", output.samples - output.equal},
           {"samples", output.samples}}});
  }
  const KnownValues values{known, typed_outputs ? &*typed_outputs : nullptr};
  for (const Note& note : constant_outputs(subject, simulated, measured.outputs, values)) warn(note);
  for (const Note& note : offset_outputs(subject, report.figures, values)) warn(note);
  watch.stop();

  report.layers = rows_of_layers(subject, simulated, matches, measured);
  report.figures.nonfinite_inside = hidden_nonfinite(report, subject, typed, simulated.model);
  if (report.figures.nonfinite_inside) {
    const HiddenNonfinite& hidden = *report.figures.nonfinite_inside;
    warn({"nonfinite-inside", {{"layers", hidden.layers}, {"first", hidden.first}, {"operator", hidden.op_type}}});
  }
  report.compared = report.layers.size();
  report.not_compared = notes_of(matches.missing);
  return report;
}

}  // namespace vernier
