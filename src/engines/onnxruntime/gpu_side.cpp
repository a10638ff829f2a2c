#include "engines/onnxruntime/gpu_side.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <onnxruntime_session_options_config_keys.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>

#include "base/cache_folder.h"
#include "engines/cuda/compiler.h"
#include "engines/cuda/libraries.h"
#include "engines/onnxruntime/gpu_operators.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "engines/onnxruntime/session_parts.h"
#include "model/model.h"
#include "model/type_protos.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/onnxruntime.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "VERNIER_ONNXRUNTIME_GPU";
constexpr const char* kProvider = "libonnxruntime_providers_cuda.so";
constexpr const char* kCudaProvider = "CUDAExecutionProvider";

// What the provider is linked against and loads later, newest first.
struct Needed {
  const char* text;
  std::vector<std::string> names;
};
const std::vector<Needed>& needed_libraries() {
  static const std::vector<Needed> all{
      {"CUDA runtime", {"libcudart.so.13", "libcudart.so.12"}}, {"cuBLAS", {"libcublasLt.so.13", "libcublasLt.so.12"}},
      {"cuBLAS", {"libcublas.so.13", "libcublas.so.12"}},       {"cuRAND", {"libcurand.so.10"}},
      {"cuFFT", {"libcufft.so.12", "libcufft.so.11"}},          {"cuDNN", {"libcudnn.so.9"}}};
  return all;
}

/// libonnxruntime.so of `folder`, if the CUDA provider lies beside it; empty: not there.
fs::path cuda_build_in(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder / kProvider, ignored)) return {};
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().starts_with("libonnxruntime.so")) return entry.path();
  }
  return {};
}

struct CudaBuild {
  fs::path library;  // empty: none
  std::string tried;
  std::vector<fs::path> packages;  // where NVIDIA's libraries may lie
};

CudaBuild find_cuda_build() {
  CudaBuild found;
  found.packages = package_folders();
  const auto from_package = [&](const fs::path& library) {
    // .../site-packages/onnxruntime/capi/libonnxruntime.so
    found.packages.insert(found.packages.begin(), library.parent_path().parent_path().parent_path());
    found.library = library;
  };
  std::error_code ignored;
  if (const char* const given = std::getenv(kVariable)) {
    const fs::path path(given);
    found.tried = fmt::format("{}={}", kVariable, given);
    for (const fs::path& folder : {path, path / "capi", path.parent_path()}) {
      if (const fs::path library = cuda_build_in(folder); !library.empty()) {
        from_package(fs::is_regular_file(path, ignored) ? path : library);
        break;
      }
    }
    return found;
  }
  std::vector<fs::path> folders;
  if (const char* const given = std::getenv("VERNIER_ORT_LIBRARY")) folders.push_back(fs::path(given).parent_path());
  if (const fs::path library = chosen_onnxruntime(); !library.empty()) folders.push_back(library.parent_path());
  for (const fs::path& package : found.packages) folders.push_back(package / "onnxruntime" / "capi");
  for (const fs::path& folder : folders) {
    if (const fs::path library = cuda_build_in(folder); !library.empty()) {
      from_package(library);
      return found;
    }
    found.tried += (found.tried.empty() ? "" : ", ") + folder.string();
  }
  return found;
}

void refuse_what_is_too_old(const Gpu& gpu) {
  // What CUDA 12 and 13 run on.
  constexpr int kLeastCuda = 12000, kLeastArchitecture = 75;
  if (gpu.cuda_version() < kLeastCuda) {
    throw Error(ErrorCode::GpuMissing,
                fmt::format("the NVIDIA driver is too old: it runs CUDA {}.{}, and 12.0 is the least",
                            gpu.cuda_version() / 1000, gpu.cuda_version() % 1000 / 10),
                "a newer driver, or ‹device› cpu");
  }
  const int architecture = gpu.about().architecture;
  if (architecture < kLeastArchitecture) {
    throw Error(ErrorCode::GpuMissing,
                fmt::format("{} has compute capability {}.{}, and 7.5 is the least", gpu.about().name,
                            architecture / 10, architecture % 10),
                "‹device› cpu runs without a GPU");
  }
}

