#include "jobs/common/setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "base/parallel.h"
#include "base/text.h"
#include "distributed/ranks.h"
#include "engines/onnxruntime/runtime.h"
#include "jobs/common/figures.h"
#include "scripts/script_location.h"
#include "vernier/error.h"
#include "vernier/requirement.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// A reference that rounds by itself hides the damage it already has.
std::optional<std::string> already_quantized(const Model& model) {
  const std::size_t nodes = count_quantizers(model);
  if (nodes == 0) return std::nullopt;
  return fmt::format(
      "the float model already rounds: it quantizes ({}), and that error is part of the "
      "reference and counts as no error here (to measure such a file, give it to 'vernier verify' "
      "behind its float model)",
      plural(nodes, "QuantizeLinear node"));
}

std::vector<std::string> judged_outputs(const Model& model, const MeasureOptions& options) {
  std::vector<std::string> floats;
  for (const InputInfo& output : model_outputs(model)) {
    const bool state = std::any_of(options.carries.begin(), options.carries.end(),
                                   [&](const auto& carry) { return carry.first == output.name; });
    if (output.dtype == Dtype::Float32 && !state) floats.push_back(output.name);
  }
  if (floats.empty() || options.outputs.empty()) return floats;
  std::vector<std::string> chosen;
  for (const std::string& pattern : options.outputs) {
    const std::size_t before = chosen.size();
    for (const std::string& name : floats) {
      if (name == pattern || wildcard_match(pattern, name)) chosen.push_back(name);
    }
    if (chosen.size() == before) {
      throw Error(ErrorKind::Usage, fmt::format("--outputs: no float output is named '{}'", printable(pattern)),
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
      throw Error(ErrorKind::Usage, fmt::format("--carry: the model has no output '{}'", printable(output)));
    }
    if (!has(model_inputs(model), input)) {
      throw Error(ErrorKind::Usage, fmt::format("--carry: the model has no input '{}'", printable(input)));
    }
  }
}

/// One array of the network's rank whose first dimension the network leaves open is one sample: right for a batch that
/// belongs together, and a surprise to those who meant N samples.
std::optional<std::string> batch_as_one_sample(const Model& model, const SampleSource& samples,
                                               const SourceOptions& options) {
  if (options.location.empty() || options.split_batch || samples.size() != 1) return std::nullopt;
  const Sample sample = samples.at(0);
  std::int64_t batch = 0;
  for (const InputInfo& input : model_inputs(model)) {
    const auto value = sample.find(input.name);
    if (value == sample.end() || input.shape.empty() || input.shape[0] >= 0) return std::nullopt;
    if (batch != 0 && value->second.shape()[0] != batch) return std::nullopt;
    batch = value->second.shape()[0];
  }
  if (batch < 2) return std::nullopt;
  return fmt::format("the data are one sample, a batch of {}: --split-batch makes them {} samples", batch, batch);
}

void check_requirement(const Subject& subject, const std::optional<Requirement>& requirement) {
  if (!requirement) return;
  for (const Limit& limit : requirement->limits) {
    if (limit.output.empty()) continue;
    if (std::find(subject.judged.begin(), subject.judged.end(), limit.output) == subject.judged.end()) {
      throw Error(
          ErrorKind::Usage,
          fmt::format("{}: '{}' is not a judged output", metric_option(requirement->metric), printable(limit.output)),
          "judged are: " + list_some(subject.judged));
    }
  }
}

}  // namespace

Evaluator evaluator(const std::shared_ptr<const Runtime>& runtime) {
  return [runtime](const Model& model, const Sample& inputs) { return evaluate_exactly(runtime, model, inputs); };
}

Progress progress_of(const JobSinks& sinks) {
  return [sinks](const std::string& phase, std::size_t done, std::size_t total) {
    if (sinks.interrupted && sinks.interrupted()) throw Error(ErrorKind::Interrupted, "interrupted");
    if (sinks.progress) sinks.progress(phase, done, total);
  };
}

void show_samples(const Loaded& loaded, PrepareOptions& options) {
  const std::size_t own = loaded.samples->size();
  options.samples = own + (loaded.calibration ? loaded.calibration->size() : 0);
  options.sample_at = [&loaded, own](std::size_t index) {
    return index < own ? loaded.samples->at(index) : loaded.calibration->at(index - own);
  };
}

Loaded load(const std::filesystem::path& path, const std::set<Format>& formats, const MeasureOptions& options,
            const JobSinks& sinks, int min_opset) {
  Sources sources(options, sinks);
  Loaded loaded = load(path, formats, sources, min_opset);
  if (loaded.subject.judged.empty()) {
    throw Error(ErrorKind::Input,
                fmt::format("{}: the model has no float output that could be judged", printable(path.string())));
  }
  return loaded;
}

