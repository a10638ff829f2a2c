#include "engines/onnxruntime/runtime.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>

#include "base/machine.h"
#include "base/source_places.h"
#include "base/text.h"
#include "engines/onnxruntime/error_text.h"
#include "engines/onnxruntime/gpu_side.h"
#include "engines/onnxruntime/operator_libraries.h"
#include "engines/onnxruntime/operators.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/onnxruntime.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> expand(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = found.gl_pathc; i > 0; --i) paths.emplace_back(found.gl_pathv[i - 1]);  // newest first
  }
  ::globfree(&found);
  return paths;
}

std::string wheel_pattern(const std::string& environment) {
  return environment + "/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*";
}

/// Where a library is that came with the program: beside it where a Python package brought it, in bin/ of an
/// environment or in the package's own folder; and in .deps of a checkout, which lies in a folder above the program.
std::vector<std::string> patterns_around_the_program() {
  std::error_code ignored;
  fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<std::string> patterns{(folder.parent_path() / "onnxruntime/capi/libonnxruntime.so.*").string(),
                                    wheel_pattern(folder.parent_path().string())};
  for (int depth = 0; depth < 6 && folder.has_relative_path(); ++depth, folder = folder.parent_path()) {
    patterns.push_back(wheel_pattern((folder / ".deps" / "venv").string()));
  }
  return patterns;
}

using GetApiBase = const OrtApiBase* (*)();

struct Wanted {
  std::mutex lock;
  std::string library;
};

/// What use_onnxruntime() was told.
Wanted& wanted() {
  static Wanted& only = *new Wanted;
  return only;
}

}  // namespace

std::string chosen_onnxruntime() {
  const std::lock_guard guard(wanted().lock);
  return wanted().library;
}

void use_onnxruntime(const std::filesystem::path& library) {
  const std::lock_guard guard(wanted().lock);
  wanted().library = library.string();
}

void Runtime::make_domains_known() const {
  // By a session of next to nothing.
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(13);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("nothing");
  graph.add_input()->set_name("x");
  auto& type = *graph.mutable_input(0)->mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  type.mutable_shape();
  graph.add_output()->set_name("y");
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type("Identity");
  node.add_input("x");
  node.add_output("y");
  const std::string bytes = model.SerializeAsString();
  const OwnedOptions options = new_options();
  register_operators(*this, options.get());
  OrtSession* session = nullptr;
  check(api_->SetIntraOpNumThreads(options.get(), 1));
  check(api_->CreateSessionFromArray(env_, bytes.data(), bytes.size(), options.get(), &session));
  api_->ReleaseSession(session);
}

bool Runtime::is_tested() const noexcept {
  constexpr std::array<std::string_view, 3> kTested{"1.21.0", "1.31.1", "1.32.0"};
  return std::ranges::find(kTested, std::string_view(version_).substr(0, version_.find(' '))) != kTested.end();
}

void Runtime::check(OrtStatus* status) const {
  if (status == nullptr) return;
  PlainError refusal = in_plain_words(without_source_places(api_->GetErrorMessage(status)));
  const std::string text = printable(refusal.text());
  const int code = api_->GetErrorCode(status);
  api_->ReleaseStatus(status);
  const bool memory = is_of_memory(text);
  throw Error(memory                                                 ? ErrorCode::OutOfMemory
              : code == ORT_NOT_IMPLEMENTED && !refusal.node.empty() ? ErrorCode::NoKernel
                                                                     : ErrorCode::RuntimeFails,
              fmt::format("ONNX Runtime {}: {} (code {})", version_, text, code),
              !memory           ? ""
              : gpu_ != nullptr ? kMoreGpuMemory
                                : "fewer ‹threads›")
      .about(std::move(refusal.node), printable(refusal.reason));
}

namespace {

/// ONNX Runtime has one environment at a time: who loads it while another thread lets go of the last one has to wait.
struct Environments {
  std::mutex mutex;
  std::condition_variable released;
  bool there = false;
};

Environments& environments() {
  static Environments one;
  return one;
}

void wait_for_release() {
  std::unique_lock lock(environments().mutex);
  environments().released.wait(lock, [] { return !environments().there; });
}

void take_environment() {
  const std::lock_guard lock(environments().mutex);
  environments().there = true;
}

}  // namespace

OwnedOptions Runtime::new_options() const {
  OrtSessionOptions* raw = nullptr;
  check(with_operators_ ? api_->CloneSessionOptions(with_operators_.get(), &raw) : api_->CreateSessionOptions(&raw));
  return {*api_, raw};
}

Runtime::~Runtime() {
  if (env_ != nullptr && plain_ == nullptr) {
    api_->ReleaseEnv(env_);
    const std::lock_guard lock(environments().mutex);
    environments().there = false;
    environments().released.notify_all();
  }
  // The library stays mapped: its own threads and allocators may outlive us.
}

