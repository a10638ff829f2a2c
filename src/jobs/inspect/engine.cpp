// `vernier inspect engine`: compiles a file in an engine's own process, and says what became of it.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/scratch_folder.h"
#include "base/text.h"
#include "engines/hosts/engine_host.h"
#include "engines/hosts/find_engine.h"
#include "engines/hosts/kernels.h"
#include "jobs/common/typed_file.h"
#include "jobs/inspect/engine_layers.h"
#include "model/model.h"
#include "vernier/error.h"
#include "vernier/inspect_engine.h"

namespace vernier {
namespace {

constexpr const char* kUsualCapability = "8.9";
constexpr std::size_t kMostInformation = std::size_t{1} << 30U;

struct Opened {
  std::unique_ptr<EngineHost> host;
  std::string capability;  // empty: the device that is here
};

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

/// The first engine that is there and compiles for what is wanted.
Opened open_engine(const InspectEngineOptions& options, const JobSinks& sinks) {
  std::string capability;
  EngineFailures failures;
  auto host = find_engine(
      options.engine, {options.python, options.seconds, sinks.interrupted},
      [&](const EngineAbout& about) {
        std::string why;
        if (auto target = target_of(about, options.compute_capability, why)) capability = std::move(*target);
        return why;
      },
      failures);
  if (host) return {std::move(host), std::move(capability)};
  throw Error(ErrorKind::Backend, fmt::format("{}", fmt::join(failures.reasons, "; ")), failures.hint);
}

std::map<std::string, ShapeRange> shapes_of(const Model& file, const InspectEngineOptions& options,
                                            std::vector<std::string>& notes) {
  std::map<std::string, ShapeRange> shapes;
  std::vector<std::string> opened;
  const std::vector<InputInfo> inputs = model_inputs(file);
  for (const auto& [name, shape] : options.shapes) {
    if (std::ranges::none_of(inputs, [&](const InputInfo& input) { return input.name == name; })) {
      throw Error(ErrorKind::Usage, fmt::format("--shapes: no input is called '{}'", printable(name)));
    }
  }
  for (const InputInfo& input : inputs) {
    Shape shape = input.shape;
    if (const auto given = options.shapes.find(input.name); given != options.shapes.end()) {
      shape = given->second;
    } else if (std::ranges::any_of(shape, [](std::int64_t size) { return size < 0; })) {
      for (std::int64_t& size : shape) size = size < 0 ? 1 : size;
      opened.push_back(input.name + " as " + shape_text(shape));
    }
    shapes[input.name] = {shape, shape, shape};
  }
  if (!opened.empty()) {
    notes.push_back(fmt::format("open dimensions are compiled as 1: {} (--shapes says otherwise)", list_some(opened)));
  }
  return shapes;
}

/// `open`: what was said of open dimensions, which are the likely reason.
[[noreturn]] void refuse(const std::filesystem::path& file, const EngineAbout& about, const CompiledEngine& compiled,
                         const std::string& open) {
  const EngineRefusal& first = compiled.refusals.front();
  std::string at;
  if (!first.node.empty())
    at = fmt::format(", node '{}'{}", printable(first.node),
                     first.op_type.empty() ? "" : " (" + printable(first.op_type) + ")");
  std::string hint;
  if (!open.empty()) {
    hint = open;
  } else if (compiled.refusals.size() > 1) {
    hint = "also: " + printable(compiled.refusals[1].text.substr(0, 300));
  }
  throw Error(ErrorKind::Backend,
              fmt::format("{}: the {} of {} refuses it{}: {}", file.string(), compiled.stage, text_of(about), at,
                          printable(first.text)),
              hint);
}

EngineReport compiled_report(const InspectEngineOptions& options, const JobSinks& sinks) {
  const Model file = read_typed_file(options.file);
  Opened opened = open_engine(options, sinks);
  EngineReport report;
  report.file = options.file.string();
  report.sha256 = file.sha256;
  report.engine = opened.host->about();
  const ScratchFolder scratch;
  // Written again: kernels name nodes, and those that have no name got theirs when the file was read.
  CompileRequest request{scratch / "model.onnx", shapes_of(file, options, report.notes), opened.capability};
  write_model(file, request.model);
  if (sinks.progress) sinks.progress("compilation by " + text_of(report.engine), 0, 1);
  CompiledEngine compiled = opened.host->compile(request);
  if (!compiled.refusals.empty()) {
    refuse(options.file, report.engine, compiled, report.notes.empty() ? "" : report.notes.front());
  }
  report.compiled_for =
      opened.capability.empty() ? report.engine.devices.front().name : "compute capability " + opened.capability;
  report.bytes = compiled.bytes;
  report.seconds = compiled.seconds;
  report.kernels = std::move(compiled.kernels);
  report.words = std::move(compiled.words);
  match_kernels(file, report);
  return report;
}

/// Of an engine file that was built before.
void read_built(const InspectEngineOptions& options, const JobSinks& sinks, EngineReport& report) {
  Opened opened = open_engine(options, sinks);
  CompiledEngine described = opened.host->describe(options.file);
  report.engine = opened.host->about();
  report.bytes = described.bytes;
  report.kernels = std::move(described.kernels);
  report.words = std::move(described.words);
}

}  // namespace

EngineReport inspect_engine(const InspectEngineOptions& options, const JobSinks& sinks) {
  const bool built = is_built_engine(options.file);
  if (options.file.extension() != ".json" && !built) {
    if (options.model.empty()) return compiled_report(options, sinks);
    throw Error(ErrorKind::Usage,
                "--model: names the model behind an engine or layer information, and the file is one");
  }
  EngineReport report;
  report.file = options.file.string();
  if (built) {
    read_built(options, sinks, report);
  } else {
    report.kernels = kernels_from_json(read_text(options.file, kMostInformation), options.file.string());
  }
  if (options.model.empty()) {
    find_helpers(report);
  } else {
    const Model model = read_typed_file(options.model);
    report.sha256 = model.sha256;
    match_kernels(model, report);
  }
  return report;
}

}  // namespace vernier
