#include "jobs/common/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/batches.h"
#include "analysis/figures.h"
#include "analysis/output_part.h"
#include "analysis/output_parts.h"
#include "base/elements.h"
#include "base/parallel.h"
#include "base/text.h"
#include "distributed/ranks.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "jobs/common/gpu_pays.h"
#include "jobs/common/image_size.h"
#include "model/contents.h"
#include "model/graph_edit.h"
#include "model/graph_walk.h"
#include "plan/float_interface.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/requirement.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Each thread that feeds a GPU takes handles of cuDNN and cuBLAS for each session, which cost more than a small
/// network.
std::size_t threads_for(const Runtime& runtime) {
  constexpr std::size_t kOnGpu = 2;
  return runtime.gpu() != nullptr ? std::min(kOnGpu, usable_cores()) : usable_cores();
}

/// A reference that rounds by itself hides the damage it already has.
std::optional<Note> already_quantized(const Model& model) {
  const std::size_t nodes = count_quantizers(model);
  if (nodes == 0) return std::nullopt;
  return Note{"reference-quantizes", {{"nodes", nodes}}};
}

std::vector<std::string> float_outputs(const Model& model, const MeasureOptions& options) {
  std::vector<std::string> floats;
  for (const InputInfo& output : model_outputs(model)) {
    const bool state = std::any_of(options.carries.begin(), options.carries.end(),
                                   [&](const auto& carry) { return carry.first == output.name; });
    if (output.dtype == Dtype::Float32 && !state) floats.push_back(output.name);
  }
  return floats;
}

/// The slice of one of `floats` that `text` names; nullopt when it names an output, or is none.
std::optional<OutputPart> part_named(const std::string& text, const std::vector<std::string>& floats) {
  if (std::ranges::find(floats, text) != floats.end()) return std::nullopt;
  std::optional<OutputPart> part = parse_part(text);
  if (part && std::ranges::find(floats, part->output) == floats.end()) return std::nullopt;
  return part;
}

/// "present.0.key", "present_key_values.0.value": what exporters of language models call the caches that the next step
/// reads. They are states, as long as something else is there to judge.
std::vector<std::string> caches_among(const std::vector<std::string>& floats) {
  std::vector<std::string> caches;
  for (const std::string& name : floats) {
    if (name.starts_with("present.") || name.starts_with("present_")) caches.push_back(name);
  }
  return caches.size() == floats.size() ? std::vector<std::string>() : caches;
}

/// What floats leave of the outputs, unless the user chooses among these.
std::vector<std::string> other_outputs(const Model& model, const MeasureOptions& options) {
  std::vector<std::string> others;
  if (!options.outputs.empty()) return others;
  for (const InputInfo& output : model_outputs(model)) {
    if (is_integer(output.dtype)) others.push_back(output.name);
  }
  return others;
}

bool has_limit(const std::optional<Requirement>& requirement, const std::string& output) {
  return requirement && std::ranges::find(requirement->limits, output, &Limit::output) != requirement->limits.end();
}

std::vector<std::string> judged_outputs(const std::vector<std::string>& floats, const MeasureOptions& options,
                                        std::vector<Note>& notes) {
  if (floats.empty()) return floats;
  if (options.outputs.empty()) {
    std::vector<std::string> caches = caches_among(floats);
    std::erase_if(caches, [&](const std::string& name) { return has_limit(options.requirement, name); });
    if (caches.empty()) return floats;
    notes.push_back({"cache-states-not-measured", {{"outputs", caches}}});
    std::vector<std::string> others = floats;
    std::erase_if(others, [&](const std::string& name) { return std::ranges::find(caches, name) != caches.end(); });
    return others;
  }
  std::vector<std::string> chosen;
  for (const std::string& pattern : options.outputs) {
    if (part_named(pattern, floats)) continue;
    const std::size_t before = chosen.size();
    for (const std::string& name : floats) {
      if (name == pattern || wildcard_match(pattern, name)) chosen.push_back(name);
    }
    if (chosen.size() == before) {
      throw Error(ErrorCode::UnknownName, fmt::format("‹outputs›: no float output is named '{}'", printable(pattern)),
                  "the outputs are: " + list_some(floats));
    }
  }
  std::vector<std::string> ordered;
  for (const std::string& name : floats) {
    if (std::find(chosen.begin(), chosen.end(), name) != chosen.end()) ordered.push_back(name);
  }
  return ordered;
}

