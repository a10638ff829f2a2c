#include "jobs/engine/engine_runner.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/scratch_folder.h"
#include "base/text.h"
#include "jobs/engine/compiler.h"
#include "jobs/engine/engine_layers.h"
#include "jobs/engine/host_files.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/report/note_text.h"

namespace vernier {
namespace {

bool is_open(const Shape& shape) {
  return std::ranges::any_of(shape, [](std::int64_t size) { return size < 0; });
}

void widen(ShapeRange& range, const Shape& shape) {
  if (range.opt.empty()) range = {shape, shape, shape};
  for (std::size_t i = 0; i < shape.size() && i < range.min.size(); ++i) {
    range.min[i] = std::min(range.min[i], shape[i]);
    range.max[i] = std::max(range.max[i], shape[i]);
  }
}

/// Shapes of inputs with open dimensions: those named by the user, of others what the samples have, the first as the
/// usual one. Reads all samples where a shape is open.
std::map<std::string, ShapeRange> profile(const Model& file, const std::map<std::string, ShapeRange>& named,
                                          const SampleSource& samples) {
  std::map<std::string, ShapeRange> ranges;
  std::set<std::string> wanted;
  std::vector<std::string> names;
  for (const InputInfo& input : model_inputs(file)) {
    names.push_back(input.name);
    if (const auto given = named.find(input.name); given != named.end()) {
      ranges.insert(*given);
    } else if (is_open(input.shape)) {
      wanted.insert(input.name);
    }
  }
  for (const auto& [name, range] : named) {
    if (std::ranges::find(names, name) != names.end()) continue;
    throw Error(ErrorCode::UnknownName, fmt::format("‹trt-opt-shapes›: no input is called '{}'", printable(name)),
                "its inputs: " + list_some(names));
  }
  for (std::size_t i = 0; i < samples.size() && !wanted.empty(); ++i) {
    const Sample sample = samples.at(i);
    for (const std::string& name : wanted) widen(ranges[name], sample.at(name).shape());
  }
  return ranges;
}

std::string hint_of_names(const Model& file, const std::map<std::string, ShapeRange>& shapes) {
  const std::optional<Note> note = shared_names_note(file, shapes);
  return note ? note_text(*note) : "";
}

}  // namespace

bool has_nvidia_driver() {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) return false;
  ::dlclose(driver);
  return true;
}

EngineRunOptions options_for(MeasureOn on, const EngineRunOptions& options) {
  EngineRunOptions chosen = options;
  const bool openvino = on == MeasureOn::OpenVino;
  if (openvino && options.engine == EngineChoice::Any) chosen.engine = EngineChoice::OpenVino;
  if (openvino == (chosen.engine == EngineChoice::OpenVino)) return chosen;
  throw Error(ErrorCode::WithoutEffect,
              fmt::format("‹engine› {}: {} was asked for", word_of(options.engine), openvino ? "OpenVINO" : "TensorRT"),
              "leave ‹engine› out");
}

EngineRunner::EngineRunner(const EngineRunOptions& options, const JobSinks& sinks, std::unique_ptr<EngineHost> host)
    : options_(options), sinks_(sinks), host_(std::move(host)), about_(host_->about()) {}

std::unique_ptr<EngineRunner> EngineRunner::find(const EngineRunOptions& options, const JobSinks& sinks,
                                                 EngineFailures& failures) {
  const HostOptions how{options.python, options.device, options.seconds, sinks.interrupted, options.plugins};
  std::unique_ptr<EngineHost> host = find_engine(
      options.engine, how,
      [](const EngineAbout& about) {
        if (about.runs && !about.devices.empty()) return std::string();
        return fmt::format("{} {} cannot run on this machine: {}", about.name, about.version, about.no_device);
      },
      failures);
  if (host == nullptr) return nullptr;
  host->load_plugins();
  return std::unique_ptr<EngineRunner>(new EngineRunner(options, sinks, std::move(host)));
}

std::unique_ptr<EngineRunner> EngineRunner::require(const EngineRunOptions& options, const JobSinks& sinks) {
  EngineFailures failures;
  std::unique_ptr<EngineRunner> found = find(options, sinks, failures);
  if (found == nullptr) {
    throw Error(ErrorCode::EngineMissing, fmt::format("{}", fmt::join(failures.reasons, "; ")), failures.hint);
  }
  return found;
}

std::string EngineRunner::text() const {
  return fmt::format("{} {} on {}", about_.name, about_.version,
                     about_.devices.empty() ? "no device" : about_.devices.front().name);
}

void EngineRunner::tell(const EngineSettings& settings) { options_.settings.insert(settings.begin(), settings.end()); }