Loaded load(const std::filesystem::path& path, const std::set<Format>& formats, Sources& sources, int min_opset) {
  const MeasureOptions& options = sources.options();
  Loaded loaded;
  loaded.original = read_model(path);
  check_carries(loaded.original, options.carries);
  loaded.subject.runtime = Runtime::load();
  loaded.samples = sources.samples(loaded.original);
  loaded.calibration = sources.calibration(loaded.original);

  PrepareOptions prepare_options;
  prepare_options.formats = formats;
  prepare_options.inline_ifs = true;
  prepare_options.min_opset = min_opset;
  show_samples(loaded, prepare_options);
  Prepared prepared = prepare(loaded.original, prepare_options, evaluator(loaded.subject.runtime));
  for (const PrepareNote& note : prepared.notes) {
    loaded.notes.push_back(note.text);
    if (note.step == "inline_ifs") loaded.inlined_ifs = true;
  }

  Subject& subject = loaded.subject;
  subject.model = std::move(prepared.model);
  subject.layers = find_layers(subject.model);
  subject.samples = loaded.samples.get();
  for (const auto& [output, input] : options.carries) subject.carries.push_back({output, input});
  subject.judged = judged_outputs(subject.model, options);
  subject.threads = options.threads == 0 ? usable_cores() : options.threads;
  subject.progress = progress_of(sources.sinks());
  subject.ranks = &job_ranks();
  check_requirement(subject, options.requirement);
  if (const auto text = already_quantized(loaded.original)) loaded.warnings.push_back(*text);
  if (const auto text = batch_as_one_sample(loaded.original, *loaded.samples, options.data)) {
    loaded.warnings.push_back(*text);
  }
  if (loaded.samples->is_random()) {
    loaded.warnings.push_back("the inputs are random numbers: figures say little about real data (give --data)");
  }
  if (loaded.samples->size() == 0) throw Error(ErrorKind::Input, "zero samples: nothing can be measured");
  return loaded;
}

RunFigures prove_prepared(const Loaded& loaded) {
  const Subject& subject = loaded.subject;
  const Sample sample = loaded.samples->at(0);
  std::map<std::string, OutputStats> stats;
  const auto outputs_of = [&](const Model& model) {
    std::map<std::string, Tensor> outputs;
    const std::vector<Tensor> values = evaluate_exactly(subject.runtime, model, sample);
    for (std::size_t i = 0; i < values.size(); ++i) {
      outputs[model.proto.graph().output(static_cast<int>(i)).name()] = values[i];
    }
    return outputs;
  };
  const auto before = outputs_of(loaded.original);
  const auto after = outputs_of(subject.model);
  for (const std::string& name : subject.judged) stats[name].add_sample(0, before.at(name), after.at(name));
  return figures_of(subject, stats, nullptr);
}

std::size_t count_quantizers(const Model& model) {
  std::size_t nodes = 0;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (node.op_type() == "QuantizeLinear" || node.op_type() == "DynamicQuantizeLinear") ++nodes;
    }
  });
  return nodes;
}

std::int64_t weight_bytes(const Model& model) {
  std::int64_t bytes = 0;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    const auto add = [&](const onnx::TensorProto& tensor) {
      const Shape shape(tensor.dims().begin(), tensor.dims().end());
      bytes += element_count(shape) * dtype_bits(static_cast<Dtype>(tensor.data_type())) / 8;
    };
    for (const onnx::TensorProto& tensor : graph.initializer()) add(tensor);
    for (const onnx::NodeProto& node : graph.node()) {
      if (node.op_type() != "Constant") continue;
      for (const onnx::AttributeProto& attribute : node.attribute()) {
        if (attribute.has_t()) add(attribute.t());
      }
    }
  });
  return bytes;
}

void refuse_to_overwrite(const std::filesystem::path& output, const std::vector<std::filesystem::path>& inputs) {
  for (const std::filesystem::path& input : inputs) {
    std::error_code absent;  // what does not exist cannot be overwritten
    if (!std::filesystem::equivalent(output, input, absent)) continue;
    throw Error(ErrorKind::Usage, fmt::format("{} would be overwritten, and this job reads it", input.string()),
                "choose another place with -o");
  }
}

std::vector<std::filesystem::path> source_files(const MeasureOptions& options) {
  std::vector<std::filesystem::path> files;
  const auto add = [&files](const SourceOptions& source) {
    std::vector<std::string> locations = source.further;
    locations.push_back(source.location);
    for (const std::string& location : locations) {
      const auto script = script_location(location);
      files.emplace_back(script ? script->file : location);
    }
  };
  add(options.data);
  if (options.calibration_data) add(*options.calibration_data);
  return files;
}

std::string machine_text() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  std::string model = "unknown CPU";
  while (std::getline(info, line)) {
    if (line.starts_with("model name")) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  }
  return fmt::format("{}, {} usable cores", model, usable_cores());
}

}  // namespace vernier