void check_carries(const Model& model, const std::vector<std::pair<std::string, std::string>>& carries) {
  const auto has = [](const std::vector<InputInfo>& infos, const std::string& name) {
    return std::any_of(infos.begin(), infos.end(), [&](const InputInfo& info) { return info.name == name; });
  };
  for (const auto& [output, input] : carries) {
    if (!has(model_outputs(model), output)) {
      throw Error(ErrorCode::UnknownName, fmt::format("‹carry›: the model has no output '{}'", printable(output)));
    }
    if (!has(model_inputs(model), input)) {
      throw Error(ErrorCode::UnknownName, fmt::format("‹carry›: the model has no input '{}'", printable(input)));
    }
  }
}

/// One array of the network's rank whose first dimension the network leaves open is one sample: right for a batch that
/// belongs together, and a surprise to those who meant N samples.
std::optional<Note> batch_as_one_sample(const Model& model, const SampleSource& samples, const SourceOptions& options) {
  if (options.is_random() || options.split_batch || samples.size() != 1) return std::nullopt;
  const Sample sample = samples.at(0);
  std::int64_t batch = 0;
  for (const InputInfo& input : model_inputs(model)) {
    const auto value = sample.find(input.name);
    if (value == sample.end() || input.shape.empty() || input.shape[0] >= 0) return std::nullopt;
    if (batch != 0 && value->second.shape()[0] != batch) return std::nullopt;
    batch = value->second.shape()[0];
  }
  if (batch < 2) return std::nullopt;
  return Note{"batch-as-one-sample", {{"batch", batch}}};
}

/// A general limit that would mean something else of a part: the mean over fewer values, the largest among boxes.
bool for_whole_outputs(const std::optional<Requirement>& requirement) {
  return requirement && (requirement->metric == Metric::MaxMse || requirement->metric == Metric::MinTop1Agreement);
}

/// The slices that the user names: in ‹outputs›, and as outputs of limits.
std::vector<OutputPart> parts_named(const Subject& subject, const std::vector<std::string>& floats,
                                    const MeasureOptions& options) {
  std::vector<std::string> texts;
  for (const std::string& output : options.outputs) texts.push_back(output);
  if (options.requirement) {
    for (const Limit& limit : options.requirement->limits) texts.push_back(limit.output);
  }
  std::map<std::string, Shape> shapes;
  for (const InputInfo& output : model_outputs(subject.model)) shapes[output.name] = output.shape;
  std::vector<OutputPart> parts;
  for (const std::string& text : texts) {
    const std::optional<OutputPart> part = part_named(text, floats);
    if (!part || std::ranges::find(parts, text, &OutputPart::name) != parts.end()) continue;
    const bool listed = std::ranges::find(options.outputs, text) != options.outputs.end();
    const bool judged = std::ranges::find(subject.judged, part->output) != subject.judged.end();
    if (listed || judged) parts.push_back(part_of_shape(*part, shapes.at(part->output)));
  }
  return parts;
}

/// Lets the subject judge what the user names of its outputs, and what one figure for all of an output would hide.
void judge_parts_of_outputs(Loaded& loaded, const std::vector<std::string>& floats, Sources& sources) {
  const MeasureOptions& options = sources.options();
  Subject& subject = loaded.subject;
  subject.parts = parts_named(subject, floats, options);
  if (options.output_parts && !for_whole_outputs(options.requirement)) {
    if (!sources.output_parts) {
      FoundParts found = find_output_parts(subject);
      append(loaded.output_notes, found.notes);
      sources.output_parts = std::move(found.parts);
    }
    for (const OutputPart& part : *sources.output_parts) {
      const bool judged = std::ranges::find(subject.judged, part.output) != subject.judged.end();
      const bool named =
          std::ranges::any_of(subject.parts, [&](const OutputPart& known) { return known.same_values(part); });
      if (judged && !named) subject.parts.push_back(part);
    }
  }
  for (JudgedView& view : judge_parts(subject.model, subject.parts)) {
    subject.judged.push_back(view.output);
    loaded.views.push_back(std::move(view));
  }
}

void check_requirement(const Subject& subject, const std::optional<Requirement>& requirement) {
  if (!requirement) return;
  std::vector<std::string> measured = subject.judged;
  std::erase_if(measured, [&](const std::string& name) { return picked_of(subject, name) == Picked::ByOthers; });
  for (const Limit& limit : requirement->limits) {
    if (limit.output.empty()) continue;
    if (std::find(measured.begin(), measured.end(), limit.output) == measured.end()) {
      throw Error(
          ErrorCode::UnknownName,
          fmt::format("‹{}›: '{}' is not a measured output", word_of(requirement->metric), printable(limit.output)),
          "measured outputs: " + list_some(measured));
    }
  }
}

}  // namespace

