#include "base/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/descriptor.h"
#include "base/refuse.h"

namespace vernier {

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // The mapping stays valid without the descriptor. Non-blocking: opening a pipe that nobody writes to must not hang
  // before it is refused below.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.empty()) refuse(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  return of(file.get(), path);
}

std::shared_ptr<const MappedFile> MappedFile::of(int descriptor, const std::filesystem::path& path) {
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) refuse(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  if (!S_ISREG(info.st_mode)) refuse(path, "is not a regular file");
  if (info.st_size == 0) refuse(path, "is empty");
  const auto size = static_cast<std::size_t>(info.st_size);
  // The file lies over the start of a zeroed map that is longer: what is left of it is the padding.
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t mapped = (size + kPadding + page - 1) / page * page;
  void* first = ::mmap(nullptr, mapped, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (first == MAP_FAILED) refuse(path, fmt::format("cannot be mapped: {}", std::strerror(errno)));
  if (::mmap(first, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, descriptor, 0) == MAP_FAILED) {
    const int why = errno;
    ::munmap(first, mapped);
    refuse(path, fmt::format("cannot be mapped: {}", std::strerror(why)));
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(static_cast<const std::byte*>(first), size, mapped));
}

void MappedFile::forget(std::span<const std::byte> part) const noexcept {
  // A page that is read brings the pages around it, up to such a border (Linux: fault_around_bytes). They go as well,
  // with those of neighbours that are being read: nothing was written that could be lost.
  constexpr std::size_t kAround = std::size_t{64} << 10U;
  const auto address = [](const std::byte* byte) { return reinterpret_cast<std::uintptr_t>(byte); };
  const std::uintptr_t begin = std::max(address(part.data()) / kAround * kAround, address(first_));
  const std::uintptr_t end =
      std::min((address(part.data() + part.size()) + kAround - 1) / kAround * kAround, address(first_) + mapped_);
  // Best effort: a system that refuses only keeps the pages.
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

MappedFile::~MappedFile() { ::munmap(const_cast<std::byte*>(first_), mapped_); }

}  // namespace vernier