// Half of the memory is for copies of what is fed, weights among it, and half for tensors inside of networks. Weights
// that stay leave a quarter of their half to samples.
constexpr std::size_t kHalves = 2;
constexpr std::size_t quarters(std::size_t bytes, std::size_t count) { return bytes / 4 * count; }

OwnedMemoryInfo arena_of(const Runtime& runtime, int index) {
  OrtMemoryInfo* raw = nullptr;
  runtime.check(runtime.api().CreateMemoryInfo("Cuda", OrtArenaAllocator, index, OrtMemTypeDefault, &raw));
  return {runtime.api(), raw};
}

/// One arena for all sessions: each by itself could take all.
void share_arena(const Runtime& runtime, int index, std::size_t bytes) {
  const OrtApi& api = runtime.api();
  const std::array keys{"max_mem", "arena_extend_strategy"};
  constexpr std::size_t kSameAsRequested = 1;
  const std::array values{bytes, kSameAsRequested};
  OrtArenaCfg* raw = nullptr;
  runtime.check(api.CreateArenaCfgV2(keys.data(), values.data(), keys.size(), &raw));
  const Handle<OrtArenaCfg, &OrtApi::ReleaseArenaCfg> config(api, raw);
  const OwnedMemoryInfo arena = arena_of(runtime, index);
  runtime.check(
      api.CreateAndRegisterAllocatorV2(runtime.env(), kCudaProvider, arena.get(), config.get(), nullptr, nullptr, 0));
}

}  // namespace

GpuSide::GpuSide(std::shared_ptr<const GpuKernels> kernels)
    : kernels_(std::move(kernels)), rooms_(kernels_), copies_(kernels_->gpu()) {
  share(gpu().free_bytes());
}

void GpuSide::share(std::size_t bytes) {
  bytes_of_copies_ = bytes / kHalves;
  bytes_inside_ = bytes - bytes_of_copies_;
  bytes_of_weights_ = quarters(most_ ? bytes_of_copies_.load() : bytes, 3);
  copies_.limit(bytes_of_copies_);
  gpu().limit(most_ ? bytes_of_copies_.load() : std::numeric_limits<std::size_t>::max());
}

void GpuSide::limit(const Runtime& runtime, std::optional<ByteSize> most) {
  const std::lock_guard lock(limiting_);
  if (most == most_) return;
  if (most_) {
    runtime.check(runtime.api().UnregisterAllocator(runtime.env(), arena_of(runtime, gpu().index()).get()));
  }
  most_ = most;
  limited_ = most.has_value();
  share(most ? most->bytes : gpu().free_bytes());
  if (most) share_arena(runtime, gpu().index(), bytes_inside_);
}

std::string GpuSide::text() const { return fmt::format("{} (cuda:{})", gpu().about().name, gpu().index()); }

void ORT_API_CALL GpuSide::listen(void* side, OrtLoggingLevel /*level*/, const char* /*category*/, const char* /*id*/,
                                  const char* /*place*/, const char* text) {
  // "12 Memcpy nodes are added to the graph main_graph for CUDAExecutionProvider." (1.31.1)
  const std::string_view said(text == nullptr ? "" : text);
  const std::size_t words = said.find(" Memcpy nodes are added");
  if (words == std::string_view::npos) return;
  const std::size_t first = said.find_last_not_of("0123456789", words - 1) + 1;
  std::size_t count = 0;
  std::from_chars(said.data() + first, said.data() + words, count);
  raise(static_cast<GpuSide*>(side)->copies_inside_, count);
}

void GpuSide::raise(std::atomic<std::size_t>& most, std::size_t count) {
  for (std::size_t known = most; known < count && !most.compare_exchange_weak(known, count);) {
  }
}

