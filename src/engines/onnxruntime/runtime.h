// ONNX Runtime, loaded at run time, so that one binary runs on the user's own build of it. The foreign API appears only
// in this folder: a loader, owned handles, and one `check` that turns a status into Error{Backend}.
#pragma once

#include <onnxruntime_c_api.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vernier/device.h"

namespace vernier {

class GpuSide;

/// One place that was tried, for `vernier doctor` and for the message when none worked.
struct LoadAttempt {
  std::string place;
  std::string outcome;  // "loaded", "not found", "too old: 1.14.0, API 21 needs 1.21"
};

/// Owns one object of the C API. Move-only; empty by default.
template <class T, void (*OrtApi::*Release)(T*)>
class Handle {
 public:
  Handle() = default;
  Handle(const OrtApi& api, T* raw) : raw_(raw, Free{&api}) {}
  T* get() const noexcept { return raw_.get(); }
  T* release() noexcept { return raw_.release(); }
  explicit operator bool() const noexcept { return raw_ != nullptr; }

 private:
  struct Free {
    const OrtApi* api = nullptr;
    void operator()(T* p) const noexcept { (api->*Release)(p); }
  };
  std::unique_ptr<T, Free> raw_;
};

using OwnedOptions = Handle<OrtSessionOptions, &OrtApi::ReleaseSessionOptions>;

/// The library of use_onnxruntime(); empty: none.
std::string chosen_onnxruntime();

class Runtime {
 public:
  /// Tries, in this order: the file that VERNIER_ORT_LIBRARY names, or else the one of use_onnxruntime(), alone where
  /// there is one; a copy already in the process, the package beside the
  /// program, the project's own virtual environment, the active one, the loader's path. Loaded once a process.
  /// Errors: Backend with every attempt when none works.
  static std::shared_ptr<const Runtime> load();
  /// The same, and every session of it knows the custom operators of `libraries` (operator_libraries.h), which are
  /// asked for them once as long as somebody holds what this returns. Errors: as register_libraries(), too.
  static std::shared_ptr<const Runtime> load(const std::vector<std::filesystem::path>& libraries);
  /// On a GPU it is the CUDA build (gpu_side.h), of which sessions run there unless their options say otherwise.
  /// Errors: also Backend where something of a GPU is missing, with what installs it.
  /// `gpu_memory`: as MeasureOptions has it.
  static std::shared_ptr<const Runtime> load(const std::vector<std::filesystem::path>& libraries, const Device& device,
                                             std::optional<ByteSize> gpu_memory = {});

  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  const OrtApi& api() const noexcept { return *api_; }
  OrtEnv* env() const noexcept { return env_; }
  /// "1.31.1", or on a GPU "1.31.1 on NVIDIA H200 (cuda:0)".
  const std::string& version() const noexcept { return version_; }
  /// Whether Vernier's tests run on this version: the pinned one, or the oldest or the newest supported
  /// (scripts/requirements*.in).
  bool is_tested() const noexcept;
  /// Null: the CPU.
  GpuSide* gpu() const noexcept { return gpu_.get(); }
  const std::string& place() const noexcept { return place_; }
  const std::vector<LoadAttempt>& attempts() const noexcept { return attempts_; }
  const std::vector<std::filesystem::path>& operator_libraries() const noexcept { return operator_libraries_; }

  /// Of a session: empty but for the custom operators.
  OwnedOptions new_options() const;

  /// Makes the domain of our operators known to the process. Each session would do that which finds it unknown, and
  /// where two do so at once one of them fails (1.31.1).
  void make_domains_known() const;

  /// Throws Backend with the runtime's own text when `status` is an error; releases it.
  void check(OrtStatus* status) const;

 private:
  friend std::shared_ptr<const Runtime> load_gpu_runtime(int index);
  Runtime() = default;
  void* library_ = nullptr;
  const OrtApi* api_ = nullptr;
  OrtEnv* env_ = nullptr;
  std::string version_;
  std::string place_;
  std::vector<LoadAttempt> attempts_;
  // With custom operators: whose library and environment these are.
  std::shared_ptr<const Runtime> plain_;
  std::vector<std::filesystem::path> operator_libraries_;
  OwnedOptions with_operators_;
  std::shared_ptr<GpuSide> gpu_;
};

}  // namespace vernier