std::shared_ptr<const Runtime> Runtime::load() {
  static std::mutex mutex;
  static std::weak_ptr<const Runtime> loaded;
  const std::lock_guard lock(mutex);
  if (auto runtime = loaded.lock()) return runtime;

  std::shared_ptr<Runtime> runtime(new Runtime);
  const auto note = [&](const std::string& place, const std::string& outcome) {
    runtime->attempts_.push_back({place, outcome});
  };
  const auto accept = [&](const std::string& place, void* library, GetApiBase get_base) {
    const OrtApiBase* base = get_base();
    const std::string version = base->GetVersionString();
    const OrtApi* api = base->GetApi(ORT_API_VERSION);
    if (api == nullptr) {
      note(place, fmt::format("too old: {}, API {} needs 1.{}", version, ORT_API_VERSION, ORT_API_VERSION));
      return false;
    }
    runtime->library_ = library;
    runtime->api_ = api;
    runtime->version_ = version;
    runtime->place_ = place;
    note(place, "loaded");
    return true;
  };
  const auto try_library = [&](const std::string& name) {
    void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* reason = ::dlerror();
      note(name, reason == nullptr ? "not found" : reason);
      return false;
    }
    const auto get_base = reinterpret_cast<GetApiBase>(::dlsym(library, "OrtGetApiBase"));
    if (get_base == nullptr) {
      note(name, "has no OrtGetApiBase");
      return false;
    }
    return accept(name, library, get_base);
  };
  const auto try_pattern = [&](const std::string& pattern) {
    const std::vector<std::string> paths = expand(pattern);
    if (paths.empty()) note(pattern, "not found");
    for (const std::string& path : paths) {
      if (path.find("providers") == std::string::npos && try_library(path)) return true;
    }
    return false;
  };
  const auto search = [&] {
    if (const char* given = std::getenv("VERNIER_ORT_LIBRARY")) return try_library(given);  // no silent second choice
    if (const std::string library = chosen_onnxruntime(); !library.empty()) return try_library(library);
    if (void* symbol = ::dlsym(RTLD_DEFAULT, "OrtGetApiBase")) {
      if (accept("already in the process", nullptr, reinterpret_cast<GetApiBase>(symbol))) return true;
    }
    for (const std::string& pattern : patterns_around_the_program()) {
      if (!expand(pattern).empty() && try_pattern(pattern)) return true;
    }
    if (const char* active = std::getenv("VIRTUAL_ENV")) {
      if (try_pattern(wheel_pattern(active))) return true;
    }
    for (const char* name : {"libonnxruntime.so", "libonnxruntime.so.1"}) {
      if (try_library(name)) return true;
    }
    for (const char* pattern : {"/usr/local/lib/python3*/dist-packages/onnxruntime/capi/libonnxruntime.so.*",
                                "/usr/lib/python3/dist-packages/onnxruntime/capi/libonnxruntime.so.*"}) {
      if (try_pattern(pattern)) return true;
    }
    return false;
  };
  if (!search()) {
    std::string tried;
    for (const LoadAttempt& attempt : runtime->attempts_) {
      tried += fmt::format("\n       tried {}: {}", attempt.place, attempt.outcome);
    }
    throw Error(ErrorCode::RuntimeMissing, "no usable ONNX Runtime library was found" + tried,
                "pip install onnxruntime, then activate that environment or set VERNIER_ORT_LIBRARY to its "
                "libonnxruntime.so");
  }
  wait_for_release();
  // Without memory for its table of operators it ends the process with a signal.
  constexpr std::size_t kEnvironment = std::size_t{64} << 20U;
  require_memory(kEnvironment);
  // What it logs as an error comes as a status too, once and in our words.
  runtime->check(runtime->api_->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "vernier", &runtime->env_));
  take_environment();
  // Nobody is told of the models that are given to us.
  runtime->check(runtime->api_->DisableTelemetryEvents(runtime->env_));
  runtime->make_domains_known();
  loaded = runtime;
  return runtime;
}

std::shared_ptr<const Runtime> Runtime::load(const std::vector<std::filesystem::path>& libraries) {
  return load(libraries, Device{});
}

std::shared_ptr<const Runtime> Runtime::load(const std::vector<std::filesystem::path>& libraries, const Device& device,
                                             std::optional<ByteSize> gpu_memory) {
  std::shared_ptr<const Runtime> plain =
      device.kind == DeviceKind::Cuda ? load_gpu_runtime(device.index.value_or(0)) : load();
  if (plain->gpu() != nullptr) plain->gpu()->limit(*plain, gpu_memory);
  if (libraries.empty()) return plain;
  static std::mutex mutex;
  static std::map<std::pair<const Runtime*, std::vector<fs::path>>, std::weak_ptr<const Runtime>> loaded;
  const std::lock_guard lock(mutex);
  std::weak_ptr<const Runtime>& known = loaded[{plain.get(), libraries}];
  if (auto runtime = known.lock()) return runtime;
  std::shared_ptr<Runtime> runtime(new Runtime);
  runtime->library_ = plain->library_;
  runtime->api_ = plain->api_;
  runtime->env_ = plain->env_;
  runtime->version_ = plain->version_;
  runtime->place_ = plain->place_;
  runtime->attempts_ = plain->attempts_;
  runtime->gpu_ = plain->gpu_;
  runtime->operator_libraries_ = libraries;
  runtime->with_operators_ = register_libraries(*plain, libraries);
  runtime->plain_ = std::move(plain);
  runtime->make_domains_known();
  known = runtime;
  return runtime;
}

}  // namespace vernier