std::vector<Note> judge_picked_outputs(Subject& subject, const std::vector<std::string>& others,
                                       std::vector<JudgedView>& views) {
  std::set<std::string> wanted(subject.judged.begin(), subject.judged.end());
  wanted.insert(others.begin(), others.end());
  const PickedOutputs picked = find_picked_outputs(subject.model, wanted);
  for (JudgedView& view : judge_picked(subject.model, picked)) views.push_back(std::move(view));
  std::vector<std::string> fronts;
  for (const TensorBehind& front : picked.fronts) {
    subject.judged.push_back(front.given);
    subject.picked[front.given] = Picked::Front;
    fronts.push_back(front.given);
  }
  std::vector<Note> notes;
  for (const std::string& output : picked.layered) subject.picked[output] = Picked::Layered;
  for (const std::string& output : picked.outputs) subject.picked[output] = Picked::ByOthers;
  if (picked.outputs.empty() && picked.layered.empty()) return notes;
  std::vector<std::string> outputs(picked.outputs.begin(), picked.outputs.end());
  outputs.insert(outputs.end(), picked.layered.begin(), picked.layered.end());
  notes.push_back({"outputs-measured-before-picks", {{"outputs", outputs}, {"fronts", fronts}}});
  return notes;
}

namespace {

/// The beginning of load(): `judged`: to be judged.
Loaded open(const OnnxModel& source, const PrepareOptions& preparation, Sources& sources, bool judged) {
  const MeasureOptions& options = sources.options();
  sources.load_runtime_ahead();
  Loaded loaded;
  loaded.original = sources.model(source);
  const Model& original = *loaded.original;
  check_carries(original, options.carries);
  loaded.samples = sources.samples(original);
  loaded.calibration = sources.calibration(original);
  sources.choose_device([&] { return gpu_pays(original, *loaded.samples, preparation.formats); });
  loaded.subject.runtime = sources.runtime();

  if (!options.partial_folder.empty()) loaded.partial = std::make_shared<PartialRuns>(options.partial_folder);

  loaded.preparation = preparation;
  PrepareOptions prepare_options = preparation;
  prepare_options.inline_ifs = true;
  const std::shared_ptr<const Prepared> prepared = sources.prepared(source, prepare_options);
  for (const PrepareNote& done : prepared->notes) {
    loaded.notes.push_back(done.note);
    if (done.step == "inline_ifs") loaded.inlined_ifs = true;
  }

  Subject& subject = loaded.subject;
  subject.model = prepared->model;
  std::set<std::string> states;
  for (const auto& [output, input] : options.carries) states.insert(output);
  if (judged) {
    loaded.views = judge_as_floats(subject.model, states);
    for (const JudgedView& view : loaded.views) {
      if (const std::optional<Note> note = note_of(view)) loaded.notes.push_back(*note);
    }
  }
  const std::vector<std::string> floats = float_outputs(subject.model, options);
  subject.judged = judged_outputs(floats, options, loaded.output_notes);
  if (judged) {
    append(loaded.output_notes, judge_picked_outputs(subject, other_outputs(subject.model, options), loaded.views));
    std::set<std::string> told = states;
    for (const auto& [name, picked] : subject.picked) told.insert(name);
    for (const JudgedView& view : loaded.views) told.insert(view.output);
    append(loaded.output_notes, notes_of_unjudged(subject.model, told));
  }
  std::vector<std::string> others;
  subject.layers = measured_layers(subject.model, &others);
  if (!others.empty() && subject.layers.empty()) {
    throw Error(ErrorCode::NotMeasurable, printable(source.name()) + ": all its layers compute in float64",
                "export the model in float32: low formats are chosen for float32 layers");
  }
  if (!others.empty()) loaded.notes.push_back({"float64-layers-left", {{"layers", others}}});
  subject.samples = loaded.samples.get();
  for (const auto& [output, input] : options.carries) subject.carries.push_back({output, input});
  subject.class_axes = class_axes(subject.model, subject.judged, options.top1_axes);
  subject.threads = options.threads != 0 ? options.threads : threads_for(*subject.runtime);
  subject.cpu_threads = options.threads != 0 ? options.threads : usable_cores();
  subject.progress = progress_of(sources.sinks());
  subject.ranks = &job_ranks();
  if (loaded.samples->size() == 0) throw Error(ErrorCode::NoSamples, "zero samples: nothing can be measured");
  if (subject.runtime->gpu() != nullptr) {
    std::string why = choose_batch(subject);
    if (!subject.ranks->agree_on(subject.batch)) {  // other GPUs, other sums
      set_batch(subject, 1);
      why = "the ranks chose different batch sizes";
    }
    const std::string text = why.empty() ? fmt::format("{} samples run as one", subject.batch)
                                         : fmt::format("samples run one by one: {}", why);
    if (sources.sinks().info) sources.sinks().info(text);
  }
  if (judged) judge_parts_of_outputs(loaded, floats, sources);
  check_requirement(subject, options.requirement);
  if (const auto note = already_quantized(original)) loaded.warnings.push_back(*note);
  if (const auto note = batch_as_one_sample(original, *loaded.samples, options.data)) loaded.warnings.push_back(*note);
  if (const auto note = other_image_size(original, *loaded.samples)) loaded.warnings.push_back(*note);
  if (loaded.samples->is_random()) loaded.warnings.push_back({kRandomInputs, {}});
  return loaded;
}

}  // namespace

