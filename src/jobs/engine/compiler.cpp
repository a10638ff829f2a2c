#include "jobs/engine/compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/scratch_folder.h"
#include "base/text.h"
#include "engines/hosts/engine_host.h"
#include "engines/hosts/find_engine.h"
#include "jobs/common/typed_file.h"
#include "jobs/engine/engine_layers.h"
#include "jobs/engine/host_files.h"
#include "model/model.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

constexpr const char* kUsualCapability = "8.9";

std::string text_of(const EngineAbout& about) { return about.name + " " + about.version; }

/// What `about` would compile for; nullopt, with the reason, where it cannot.
std::optional<std::string> target_of(const EngineAbout& about, const std::string& wanted, std::string& why) {
  const auto knows = [&](const std::string& capability) {
    return std::ranges::find(about.capabilities, capability) != about.capabilities.end();
  };
  if (wanted.empty()) {
    if (!about.devices.empty()) return "";
    if (knows(kUsualCapability)) return kUsualCapability;
    if (!about.capabilities.empty()) return about.capabilities.back();
    why = text_of(about) + " compiles for the GPU of its machine alone, and " + about.no_device;
    return std::nullopt;
  }
  if (knows(wanted)) return wanted;
  if (!about.devices.empty() && about.devices.front().capability == wanted) return "";
  why = fmt::format(
      "{} cannot compile for compute capability {}{}", text_of(about), wanted,
      about.capabilities.empty() ? "" : ": it knows " + fmt::format("{}", fmt::join(about.capabilities, ", ")));
  return std::nullopt;
}

/// `named`: by the user; `otherwise`: of inputs that were not.
std::map<std::string, ShapeRange> shapes_of(const Model& file, const std::map<std::string, Shape>& named,
                                            const std::map<std::string, Shape>& otherwise, std::vector<Note>& notes) {
  std::map<std::string, ShapeRange> shapes;
  std::vector<std::string> opened;
  const std::vector<InputInfo> inputs = model_inputs(file);
  for (const auto& [name, shape] : named) {
    if (std::ranges::find(inputs, name, &InputInfo::name) == inputs.end()) {
      throw Error(ErrorCode::UnknownName, fmt::format("‹shapes›: no input is called '{}'", printable(name)));
    }
  }
  for (const InputInfo& input : inputs) {
    Shape shape = input.shape;
    if (const auto given = named.find(input.name); given != named.end()) {
      shape = given->second;
    } else if (const auto known = otherwise.find(input.name); known != otherwise.end()) {
      shape = known->second;
    } else if (std::ranges::any_of(shape, [](std::int64_t size) { return size < 0; })) {
      for (std::int64_t& size : shape) size = size < 0 ? 1 : size;
      opened.push_back(input.name + " as " + shape_text(shape));
    }
    shapes[input.name] = {shape, shape, shape};
  }
  if (!opened.empty()) {
    notes.push_back({"open-dimensions-as-one", {{"inputs", opened}}});
  }
  return shapes;
}

/// OpenVINO calls a node by its output: the node's name where the file has such an output.
std::string node_of(const Model& file, const std::string& called) {
  std::string name = called;
  for_each_graph(file.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (std::ranges::find(node.output(), called) != node.output().end()) name = node.name();
    }
  });
  return name;
}

}  // namespace

std::string refusal_text(const Model& file, const CompiledEngine& compiled) {
  const EngineRefusal& first = compiled.refusals.front();
  std::string at;
  if (!first.node.empty()) {
    at = fmt::format(" at node '{}'{}", printable(node_of(file, first.node)),
                     first.op_type.empty() ? "" : " (" + printable(first.op_type) + ")");
  }
  const std::size_t others = compiled.refusals.size() - 1;
  const bool by_node = !first.node.empty() && others > 0;
  return fmt::format("its {} refuses the file{}: {}{}", compiled.stage, at, printable(first.text),
                     by_node ? fmt::format(" (and {} more)", others) : "");
}

std::string misread_text(const Model& file, const CompiledEngine& compiled) {
  const std::map<std::string, ValueType> types = infer_types(file);
  for (const EnginePort& output : compiled.outputs) {
    const auto known = types.find(output.name);
    if (known == types.end() || !known->second.rank_known) continue;
    const Shape& shape = known->second.shape;
    const bool same = std::ranges::equal(shape, output.shape,
                                         [](std::int64_t a, std::int64_t b) { return a < 0 || b < 0 || a == b; });
    if (same) continue;
    return fmt::format(
        "it deviates from the ONNX specification: output '{}' has the shape {} on the engine, and {} in the file",
        printable(output.name), shape_text(output.shape), shape_text(shape));
  }
  return "";
}

std::optional<Note> shared_names_note(const Model& file, const std::map<std::string, ShapeRange>& shapes) {
  struct Place {
    std::int64_t size;
    std::size_t axis;
    std::string input;
    Shape sizes;
  };
  std::map<std::string, Place> first;
  for (const onnx::ValueInfoProto& input : file.proto.graph().input()) {
    const auto given = shapes.find(input.name());
    if (given == shapes.end()) continue;
    const auto& dims = input.type().tensor_type().shape().dim();
    for (int axis = 0; axis < dims.size(); ++axis) {
      const auto i = static_cast<std::size_t>(axis);
      const ShapeRange& range = given->second;
      if (dims[axis].dim_param().empty() || i >= range.opt.size()) continue;
      const Shape sizes{range.min[i], range.opt[i], range.max[i]};
      const auto& [name, place] =
          *first.try_emplace(dims[axis].dim_param(), Place{sizes[1], i, input.name(), sizes}).first;
      if (place.sizes == sizes) continue;
      return Note{"name-of-two-sizes",
                  {{"name", name},
                   {"size", place.size},
                   {"axis", place.axis},
                   {"input", place.input},
                   {"other_size", sizes[1]},
                   {"other_axis", axis},
                   {"other_input", input.name()},
                   {"shape", fmt::format("{}", fmt::join(range.opt, ","))}}};
    }
  }
  return std::nullopt;
}