EngineReport EngineRunner::open(const Model& file, const SampleSource& samples) {
  EngineReport report;
  report.file = file.path.string();
  report.sha256 = file.sha256;
  report.engine = about_;
  report.compiled_for = about_.devices.front().name;
  const ScratchFolder scratch;
  CompileRequest request{scratch / "model.onnx", profile(file, options_.shapes, samples), "", options_.settings};
  write_model(file, request.model);
  const HostFiles files(request.settings);
  const std::filesystem::path save = options_.save_engine.empty() ? "" : scratch / "engine";
  if (sinks_.progress) sinks_.progress("engine by " + about_.name + " " + about_.version, 0, 1);
  CompiledEngine opened = host_->open(request, save);
  const std::string refused = opened.refusals.empty() ? misread_text(file, opened) : refusal_text(file, opened);
  if (!refused.empty()) {
    throw Error(ErrorCode::EngineFails, fmt::format("{} {}: {}", about_.name, about_.version, refused),
                about_.name == "OpenVINO" ? "" : hint_of_names(file, request.shapes));
  }
  files.keep();
  if (!save.empty()) replace_file(options_.save_engine, read_text(save, std::numeric_limits<std::size_t>::max()));
  outputs_.clear();
  for (const onnx::ValueInfoProto& output : file.proto.graph().output()) outputs_.push_back(output.name());
  report.bytes = opened.bytes;
  report.seconds = opened.seconds;
  report.kernels = std::move(opened.kernels);
  report.words = std::move(opened.words);
  match_kernels(file, report);
  return report;
}

EngineReport EngineRunner::open_built(const std::filesystem::path& engine, Model& ports) {
  if (sinks_.progress) sinks_.progress("engine by " + about_.name + " " + about_.version, 0, 1);
  CompiledEngine opened = host_->open_built(engine);
  ports = Model();
  ports.path = engine;
  onnx::GraphProto& graph = *ports.proto.mutable_graph();
  graph.set_name("engine");
  const auto say = [](const EnginePort& port, onnx::ValueInfoProto& info) {
    info.set_name(port.name);
    onnx::TypeProto::Tensor& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(static_cast<int>(port.dtype));
    for (const std::int64_t size : port.shape) {
      auto& dimension = *type.mutable_shape()->add_dim();
      if (size >= 0) dimension.set_dim_value(size);
    }
  };
  outputs_.clear();
  for (const EnginePort& port : opened.inputs) say(port, *graph.add_input());
  for (const EnginePort& port : opened.outputs) {
    say(port, *graph.add_output());
    outputs_.push_back(port.name);
  }
  EngineReport report;
  report.file = engine.string();
  report.engine = about_;
  report.compiled_for = about_.devices.front().name;
  report.bytes = opened.bytes;
  report.seconds = opened.seconds;
  report.kernels = std::move(opened.kernels);
  report.words = std::move(opened.words);
  return report;
}

std::vector<NamedTensor> EngineRunner::run(const Sample& sample, double& seconds) {
  std::vector<NamedTensor> given = host_->run(sample, seconds);
  std::vector<NamedTensor> ordered;
  for (const std::string& name : outputs_) {
    const auto found = std::ranges::find(given, name, &NamedTensor::name);
    if (found == given.end()) {
      throw Error(ErrorCode::EngineFails, fmt::format("{} has no output '{}'", about_.name, printable(name)));
    }
    ordered.push_back(std::move(*found));
  }
  return ordered;
}

std::vector<EngineFigures::OtherFormat> other_formats(const EngineReport& report) {
  std::map<std::pair<std::string, Format>, std::vector<std::string>> groups;
  for (const EngineLayer& layer : report.layers) {
    if (layer.differs) groups[{fmt::format("{}", fmt::join(layer.reads, " and ")), layer.asked}].push_back(layer.name);
  }
  std::vector<EngineFigures::OtherFormat> changed;
  for (auto& [formats, layers] : groups) changed.push_back({formats.first, formats.second, std::move(layers)});
  return changed;
}

std::vector<Note> other_format_notes(const std::string& engine,
                                     const std::vector<EngineFigures::OtherFormat>& changed) {
  std::vector<Note> notes;
  for (const EngineFigures::OtherFormat& one : changed) {
    notes.push_back(
        {"engine-runs-other-format",
         {{"engine", engine}, {"layers", one.layers}, {"runs_in", one.runs_in}, {"asked", format_name(one.asked)}}});
  }
  return notes;
}

std::string other_formats_text(const EngineReport& report) {
  std::vector<std::string> sentences;
  for (const EngineFigures::OtherFormat& changed : other_formats(report)) {
    sentences.push_back(fmt::format("{} in {} that the file has in {}: {}", plural(changed.layers.size(), "layer"),
                                    changed.runs_in, format_name(changed.asked), list_some(changed.layers)));
  }
  return sentences.empty() ? "" : fmt::format("it runs {}", fmt::join(sentences, "; "));
}

}  // namespace vernier
