#include "engines/hosts/engine_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <utility>

#include "base/file.h"
#include "base/source_places.h"
#include "base/text.h"
#include "engines/hosts/kernels.h"
#include "engines/hosts/programs.h"
#include "scripts/script_session.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

constexpr std::size_t kMostWords = 4000;
constexpr std::size_t kMostHint = 400;
// Between what an engine's program is told and the plugins.
constexpr const char* kPlugins = "--plugins";
constexpr std::size_t kMostRuns = 100000;  // that one answer has times of

struct Kind {
  const char* name;
  std::string (*program)();
  std::vector<std::string> modules;  // to try, in this order
  const char* packages;              // what to install
};

const Kind& kind_of(HostedEngine engine) {
  static const std::array<Kind, 4> kinds{
      {{"TensorRT", tensorrt_program, {"tensorrt", "tensorrt_bindings"}, "tensorrt"},
       {"TensorRT-RTX",
        tensorrt_program,
        {"tensorrt_rtx", "tensorrt_rtx_bindings"},
        "--no-deps tensorrt-rtx-cu13-libs tensorrt-rtx-cu13-bindings nvidia-cuda-runtime"},
       {"trtexec", trtexec_program, {}, ""},
       {"OpenVINO", openvino_program, {}, "openvino"}}};
  return kinds.at(static_cast<std::size_t>(engine));
}

Json json_of(const Shape& shape) {
  Json sizes = Json::array();
  for (const std::int64_t size : shape) sizes.add(Json(size));
  return sizes;
}

std::vector<std::string> texts_of(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& text : list.items()) texts.push_back(text.text());
  return texts;
}

std::vector<EngineRefusal> refusals_of(const Json& errors) {
  std::vector<EngineRefusal> refusals;
  for (const Json& error : errors.items()) {
    refusals.push_back({error.at("index").integer<int>(), error.at("node").text(), error.at("operator").text(),
                        without_source_places(error.at("text").text())});
  }
  return refusals;
}

Json work_of(const CompileRequest& request) {
  Json work = Json::object();
  work["model"] = request.model.string();
  Json shapes = Json::object();
  for (const auto& [input, range] : request.shapes) {
    Json ends = Json::array();
    for (const Shape* shape : {&range.min, &range.opt, &range.max}) ends.add(json_of(*shape));
    shapes.add(input, std::move(ends));
  }
  work["shapes"] = std::move(shapes);
  Json settings = Json::object();
  for (const auto& [name, values] : request.settings)
    settings.add(name, Json(Json::Array(values.begin(), values.end())));
  work["settings"] = std::move(settings);
  return work;
}

Shape shape_of(const Json& sizes) {
  Shape shape;
  for (const Json& size : sizes.items()) shape.push_back(size.integer<std::int64_t>());
  return shape;
}

Dtype dtype_of(const Json& name) {
  const std::optional<Dtype> dtype = find_dtype(name.text());
  if (!dtype) throw JsonError("no type of an element: " + printable(name.text()));
  return *dtype;
}

std::vector<EnginePort> ports_of(const Json& list) {
  std::vector<EnginePort> ports;
  for (const Json& port : list.items()) {
    ports.push_back({port.at("name").text(), dtype_of(port.at("type")), shape_of(port.at("shape"))});
  }
  return ports;
}

/// Appends the sample to `file`, array by array, and says where each is.
Json write_arrays(const Sample& sample, const std::filesystem::path& file) {
  Json places = Json::array();
  std::size_t offset = 0;
  replace_file(file, [&](std::ostream& out) {
    for (const auto& [name, tensor] : sample) {
      const std::span<const std::byte> bytes = tensor.bytes();
      out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      Json place = Json::object();
      place["name"] = name;
      place["type"] = std::string(dtype_name(tensor.dtype()));
      place["shape"] = json_of(tensor.shape());
      place["offset"] = offset;
      place["bytes"] = bytes.size();
      places.add(std::move(place));
      offset += bytes.size();
    }
  });
  return places;
}

std::size_t bytes_of(Dtype dtype, const Shape& shape) {
  try {
    return (static_cast<std::size_t>(element_count(shape)) * static_cast<std::size_t>(dtype_bits(dtype)) + 7) / 8;
  } catch (const Error& error) {
    throw JsonError(error.what());
  }
}

/// The arrays that an engine says lie in `file`. Errors: JsonError where they cannot.
std::vector<NamedTensor> read_arrays(const Json& places, const std::filesystem::path& file) {
  const auto text = std::make_shared<const std::string>(read_text(file, std::numeric_limits<std::size_t>::max()));
  std::vector<NamedTensor> arrays;
  for (const Json& place : places.items()) {
    const Dtype dtype = dtype_of(place.at("type"));
    Shape shape = shape_of(place.at("shape"));
    const auto offset = place.at("offset").integer<std::size_t>();
    const std::size_t size = bytes_of(dtype, shape);
    if (place.at("bytes").integer<std::size_t>() != size || offset > text->size() || size > text->size() - offset) {
      throw JsonError(fmt::format("an output of {} bytes where the file has others", size));
    }
    const auto* const begin = reinterpret_cast<const std::byte*>(text->data()) + offset;
    arrays.push_back(
        {place.at("name").text(), Tensor(dtype, std::move(shape), std::shared_ptr<const std::byte>(text, begin))});
  }
  return arrays;
}

