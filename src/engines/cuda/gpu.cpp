#include "engines/cuda/gpu.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <type_traits>

#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

constexpr const char* kHint = "‹vernier doctor› lists what is missing; ‹device› cpu runs without a GPU";

// Numbers of CUdevice_attribute, which never change.
constexpr int kMajor = 75, kMinor = 76;

}  // namespace

/// CUDA_MEMCPY2D, of which places other than a GPU's memory stay empty.
struct CopiedRows {
  struct Place {
    std::size_t x = 0, y = 0;
    int memory = 2;  // CU_MEMORYTYPE_DEVICE
    const void* host = nullptr;
    Gpu::Address address = 0;
    void* array = nullptr;
    std::size_t pitch = 0;
  } from, to;
  std::size_t bytes = 0, rows = 0;
};

/// Functions of the driver, under the names that its library exports.
struct Gpu::Driver {
  int (*init)(unsigned) = nullptr;
  int (*version)(int*) = nullptr;
  int (*count)(int*) = nullptr;
  int (*device)(int*, int) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  int (*total)(std::size_t*, int) = nullptr;
  int (*id)(char*, int) = nullptr;
  int (*error_text)(int, const char**) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*set_current)(void*) = nullptr;
  int (*memory)(std::size_t*, std::size_t*) = nullptr;
  int (*allocate)(Address*, std::size_t) = nullptr;
  int (*release)(Address) = nullptr;
  int (*copy_in)(Address, const void*, std::size_t) = nullptr;
  int (*copy_in_later)(Address, const void*, std::size_t, Stream) = nullptr;
  int (*copy_out)(void*, Address, std::size_t) = nullptr;
  int (*copy_out_later)(void*, Address, std::size_t, Stream) = nullptr;
  int (*copy_later)(Address, Address, std::size_t, Stream) = nullptr;
  int (*copy_rows_later)(const CopiedRows*, Stream) = nullptr;
  int (*clear)(Address, unsigned char, std::size_t) = nullptr;
  int (*wait)(Stream) = nullptr;
  int (*load)(void**, const void*) = nullptr;
  int (*function)(Function*, void*, const char*) = nullptr;
  int (*launch)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**,
                void**) = nullptr;

  std::string text_of(int code) const {
    const char* text = nullptr;
    if (error_text != nullptr) error_text(code, &text);
    return text != nullptr ? text : fmt::format("error {}", code);
  }

  /// Empty, or why it cannot be used.
  std::string load_from(void* library) {
    std::string missing;
    const auto get = [&](auto& call, const char* symbol) {
      void* const found = ::dlsym(library, symbol);
      if (found == nullptr && missing.empty())
        missing = fmt::format("the NVIDIA driver is too old: it has no {}", symbol);
      call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(found);
    };
    get(init, "cuInit");
    get(version, "cuDriverGetVersion");
    get(count, "cuDeviceGetCount");
    get(device, "cuDeviceGet");
    get(name, "cuDeviceGetName");
    get(attribute, "cuDeviceGetAttribute");
    get(total, "cuDeviceTotalMem_v2");
    get(id, "cuDeviceGetUuid_v2");
    get(error_text, "cuGetErrorString");
    get(retain, "cuDevicePrimaryCtxRetain");
    get(set_current, "cuCtxSetCurrent");
    get(memory, "cuMemGetInfo_v2");
    get(allocate, "cuMemAlloc_v2");
    get(release, "cuMemFree_v2");
    get(copy_in, "cuMemcpyHtoD_v2");
    get(copy_in_later, "cuMemcpyHtoDAsync_v2");
    get(copy_out, "cuMemcpyDtoH_v2");
    get(copy_out_later, "cuMemcpyDtoHAsync_v2");
    get(copy_later, "cuMemcpyDtoDAsync_v2");
    get(copy_rows_later, "cuMemcpy2DAsync_v2");
    get(clear, "cuMemsetD8_v2");
    get(wait, "cuStreamSynchronize");
    get(load, "cuModuleLoadData");
    get(function, "cuModuleGetFunction");
    get(launch, "cuLaunchKernel");
    if (!missing.empty()) return missing;
    const int code = init(0);
    return code == 0 ? "" : fmt::format("the NVIDIA driver does not start: {}", text_of(code));
  }

  GpuAbout about(int index) const {
    int handle = 0, major = 0, minor = 0;
    GpuAbout found;
    std::array<char, 256> text{};
    device(&handle, index);
    name(text.data(), static_cast<int>(text.size()), handle);
    attribute(&major, kMajor, handle);
    attribute(&minor, kMinor, handle);
    total(&found.bytes, handle);
    constexpr std::size_t kIdBytes = 16;
    found.id.resize(kIdBytes);
    id(found.id.data(), handle);
    found.name = printable(text.data());
    found.architecture = 10 * major + minor;
    return found;
  }
};

const Gpu::Driver* Gpu::driver(std::string& missing) {
  struct Loaded {
    Driver driver;
    std::string missing;
  };
  static const Loaded& loaded = *[] {
    auto* const made = new Loaded;  // threads of the driver may outlive main()
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    made->missing = library == nullptr ? "there is no NVIDIA driver (libcuda.so.1)" : made->driver.load_from(library);
    return made;
  }();
  missing = loaded.missing;
  return missing.empty() ? &loaded.driver : nullptr;
}

DriverAbout ask_driver() {
  DriverAbout about;
  const Gpu::Driver* const driver = Gpu::driver(about.missing);
  if (driver == nullptr) return about;
  int count = 0;
  driver->version(&about.cuda_version);
  driver->count(&count);
  for (int i = 0; i < count; ++i) about.gpus.push_back(driver->about(i));
  if (count == 0) about.missing = "the NVIDIA driver finds no GPU";
  return about;
}