void GpuSide::add_to(const Runtime& runtime, OrtSessionOptions* options) {
  const OrtApi& api = runtime.api();
  OrtCUDAProviderOptionsV2* cuda = nullptr;
  runtime.check(api.CreateCUDAProviderOptions(&cuda));
  const std::string index = std::to_string(gpu().index());
  const std::string most = std::to_string(limited_ ? bytes_inside_.load() : std::numeric_limits<std::size_t>::max());
  const std::array keys{"device_id", "use_tf32", "cudnn_conv_algo_search", "arena_extend_strategy", "gpu_mem_limit"};
  // A search by time would choose another algorithm in each run.
  const std::array values{index.c_str(), "0", "HEURISTIC", "kSameAsRequested", most.c_str()};
  OrtStatus* status = api.UpdateCUDAProviderOptions(cuda, keys.data(), values.data(), keys.size());
  if (status == nullptr) status = api.SessionOptionsAppendExecutionProvider_CUDA_V2(options, cuda);
  api.ReleaseCUDAProviderOptions(cuda);
  runtime.check(status);
  if (limited_) runtime.check(api.AddSessionConfigEntry(options, kOrtSessionOptionsConfigUseEnvAllocators, "1"));
  runtime.check(api.SetDeterministicCompute(options, true));
  runtime.check(api.SetSessionLogSeverityLevel(options, ORT_LOGGING_LEVEL_WARNING));
  runtime.check(api.SetUserLoggingFunction(options, &GpuSide::listen, this));
  register_gpu_operators(runtime, options);
}

std::shared_ptr<const Runtime> load_gpu_runtime(int index) {
  static std::mutex mutex;
  // As long as the process: NVIDIA's libraries have threads and memory of their own.
  static auto& loaded = *new std::map<int, std::shared_ptr<const Runtime>>;
  const std::lock_guard lock(mutex);
  if (loaded[index] != nullptr) return loaded[index];

  const std::shared_ptr<const Gpu> gpu = Gpu::open(index);
  refuse_what_is_too_old(*gpu);
  const CudaBuild build = find_cuda_build();
  if (build.library.empty()) {
    throw Error(ErrorCode::GpuMissing, "no CUDA build of ONNX Runtime was found; tried " + build.tried, kInstallCuda);
  }
  for (const Needed& needed : needed_libraries()) {
    const LoadedLibrary library = load_nvidia_library(needed.names, build.packages);
    if (library.handle == nullptr) {
      throw Error(ErrorCode::GpuMissing,
                  fmt::format("{}, which the CUDA build of ONNX Runtime needs: {}", needed.text, library.place),
                  kInstallCuda);
    }
  }
  const NvrtcAbout nvrtc = ask_nvrtc(build.packages);
  // Within a major version newer libraries run on older drivers.
  if (nvrtc.version / 1000 > gpu->cuda_version() / 1000) {
    throw Error(ErrorCode::GpuMissing,
                fmt::format("the NVIDIA driver runs CUDA {}.{}, and the libraries are of CUDA {}.{}",
                            gpu->cuda_version() / 1000, gpu->cuda_version() % 1000 / 10, nvrtc.version / 1000,
                            nvrtc.version % 1000 / 10),
                "a newer driver, or the libraries of its CUDA");
  }
  const std::filesystem::path cache = cache_folder();
  const auto kernels =
      std::make_shared<const GpuKernels>(gpu, build.packages, cache.empty() ? cache : cache / "kernels");

  std::shared_ptr<Runtime> runtime(new Runtime);
  void* const library = ::dlopen(build.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto get_base =
      library == nullptr ? nullptr : reinterpret_cast<const OrtApiBase* (*)()>(::dlsym(library, "OrtGetApiBase"));
  if (get_base == nullptr) {
    const char* const reason = ::dlerror();
    throw Error(ErrorCode::GpuMissing, fmt::format("{}: {}", build.library.string(), reason == nullptr ? "?" : reason));
  }
  const OrtApiBase* const base = get_base();
  runtime->api_ = base->GetApi(ORT_API_VERSION);
  runtime->version_ = base->GetVersionString();
  if (runtime->api_ == nullptr) {
    throw Error(ErrorCode::RuntimeMissing,
                fmt::format("{} is too old: {}, API {} needs 1.{}", build.library.string(), runtime->version_,
                            ORT_API_VERSION, ORT_API_VERSION),
                kInstallCuda);
  }
  runtime->library_ = library;
  runtime->place_ = build.library.string();
  runtime->attempts_ = {{runtime->place_, "loaded"}};
  runtime->check(runtime->api_->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "vernier", &runtime->env_));
  runtime->check(runtime->api_->DisableTelemetryEvents(runtime->env_));
  runtime->gpu_ = std::make_shared<GpuSide>(kernels);
  runtime->version_ += " on " + runtime->gpu_->text();
  runtime->make_domains_known();
  loaded[index] = runtime;
  return runtime;
}

