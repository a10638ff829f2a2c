#include "core/file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "vernier/error.h"

namespace vernier {
namespace fs = std::filesystem;

void replace_file(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  const fs::path temporary = fs::path(path).concat(fmt::format(".{}.tmp", ::getpid()));
  const auto refuse = [&] {
    const std::string reason = std::strerror(errno);
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw Error(ErrorKind::Input, fmt::format("{}: cannot write: {}", path.string(), reason));
  };
  errno = 0;
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  if (!out) refuse();
  try {
    write(out);
  } catch (...) {
    out.close();
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw;
  }
  out.close();
  if (!out) refuse();
  if (std::rename(temporary.c_str(), path.c_str()) != 0) refuse();
}

void replace_file(const fs::path& path, const std::string& text) {
  replace_file(path, [&](std::ostream& out) { out << text; });
}

std::string read_text(const fs::path& path, std::size_t limit) {
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