Loaded load(const OnnxModel& source, const PrepareOptions& preparation, Sources& sources) {
  return open(source, preparation, sources, /*judged=*/false);
}

void require_values_of_inputs(const Loaded& loaded, const Model& typed) {
  constexpr std::size_t kFew = 8;
  for (const InputInfo& input : model_inputs(typed)) {
    if (!is_integer(input.dtype)) continue;
    for (std::size_t sample = 0; sample < std::min(kFew, loaded.samples->size()); ++sample) {
      const Sample values = loaded.samples->at(sample);
      const auto given = values.find(input.name);
      if (given == values.end() || given->second.dtype() != Dtype::Float32) continue;
      const std::span<const float> floats = given->second.floats();
      const auto lost = std::ranges::find_if(floats, [](float value) { return value != std::trunc(value); });
      if (lost == floats.end()) continue;
      throw Error(
          ErrorCode::SampleValues,
          fmt::format("{}: input '{}' is {}, and sample {} holds {:.4g}, which it cannot hold",
                      printable(typed.path.string()), printable(input.name), dtype_name(input.dtype), sample, *lost),
          "no DequantizeLinear reads that input, so its scale is not known; give a file with a float input");
    }
  }
}

void fit_beside(Model& simulated, const Loaded& loaded) {
  cast_inputs(simulated, loaded.subject.model);
  judge_alike(simulated, loaded.views);
  for (const InputInfo& output : model_outputs(simulated)) {
    const bool judged = std::ranges::find(loaded.subject.judged, output.name) != loaded.subject.judged.end();
    if (!judged || !(is_integer(output.dtype) || output.dtype == Dtype::Bool)) continue;
    throw Error(ErrorCode::Unlike,
                fmt::format("{}: output '{}' is {}, where the float model has {}", printable(simulated.path.string()),
                            printable(output.name), not_judged_text(simulated, output), dtype_name(Dtype::Float32)),
                "‹outputs› names the outputs to measure");
  }
}

namespace {

/// The float tensor nearest to `output` among those that it is computed from; empty when there is none.
std::string nearest_float(const Model& model, const std::string& output) {
  const GraphWalk walk(model);
  const std::map<std::string, ValueType> types = infer_types(model);
  std::vector<std::string> next{output};
  std::set<std::string> seen(next.begin(), next.end());
  for (std::size_t i = 0; i < next.size(); ++i) {
    const onnx::NodeProto* const maker = walk.maker(next[i]);
    if (maker == nullptr) continue;
    const auto type = types.find(next[i]);
    if (type != types.end() && type->second.dtype == Dtype::Float32) return next[i];
    for (const std::string& read : maker->input()) {
      if (seen.insert(read).second) next.push_back(read);
    }
  }
  return {};
}

}  // namespace

Loaded load_judged(const OnnxModel& source, const PrepareOptions& preparation, Sources& sources) {
  Loaded loaded = open(source, preparation, sources, /*judged=*/true);
  if (!loaded.subject.judged.empty()) return loaded;
  std::vector<std::string> outputs;
  std::string inner;
  for (const InputInfo& output : model_outputs(*loaded.original)) {
    outputs.push_back(fmt::format("'{}' is {}", printable(output.name), not_judged_text(*loaded.original, output)));
    if (inner.empty()) inner = nearest_float(*loaded.original, output.name);
  }
  throw Error(
      ErrorCode::NotMeasurable,
      fmt::format("{}: no output can be measured: none is a float tensor, or the result of an ArgMax or QuantizeLinear",
                  printable(source.name())),
      fmt::format("{}: {}", list_some(outputs),
                  inner.empty() ? "none is computed from a float tensor, so that no precision can be chosen for it"
                                : fmt::format("make '{}' an output, and measure that: ‹vernier surgeon extract› with "
                                              "‹outputs› {}:auto",
                                              printable(inner), printable(inner))));
}

std::optional<Note> resumed_note(const Loaded& loaded) {
  if (!loaded.partial || loaded.partial->resumed_at().empty()) return std::nullopt;
  return Note{"run-resumed", {{"where", loaded.partial->resumed_at()}}};
}

}  // namespace vernier
