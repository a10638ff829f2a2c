#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>

#include "base/descriptor.h"
#include "base/refuse.h"
#include "base/text.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

// Read by signal handlers, hence of fixed size and without locks.
struct Mapping {
  std::atomic<bool> taken = false;
  std::atomic<std::uintptr_t> first = 0;
  std::atomic<std::uintptr_t> end = 0;
  std::atomic<const char*> name = nullptr;
};
constexpr int kMostMappings = 1024;
std::array<Mapping, kMostMappings> mappings;

std::uintptr_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

}  // namespace

const char* mapped_file_at(const void* address) noexcept {
  for (const Mapping& mapping : mappings) {
    if (address_of(address) >= mapping.first && address_of(address) < mapping.end) return mapping.name;
  }
  return nullptr;
}

MappedFile::MappedFile(const std::byte* first, std::size_t size, std::size_t mapped, const std::filesystem::path& path)
    : first_(first), size_(size), mapped_(mapped), name_(printable(path.string())) {
  for (int i = 0; i < kMostMappings; ++i) {
    Mapping& mapping = mappings[static_cast<std::size_t>(i)];
    if (mapping.taken.exchange(true)) continue;
    place_ = i;
    mapping.name = name_.c_str();
    mapping.first = address_of(first);
    mapping.end = address_of(first) + mapped;
    return;
  }
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // The mapping stays valid without the descriptor. Non-blocking: opening a pipe that nobody writes to must not hang
  // before it is refused below.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.empty()) refuse_for_errno(path, "cannot be read", errno);
  return of(file.get(), path);
}

std::shared_ptr<const MappedFile> MappedFile::of(int descriptor, const std::filesystem::path& path) {
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) refuse_for_errno(path, "cannot be read", errno);
  if (!S_ISREG(info.st_mode)) refuse(ErrorCode::FileUnreadable, path, "is not a regular file");
  if (info.st_size == 0) refuse(ErrorCode::FileUnreadable, path, "is empty");
  const auto size = static_cast<std::size_t>(info.st_size);
  // The file lies over the start of a zeroed map that is longer: what is left of it is the padding.
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t mapped = (size + kPadding + page - 1) / page * page;
  void* first = ::mmap(nullptr, mapped, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (first == MAP_FAILED) refuse_for_errno(path, "cannot be mapped", errno);
  if (::mmap(first, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, descriptor, 0) == MAP_FAILED) {
    const int why = errno;
    ::munmap(first, mapped);
    refuse_for_errno(path, "cannot be mapped", why);
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(static_cast<const std::byte*>(first), size, mapped, path));
}

void MappedFile::forget(std::span<const std::byte> part) const noexcept {
  // A page that is read brings the pages around it, up to such a border (Linux: fault_around_bytes). They go as well,
  // with those of neighbours that are being read: nothing was written that could be lost.
  constexpr std::size_t kAround = std::size_t{64} << 10U;
  const std::uintptr_t begin = std::max(address_of(part.data()) / kAround * kAround, address_of(first_));
  const std::uintptr_t end =
      std::min((address_of(part.data() + part.size()) + kAround - 1) / kAround * kAround, address_of(first_) + mapped_);
  // Best effort: a system that refuses only keeps the pages.
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (place_ >= 0) {
    Mapping& mapping = mappings[static_cast<std::size_t>(place_)];
    mapping.end = 0;
    mapping.taken = false;
  }
  ::munmap(const_cast<std::byte*>(first_), mapped_);
}

}  // namespace vernier