/// Seconds of one run. Errors: JsonError where they are none.
double time_of(const Json& seconds) {
  const double value = seconds.number();
  if (!std::isfinite(value) || value <= 0) throw JsonError(fmt::format("a time of {} s", value));
  return value;
}

}  // namespace

/// `read` of an answer of the host.
template <class Read>
auto EngineHost::checked(const Read& read) {
  try {
    return read();
  } catch (const JsonError& error) {
    session_.reset();  // whatever it is, it is not what we started
    throw Error(ErrorCode::EngineFails, fmt::format("{}: gave an answer of another form: {}", name(), error.what()));
  }
}

const char* EngineHost::name() const { return kind_of(engine_).name; }

std::string EngineHost::advice() const {
  if (*kind_of(engine_).packages == '\0') return "";
  return fmt::format("pip install {}, and ‹python› names the Python that has it", kind_of(engine_).packages);
}

EngineHost::EngineHost(HostedEngine engine, HostOptions options) : engine_(engine), options_(std::move(options)) {}
EngineHost::~EngineHost() = default;

void EngineHost::keep_words(std::string_view text) {
  words_ += text;
  if (words_.size() > kMostWords) words_.erase(0, words_.size() - kMostWords);
}

void EngineHost::start() {
  const Kind& kind = kind_of(engine_);
  words_.clear();
  SourceOptions how;
  how.python = options_.python;
  how.script_seconds = options_.seconds;
  how.interrupted = options_.interrupted;
  SessionProgram program;
  program.program = kind.program();
  program.arguments = kind.modules;
  if (engine_ == HostedEngine::OpenVino) program.arguments = {options_.device.empty() ? "CPU" : options_.device};
  if (engine_ == HostedEngine::Trtexec) {
    if (files_ == nullptr) files_ = std::make_unique<ScratchFolder>();
    program.arguments = {(*files_ / "").string()};
  }
  if (!options_.plugins.empty()) program.arguments.emplace_back(kPlugins);
  // trtexec works in another folder, and the system's loader looks elsewhere for names without a slash.
  for (const auto& plugin : options_.plugins) program.arguments.push_back(std::filesystem::absolute(plugin).string());
  program.kind = "engines";
  program.announces = "answers";
  program.fault = ErrorCode::EngineFails;
  program.held = "the engine";
  program.errors = [this](std::string_view text) { keep_words(text); };
  session_ = std::make_unique<ScriptSession>(ScriptLocation{kind.name, ""}, program, how);
}

void EngineHost::throw_refusal(const Json& said) const {
  const Json* const refused = said.find("refused");
  if (refused == nullptr) return;
  std::string hint = said.at("hint").text();
  const std::vector<std::string> words = texts_of(said.at("words"));
  if (hint.empty() && !words.empty()) hint = "it said: " + printable_text(words.back().substr(0, kMostHint));
  throw Error(ErrorCode::EngineFails, fmt::format("{}: {}", name(), printable_text(refused->text())), hint);
}

Json EngineHost::ask(const char* what, Json work) {
  work["do"] = what;
  Json said;
  try {
    if (!session_) start();
    said = session_->call("", std::move(work));
  } catch (const Error& error) {
    session_.reset();
    if (error.kind() == ErrorKind::Interrupted) throw;
    const std::string words = printable(last_line(words_));
    std::string hint = error.hint();
    if (!words.empty()) hint = "its last words: " + words;
    throw Error(ErrorCode::EngineFails, error.what(), hint);
  }
  checked([&] { throw_refusal(said); });
  return said;
}

const EngineAbout& EngineHost::about() {
  if (about_) return *about_;
  const Json said = ask("about", Json::object());
  about_ = std::make_unique<EngineAbout>(checked([&] {
    const Json& done = said.at("done");
    EngineAbout about;
    about.name = done.at("name").text();
    about.version = done.at("version").text();
    about.package = done.at("package").text();
    about.python = done.at("python").text();
    about.no_device = done.at("no_device").text();
    about.capabilities = texts_of(done.at("capabilities"));
    about.compiles = done.at("compiles").boolean();
    about.runs = done.at("runs").boolean();
    if (const Json* parses = done.find("parses")) about.parses = parses->boolean();
    for (const Json& device : done.at("devices").items()) {
      about.devices.push_back(
          {device.at("name").text(), device.at("capability").text(), device.at("memory").integer<std::size_t>()});
    }
    return about;
  }));
  return *about_;
}

void EngineHost::load_plugins() {
  if (options_.plugins.empty()) return;
  if (engine_ == HostedEngine::OpenVino) {
    throw Error(ErrorCode::Backend, "‹plugins›: OpenVINO takes no plugins of TensorRT", "leave it out");
  }
  ask("plugins", Json::object());
}

