#include "engines/cuda/compiler.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <mutex>
#include <ostream>
#include <type_traits>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "engines/cuda/libraries.h"
#include "engines/cuda/sources.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

struct Nvrtc {
  using Program = void*;
  int (*version)(int*, int*) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*image_size)(Program, std::size_t*) = nullptr;
  int (*image)(Program, char*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  NvrtcAbout about;
};

Nvrtc find_nvrtc(const std::vector<fs::path>& packages) {
  Nvrtc found;
  const LoadedLibrary library = load_nvidia_library({"libnvrtc.so.13", "libnvrtc.so.12"}, packages);
  if (library.handle == nullptr) {
    found.about.missing = library.place;
    return found;
  }
  const auto get = [&](auto& function, const char* symbol) {
    void* const address = ::dlsym(library.handle, symbol);
    if (address == nullptr) found.about.missing = fmt::format("{} has no {}", library.place, symbol);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  get(found.version, "nvrtcVersion");
  get(found.create, "nvrtcCreateProgram");
  get(found.compile, "nvrtcCompileProgram");
  get(found.log_size, "nvrtcGetProgramLogSize");
  get(found.log, "nvrtcGetProgramLog");
  get(found.image_size, "nvrtcGetCUBINSize");
  get(found.image, "nvrtcGetCUBIN");
  get(found.destroy, "nvrtcDestroyProgram");
  if (!found.about.missing.empty()) return found;
  int major = 0, minor = 0;
  found.version(&major, &minor);
  found.about.version = 1000 * major + 10 * minor;
  found.about.place = library.place;
  return found;
}

/// Looked for until it is found.
const Nvrtc& nvrtc(const std::vector<fs::path>& packages) {
  static std::mutex mutex;
  static auto& only = *new Nvrtc;
  const std::lock_guard lock(mutex);
  if (only.about.place.empty()) only = find_nvrtc(packages);
  return only;
}

std::string compile(const Nvrtc& compiler, int architecture) {
  Nvrtc::Program program = nullptr;
  // The texts end with a null: they are literals.
  const std::array headers{k_one_value_h.data(), k_records_h.data()};
  const std::array names{"one_value.h", "records.h"};
  compiler.create(&program, k_kernels_cu.data(), "kernels.cu", static_cast<int>(headers.size()), headers.data(),
                  names.data());
  // Without contraction the steps of one_value.h round as on the CPU.
  const std::string target = fmt::format("--gpu-architecture=sm_{}", architecture);
  const std::array options{target.c_str(), "--fmad=false", "--std=c++17"};
  const int code = compiler.compile(program, static_cast<int>(options.size()), options.data());
  std::size_t size = 0;
  std::string text;
  if (code != 0) {
    compiler.log_size(program, &size);
    text.resize(size);
    compiler.log(program, text.data());
  } else {
    compiler.image_size(program, &size);
    text.resize(size);
    compiler.image(program, text.data());
  }
  compiler.destroy(&program);
  if (code == 0) return text;
  throw Error(ErrorCode::GpuMissing,
              fmt::format("{} does not compile kernels for compute capability {}.{}: {}", compiler.about.place,
                          architecture / 10, architecture % 10, printable(text)));
}

// A kept file is its code behind the code's digest, so that a damaged one is noticed.
constexpr std::size_t kDigest = 64;

std::string read_kept(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (text.size() <= kDigest) return {};
  std::string image = text.substr(kDigest);
  return sha256_of(image) == text.substr(0, kDigest) ? image : std::string();
}

}  // namespace

NvrtcAbout ask_nvrtc(const std::vector<fs::path>& packages) { return nvrtc(packages).about; }

std::string compile_kernels(int architecture, const std::vector<fs::path>& packages, const fs::path& cache) {
  const Nvrtc& compiler = nvrtc(packages);
  if (!compiler.about.missing.empty()) {
    throw Error(ErrorCode::GpuMissing, "NVRTC, which compiles kernels for the GPU: " + compiler.about.missing,
                kInstallCuda);
  }
  if (cache.empty()) return compile(compiler, architecture);
  const std::string identity =
      fmt::format("{} {}\n{}\n{}\n{}", architecture, compiler.about.version, k_kernels_cu, k_records_h, k_one_value_h);
  const fs::path file = cache / (sha256_of(identity) + ".cubin");
  if (std::string kept = read_kept(file); !kept.empty()) return kept;
  std::string made = compile(compiler, architecture);
  try {
    replace_regular_file(file, [&](std::ostream& out) { out << sha256_of(made) << made; });
  } catch (const Error&) {
    // A cache that cannot be written costs two seconds a job.
  }
  return made;
}

}  // namespace vernier
