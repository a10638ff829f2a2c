#include "io/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

[[noreturn]] void refuse_spool(const std::filesystem::path& target, int code) {
  throw Error(ErrorCode::FileUnwritable, fmt::format("{}: cannot write, by way of a temporary file: {}",
                                                     printable(target.string()), std::strerror(code)));
}

}  // namespace

Spool::Spool(const std::filesystem::path& folder, std::filesystem::path target) : target_(std::move(target)) {
  std::error_code ignored;  // what is wrong is said when the file is made
  std::filesystem::create_directories(folder, ignored);
  std::string name = (folder / ".vernier-XXXXXX").string();
  fd_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd_ < 0) refuse_spool(target_, errno);
  ::unlink(name.c_str());
}

Spool::~Spool() {
  if (fd_ >= 0) ::close(fd_);
}

Spool::Spool(Spool&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), size_(other.size_), target_(std::move(other.target_)) {}

void Spool::append(std::string_view text) {
  while (!text.empty()) {
    const ::ssize_t put = ::pwrite(fd_, text.data(), text.size(), static_cast<::off_t>(size_));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) refuse_spool(target_, errno);
    size_ += static_cast<std::uint64_t>(put);
    text.remove_prefix(static_cast<std::size_t>(put));
  }
}

TextSink Spool::sink() {
  return [this](std::string_view text) { append(text); };
}

void Spool::read(std::uint64_t from, std::span<char> out) const {
  while (!out.empty()) {
    const ::ssize_t got = ::pread(fd_, out.data(), out.size(), static_cast<::off_t>(from));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) refuse_spool(target_, got < 0 ? errno : EIO);
    from += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

void Spool::copy(std::uint64_t from, std::uint64_t count, const TextSink& out) const {
  std::vector<char> buffer(std::min<std::uint64_t>(count, std::size_t{1} << 20U));
  while (count > 0) {
    const std::span<char> part = std::span(buffer).first(std::min<std::uint64_t>(count, buffer.size()));
    read(from, part);
    out({part.data(), part.size()});
    from += part.size();
    count -= part.size();
  }
}

void Spool::clear() {
  size_ = 0;
  if (::ftruncate(fd_, 0) != 0) refuse_spool(target_, errno);
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.parent_path();
  return folder.empty() ? "." : folder;
}

}  // namespace vernier