std::shared_ptr<const Gpu> Gpu::open(int index) {
  static std::mutex mutex;
  static auto& opened = *new std::map<int, std::shared_ptr<const Gpu>>;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const Gpu>& gpu = opened[index];
  if (gpu == nullptr) gpu = std::shared_ptr<const Gpu>(new Gpu(index));
  return gpu;
}

Gpu::Gpu(int index) : index_(index) {
  const DriverAbout found = ask_driver();
  if (!found.missing.empty()) throw Error(ErrorCode::GpuMissing, found.missing, kHint);
  if (static_cast<std::size_t>(index) >= found.gpus.size()) {
    throw Error(ErrorCode::GpuMissing,
                fmt::format("there is no GPU cuda:{}: the NVIDIA driver finds {}", index, found.gpus.size()), kHint);
  }
  std::string missing;
  driver_ = driver(missing);
  cuda_version_ = found.cuda_version;
  about_ = found.gpus[static_cast<std::size_t>(index)];
  int device = 0;
  check(driver_->device(&device, index), "cuDeviceGet");
  check(driver_->retain(&context_, device), "cuDevicePrimaryCtxRetain");
}

Gpu::~Gpu() = default;

void Gpu::check(int code, const char* what) const {
  if (code == 0) return;
  throw Error(ErrorCode::RuntimeFails,
              fmt::format("cuda:{} ({}): {} fails: {}", index_, about_.name, what, driver_->text_of(code)));
}

void Gpu::make_current() const { check(driver_->set_current(context_), "cuCtxSetCurrent"); }

std::size_t Gpu::free_bytes() const {
  make_current();
  std::size_t free = 0, total = 0;
  check(driver_->memory(&free, &total), "cuMemGetInfo");
  return free;
}

void Gpu::refuse(std::size_t bytes) const {
  throw Error(ErrorCode::OutOfMemory,
              fmt::format("cuda:{} ({}) is out of memory: {} bytes do not fit, and {} are in use", index_, about_.name,
                          bytes, used_bytes_.load()),
              kMoreGpuMemory);
}

Gpu::Address Gpu::allocate(std::size_t bytes) const {
  make_current();
  constexpr int kOutOfMemory = 2;
  if (used_bytes_.fetch_add(bytes) + bytes > most_bytes_) {
    used_bytes_ -= bytes;
    refuse(bytes);
  }
  Address address = 0;
  const int code = driver_->allocate(&address, std::max<std::size_t>(bytes, 1));
  if (code == 0) return address;
  used_bytes_ -= bytes;
  if (code == kOutOfMemory) refuse(bytes);
  check(code, "cuMemAlloc");
  return address;
}

void Gpu::release(Address address, std::size_t bytes) const noexcept {
  used_bytes_ -= bytes;
  if (driver_->set_current(context_) == 0) driver_->release(address);
}

void Gpu::copy_in(Address to, const void* from, std::size_t bytes) const {
  make_current();
  if (bytes == 0) return;
  check(driver_->copy_in(to, from, bytes), "cuMemcpyHtoD");
  wait(nullptr);  // the last part may still be on its way
}

void Gpu::copy_in(Address to, const void* from, std::size_t bytes, Stream stream) const {
  make_current();
  // From memory that is not pinned, the driver has read all of it when it returns.
  if (bytes != 0) check(driver_->copy_in_later(to, from, bytes, stream), "cuMemcpyHtoDAsync");
}

void Gpu::copy_out(void* to, Address from, std::size_t bytes) const {
  make_current();
  if (bytes != 0) check(driver_->copy_out(to, from, bytes), "cuMemcpyDtoH");
}

void Gpu::copy_out(void* to, Address from, std::size_t bytes, Stream stream) const {
  make_current();
  if (bytes != 0) check(driver_->copy_out_later(to, from, bytes, stream), "cuMemcpyDtoHAsync");
  wait(stream);
}

void Gpu::copy(Address to, Address from, std::size_t bytes, Stream stream) const {
  make_current();
  if (bytes != 0) check(driver_->copy_later(to, from, bytes, stream), "cuMemcpyDtoDAsync");
}

void Gpu::copy_rows(Address to, std::size_t to_pitch, Address from, std::size_t from_pitch, std::size_t bytes,
                    std::size_t rows, Stream stream) const {
  make_current();
  if (bytes == 0 || rows == 0) return;
  CopiedRows copied;
  copied.from.address = from;
  copied.from.pitch = from_pitch;
  copied.to.address = to;
  copied.to.pitch = to_pitch;
  copied.bytes = bytes;
  copied.rows = rows;
  check(driver_->copy_rows_later(&copied, stream), "cuMemcpy2DAsync");
}

void Gpu::clear(Address address, std::size_t bytes) const {
  make_current();
  if (bytes == 0) return;
  check(driver_->clear(address, 0, bytes), "cuMemsetD8");
  wait(nullptr);
}

void Gpu::wait(Stream stream) const {
  make_current();
  check(driver_->wait(stream), "cuStreamSynchronize");
}

void* Gpu::load_module(const std::string& image) const {
  make_current();
  void* module = nullptr;
  check(driver_->load(&module, image.data()), "cuModuleLoadData");
  return module;
}

Gpu::Function Gpu::function(void* module, const char* name) const {
  make_current();
  Function found = nullptr;
  check(driver_->function(&found, module, name), "cuModuleGetFunction");
  return found;
}

void Gpu::launch(Function function, unsigned blocks, unsigned threads, Stream stream, void** arguments) const {
  make_current();
  check(driver_->launch(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr), "cuLaunchKernel");
}

}  // namespace vernier