EngineSupport EngineHost::supports(const std::filesystem::path& model) {
  Json work = Json::object();
  work["model"] = model.string();
  const Json said = ask("supports", std::move(work));
  return checked([&] {
    const Json& done = said.at("done");
    EngineSupport support;
    support.all = done.at("supported").boolean();
    for (const Json& part : done.at("parts").items()) {
      EngineSupport::Part& made = support.parts.emplace_back();
      made.supported = part.at("supported").boolean();
      for (const Json& node : part.at("nodes").items()) made.nodes.push_back(node.integer<int>());
    }
    support.refusals = refusals_of(done.at("errors"));
    return support;
  });
}

CompiledEngine EngineHost::compiled_of(const Json& said) const {
  const Json& done = said.at("done");
  CompiledEngine engine;
  engine.words = texts_of(said.at("words"));
  engine.refusals = refusals_of(done.at("errors"));
  if (!engine.refusals.empty()) {
    engine.stage = done.at("stage").text();
    return engine;
  }
  engine.bytes = done.at("bytes").integer<std::size_t>();
  engine.seconds = done.at("seconds").number();
  engine.kernels = kernels_of(done);
  if (const Json* inputs = done.find("inputs")) engine.inputs = ports_of(*inputs);
  if (const Json* outputs = done.find("outputs")) engine.outputs = ports_of(*outputs);
  return engine;
}

CompiledEngine EngineHost::compile(const CompileRequest& request, const std::filesystem::path& save) {
  Json work = work_of(request);
  work["save"] = save.string();
  work["capability"] = request.capability;
  const Json said = ask("compile", std::move(work));
  return checked([&] { return compiled_of(said); });
}

CompiledEngine EngineHost::describe(const std::filesystem::path& engine) {
  Json work = Json::object();
  work["engine"] = engine.string();
  const Json said = ask("describe", std::move(work));
  return checked([&] {
    const Json& done = said.at("done");
    CompiledEngine described;
    described.bytes = done.at("bytes").integer<std::size_t>();
    described.kernels = kernels_of(done);
    described.words = texts_of(said.at("words"));
    return described;
  });
}

CompiledEngine EngineHost::open(Json work) {
  const Json said = ask("open", std::move(work));
  return checked([&] { return compiled_of(said); });
}

CompiledEngine EngineHost::open(const CompileRequest& request, const std::filesystem::path& save) {
  Json work = work_of(request);
  work["engine"] = "";
  work["save"] = save.string();
  return open(std::move(work));
}

CompiledEngine EngineHost::open_built(const std::filesystem::path& engine) {
  Json work = work_of({});
  work["engine"] = engine.string();
  work["save"] = "";
  return open(std::move(work));
}

void EngineHost::give_inputs(const Sample& sample, Json& work) {
  if (files_ == nullptr) files_ = std::make_unique<ScratchFolder>();
  const std::filesystem::path inputs = *files_ / "inputs";
  work["inputs"] = write_arrays(sample, inputs);
  work["arrays"] = inputs.string();
}

std::vector<NamedTensor> EngineHost::run(const Sample& sample, double& seconds) {
  Json work = Json::object();
  give_inputs(sample, work);
  const std::filesystem::path outputs = *files_ / "outputs";
  work["out"] = outputs.string();
  const Json said = ask("run", std::move(work));
  return checked([&] {
    const Json& done = said.at("done");
    seconds = done.at("seconds").number();
    return read_arrays(done.at("outputs"), outputs);
  });
}

EngineTimes EngineHost::time(const TimeRequest& request) {
  Json work = Json::object();
  work["inputs"] = Json::array();
  work["arrays"] = "";
  if (request.sample != nullptr) give_inputs(*request.sample, work);
  work["seconds"] = request.seconds;
  work["least"] = request.least;
  work["most"] = std::max(request.least, kMostRuns);
  work["skip"] = request.skip;
  work["copies"] = request.copies;
  work["graph"] = request.cuda_graph;
  const Json said = ask("time", std::move(work));
  return checked([&] {
    const Json& done = said.at("done");
    EngineTimes times;
    times.device_clock = done.at("device_clock").boolean();
    for (const Json& seconds : done.at("seconds").items()) times.seconds.push_back(time_of(seconds));
    if (times.seconds.size() < std::max<std::size_t>(request.least, 1)) {
      throw JsonError(fmt::format("{} of {} runs", plural(times.seconds.size(), "time"), request.least));
    }
    return times;
  });
}

std::vector<EngineKernelTime> EngineHost::profile(std::size_t runs) {
  Json work = Json::object();
  work["runs"] = runs;
  const Json said = ask("profile", std::move(work));
  return checked([&] {
    std::vector<EngineKernelTime> times;
    for (const Json& kernel : said.at("done").at("kernels").items()) {
      const double seconds = kernel.at("seconds").number();
      if (!std::isfinite(seconds) || seconds < 0) throw JsonError(fmt::format("a time of {} s", seconds));
      times.push_back({kernel.at("name").text(), seconds});
    }
    return times;
  });
}

std::vector<EngineKernel> EngineHost::kernels_of(const Json& done) const {
  if (const Json* printed = done.find("printed")) return kernels_from_lines(printed->text());
  if (const Json* json = done.find("information")) return kernels_from_json(json->text(), name());
  return {};
}

}  // namespace vernier