std::optional<Note> shared_names_note(const Model& file, const Sample& sample) {
  std::map<std::string, ShapeRange> shapes;
  for (const auto& [input, value] : sample) shapes[input] = {value.shape(), value.shape(), value.shape()};
  return shared_names_note(file, shapes);
}

std::optional<Note> shared_names_note(const Model& file) {
  for (const onnx::ValueInfoProto& input : file.proto.graph().input()) {
    const auto& dims = input.type().tensor_type().shape().dim();
    for (int axis = 1; axis < dims.size(); ++axis) {
      const auto same = std::ranges::find_if(dims.begin(), dims.begin() + axis, [&](const auto& dim) {
        return dim.dim_param() == dims[axis].dim_param();
      });
      if (dims[axis].dim_param().empty() || same == dims.begin() + axis) continue;
      return Note{"axes-share-a-name",
                  {{"name", dims[axis].dim_param()},
                   {"axis", same - dims.begin()},
                   {"other_axis", axis},
                   {"input", input.name()}}};
    }
  }
  return std::nullopt;
}

CompileOptions for_target(const CompileOptions& options, Target target) {
  CompileOptions chosen = options;
  if (target == Target::OpenVino && options.engine == EngineChoice::Any) chosen.engine = EngineChoice::OpenVino;
  const bool of_target = (chosen.engine == EngineChoice::OpenVino) == (target == Target::OpenVino);
  if (target != Target::OnnxRuntime && of_target) return chosen;
  throw Error(
      ErrorCode::WithoutEffect,
      fmt::format("‹compile›: the file is made for ‹target› {}, which {}", word_of(target),
                  target == Target::OnnxRuntime ? "compiles nothing ahead"
                                                : "‹engine› " + std::string(word_of(chosen.engine)) + " is not"),
      "‹target› tensorrt or openvino, or leave ‹compile› out");
}

Compiler::Compiler(const CompileOptions& options, const JobSinks& sinks) : options_(options), sinks_(sinks) {
  EngineFailures failures;
  host_ = find_engine(
      options_.engine, {options_.python, "", options_.seconds, sinks_.interrupted, options_.plugins},
      [&](const EngineAbout& about) {
        std::string why;
        if (auto target = target_of(about, options_.compute_capability, why)) capability_ = std::move(*target);
        return why;
      },
      failures);
  if (host_ == nullptr) {
    throw Error(ErrorCode::EngineMissing, fmt::format("{}", fmt::join(failures.reasons, "; ")), failures.hint);
  }
  host_->load_plugins();
}

Compiler::~Compiler() = default;

EngineReport Compiler::compile(const std::filesystem::path& path, const std::filesystem::path& save) {
  return compile(read_typed_file(path), {}, save);
}

bool compiled_below_float16(const EngineReport& report) {
  return report.refused.empty() && std::ranges::any_of(report.layers, [](const EngineLayer& layer) {
           return bits_of(layer.asked) < bits_of(Format::Float16);
         });
}

EngineReport Compiler::try_compile(const Model& file, const Sample& like) {
  std::map<std::string, Shape> shapes;
  for (const auto& [input, value] : like) shapes[input] = value.shape();
  try {
    return compile(file, shapes, {});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Backend) throw;
    EngineReport failed;
    failed.engine = host_->about();
    failed.refused = error.what();
    return failed;
  }
}

EngineReport Compiler::compile(const Model& file, const std::map<std::string, Shape>& otherwise,
                               const std::filesystem::path& save) {
  EngineReport report;
  report.file = file.path.string();
  report.sha256 = file.sha256;
  report.engine = host_->about();
  const ScratchFolder scratch;
  // Written again: kernels name nodes, and those that have no name got theirs when the file was read.
  CompileRequest request{scratch / "model.onnx", shapes_of(file, options_.shapes, otherwise, report.notes), capability_,
                         options_.settings};
  if (report.engine.name != "OpenVINO") {
    const auto shared = shared_names_note(file, request.shapes);
    if (shared) report.notes.insert(report.notes.begin(), *shared);  // the likelier reason
  }
  const HostFiles files(request.settings);
  write_model(file, request.model);
  if (sinks_.progress) sinks_.progress("compilation by " + text_of(report.engine), 0, 1);
  CompiledEngine compiled = host_->compile(request, save.empty() ? save : scratch / "engine");
  report.compiled_for = capability_.empty() ? report.engine.devices.front().name : "compute capability " + capability_;
  report.words = std::move(compiled.words);
  if (!compiled.refusals.empty()) {
    report.refused = refusal_text(file, compiled);
    return report;
  }
  report.refused = misread_text(file, compiled);
  if (!report.refused.empty()) return report;
  if (!save.empty()) replace_file(save, read_text(scratch / "engine", std::numeric_limits<std::size_t>::max()));
  files.keep();
  report.bytes = compiled.bytes;
  report.seconds = compiled.seconds;
  report.kernels = std::move(compiled.kernels);
  match_kernels(file, report);
  return report;
}

EngineReport Compiler::describe(const std::filesystem::path& engine) {
  CompiledEngine described = host_->describe(engine);
  EngineReport report;
  report.file = engine.string();
  report.engine = host_->about();
  report.bytes = described.bytes;
  report.kernels = std::move(described.kernels);
  report.words = std::move(described.words);
  return report;
}

}  // namespace vernier