void warm_up(const std::shared_ptr<const Runtime>& runtime) {
  constexpr std::int64_t kSize = 16;
  Model model;
  model.proto.set_ir_version(8);
  set_opset(model.proto, "", 17);
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  graph.set_name("warm_up");
  const Shape image{1, kSize, kSize, kSize}, kernel{kSize, kSize, 3, 3};
  add_input(graph, "image", Dtype::Float32, image);
  add_input(graph, "kernel", Dtype::Float32, kernel);
  const auto add = [&](const char* op, std::initializer_list<const char*> inputs, const char* output) {
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type(op);
    node.set_name(op);
    for (const char* const input : inputs) node.add_input(input);
    node.add_output(output);
    graph.add_output()->set_name(output);
    graph.mutable_output(graph.output_size() - 1)
        ->mutable_type()
        ->mutable_tensor_type()
        ->set_elem_type(static_cast<int>(Dtype::Float32));
  };
  add("Conv", {"image", "kernel"}, "convolved");
  add("MatMul", {"image", "image"}, "product");
  try {
    Session(runtime, model, {.optimize = false})
        .run({{"image", Tensor(Dtype::Float32, image)}, {"kernel", Tensor(Dtype::Float32, kernel)}});
  } catch (const Error&) {  // what it is about is told by the job's own network
  }
}

bool gpu_may_be_there() {
  return !find_cuda_build().library.empty() && ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr;
}

GpuFindings find_gpu_parts() {
  GpuFindings found;
  const auto add = [&](const char* part, const std::string& finding) { found.parts.emplace_back(part, finding); };
  const DriverAbout driver = ask_driver();
  add("NVIDIA driver", driver.cuda_version == 0 ? driver.missing
                                                : fmt::format("runs CUDA {}.{}", driver.cuda_version / 1000,
                                                              driver.cuda_version % 1000 / 10));
  for (std::size_t i = 0; i < driver.gpus.size(); ++i) {
    const GpuAbout& gpu = driver.gpus[i];
    constexpr double kGiB = 1U << 30U;
    add("GPU", fmt::format("cuda:{} {}, compute capability {}.{}, {:.0f} GiB", i, gpu.name, gpu.architecture / 10,
                           gpu.architecture % 10, static_cast<double>(gpu.bytes) / kGiB));
  }
  const CudaBuild build = find_cuda_build();
  bool installed = !build.library.empty();
  add("ONNX Runtime for CUDA", installed ? build.library.string() : "not found; tried " + build.tried);
  for (const Needed& needed : needed_libraries()) {
    const LoadedLibrary library = load_nvidia_library(needed.names, build.packages);
    installed = installed && library.handle != nullptr;
    add(needed.text, library.place);
  }
  const NvrtcAbout nvrtc = ask_nvrtc(build.packages);
  add("NVRTC", nvrtc.place.empty() ? nvrtc.missing : nvrtc.place);
  installed = installed && !nvrtc.place.empty();
  found.complete = installed && driver.missing.empty();
  if (!driver.missing.empty()) {
    found.hint = "a machine with an NVIDIA GPU and its driver";
  } else if (!installed) {
    found.hint = kInstallCuda;
  }
  return found;
}

}  // namespace vernier
