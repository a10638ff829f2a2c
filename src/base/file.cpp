#include "base/file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "vernier/error.h"

namespace vernier {
namespace fs = std::filesystem;
namespace {
bool discarding = false;  // set once, before any file is written
}

void NewFile::discard_all() { discarding = true; }

NewFile::NewFile(fs::path path)
    : path_(std::move(path)), temporary_(fs::path(path_).concat(fmt::format(".{}.tmp", ::getpid()))) {
  errno = 0;
  if (discarding) temporary_ = "/dev/null";
  out_.open(temporary_, std::ios::binary | std::ios::trunc);
  if (!out_) refuse();
}

NewFile::~NewFile() {
  if (temporary_.empty()) return;
  out_.close();
  if (discarding) return;
  std::error_code ignored;
  fs::remove(temporary_, ignored);
}

void NewFile::write(std::string_view text) {
  if (!out_.write(text.data(), static_cast<std::streamsize>(text.size()))) refuse();
}

void NewFile::commit() {
  out_.close();
  if (!out_ || (!discarding && std::rename(temporary_.c_str(), path_.c_str()) != 0)) refuse();
  temporary_.clear();
}

void NewFile::refuse() {
  const std::string reason = std::strerror(errno);
  std::error_code ignored;
  if (!discarding) fs::remove(temporary_, ignored);
  throw Error(ErrorKind::Input, fmt::format("{}: cannot write: {}", path_.string(), reason));
}

void replace_file(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  NewFile file(path);
  write(file.stream());
  file.commit();
}

void replace_file(const fs::path& path, const std::string& text) {
  replace_file(path, [&](std::ostream& out) { out << text; });
}

std::string read_text(const fs::path& path, std::size_t limit) {
  std::error_code unknown;  // the stream says why
  if (fs::is_directory(path, unknown)) {
    throw Error(ErrorKind::Input, fmt::format("{}: a folder, where a file is wanted", path.string()));
  }
  errno = 0;
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) throw Error(ErrorKind::Input, fmt::format("{}: {}", path.string(), std::strerror(errno)));
  const auto size = static_cast<std::size_t>(in.tellg());
  if (size > limit) {
    throw Error(ErrorKind::Input,
                fmt::format("{}: {} bytes, more than the {} accepted here", path.string(), size, limit));
  }
  std::string text(size, '\0');
  in.seekg(0);
  in.read(text.data(), static_cast<std::streamsize>(size));
  if (!in) throw Error(ErrorKind::Input, fmt::format("{}: cannot read: {}", path.string(), std::strerror(errno)));
  return text;
}

}  // namespace vernier
