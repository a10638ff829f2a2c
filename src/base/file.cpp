#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "base/refuse.h"
#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace fs = std::filesystem;
namespace {

bool discarding = false;  // set once, before any file is written

/// Where a link leads: it stays, and what it leads to is replaced.
fs::path followed(const fs::path& path) {
  std::error_code unknown;
  if (!fs::is_symlink(path, unknown)) return path;
  const fs::path target = fs::weakly_canonical(path, unknown);
  return unknown ? path : target;
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

fs::path own_name(const fs::path& path) { return fs::path(path).concat(fmt::format(".{}.tmp", ::getpid())); }

/// Nothing would be lost if it were written in place.
bool is_empty_file(const fs::path& path) {
  std::error_code unknown;
  return fs::is_regular_file(path, unknown) && fs::file_size(path, unknown) == 0 && !unknown &&
         ::access(path.c_str(), W_OK) == 0;
}

/// The process that made NAME.NUMBER.tmp is gone.
bool is_stale(const std::string& file, const std::string& name) {
  constexpr std::string_view kEnd = ".tmp";
  if (file.size() <= name.size() + 1 + kEnd.size() || !file.starts_with(name + ".") || !file.ends_with(kEnd))
    return false;
  const std::string number = file.substr(name.size() + 1, file.size() - name.size() - 1 - kEnd.size());
  if (number.size() > 9 || !std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; })) return false;
  return ::kill(std::stoi(number), 0) != 0 && errno == ESRCH;
}

}  // namespace

bool is_written_in_place(const fs::path& path) {
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) return true;
  const std::string name = fs::absolute(path, unknown).lexically_normal().string();
  return fs::exists(status) && (name.starts_with("/dev/") || name.starts_with("/proc/")) &&
         !name.starts_with("/dev/shm/");
}

fs::path temporary_name(const fs::path& path) {
  std::error_code ignored;
  for (fs::directory_iterator entry(folder_of(path), ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    if (is_stale(entry->path().filename().string(), path.filename().string())) fs::remove_all(entry->path(), ignored);
  }
  return own_name(path);
}

void NewFile::discard_all() { discarding = true; }

NewFile::NewFile(fs::path path) : path_(std::move(path)) {
  errno = 0;
  open();
  if (!out_) refuse();
}

void NewFile::open() {
  constexpr auto kMode = std::ios::binary | std::ios::trunc;
  in_place_ = discarding || is_written_in_place(path_);
  if (in_place_) {
    out_.open(discarding ? fs::path("/dev/null") : path_, kMode);
    return;
  }
  path_ = followed(path_);
  std::error_code ignored;  // what is wrong is said when the file is opened
  fs::create_directories(folder_of(path_), ignored);
  errno = 0;
  nameless_ = Descriptor(::open(folder_of(path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
  if (nameless_.get() >= 0) out_.open(fmt::format("/proc/self/fd/{}", nameless_.get()), kMode);
  if (out_.is_open()) return;
  nameless_.close();
  out_.clear();
  temporary_ = temporary_name(path_);
  out_.open(temporary_, kMode);
}

NewFile::~NewFile() {
  out_.close();
  if (temporary_.empty()) return;
  std::error_code ignored;
  fs::remove(temporary_, ignored);
}

void NewFile::write(std::string_view text) {
  if (!out_.write(text.data(), static_cast<std::streamsize>(text.size()))) refuse();
}

void NewFile::commit() {
  out_.close();
  if (!out_) refuse();
  if (in_place_) return;
  if (is_empty_file(path_)) {
    fill();
    return;
  }
  if (nameless_.get() >= 0) {
    // A name can be given to a file, but not one that is taken: it takes the place of that in a second step.
    const fs::path named = own_name(path_);
    std::error_code ignored;
    fs::remove(named, ignored);
    if (::linkat(AT_FDCWD, fmt::format("/proc/self/fd/{}", nameless_.get()).c_str(), AT_FDCWD, named.c_str(),
                 AT_SYMLINK_FOLLOW) != 0) {
      refuse();
    }
    temporary_ = named;
  }
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) refuse();
  temporary_.clear();
}

void NewFile::fill() {
  const fs::path written = temporary_.empty() ? fs::path(fmt::format("/proc/self/fd/{}", nameless_.get())) : temporary_;
  errno = 0;
  std::ifstream in(written, std::ios::binary);
  std::ofstream out(path_, std::ios::binary | std::ios::trunc);
  if (in && in.peek() != std::ifstream::traits_type::eof()) out << in.rdbuf();
  out.close();
  if (!in || !out) refuse();
  if (temporary_.empty()) return;
  std::error_code ignored;
  fs::remove(temporary_, ignored);
  temporary_.clear();
}

void NewFile::refuse() {
  const std::string reason = std::strerror(errno);
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove(temporary_, ignored);
  vernier::refuse(ErrorCode::FileUnwritable, path_, "cannot write: " + reason);
}

void replace_file(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  NewFile file(path);
  write(file.stream());
  file.commit();
}

void replace_file(const fs::path& path, const std::string& text) {
  replace_file(path, [&](std::ostream& out) { out << text; });
}

void replace_regular_file(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  if (is_written_in_place(path)) refuse(ErrorCode::FileUnwritable, path, "cannot write: not a regular file");
  // Nobody made it for the result, and others may read it while it is filled.
  std::error_code ignored;
  if (is_empty_file(path)) fs::remove(path, ignored);
  replace_file(path, write);
}

void require_no_pipe(const fs::path& path) {
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  if (fs::is_fifo(status) || fs::is_socket(status)) {
    throw Error(ErrorCode::FileUnreadable, fmt::format("{}: a pipe, where a file is wanted", printable(path.string())),
                "inputs are read more than once: write it to a file first");
  }
}

std::ifstream open_input(const fs::path& path) {
  std::error_code unknown;  // the stream says why
  if (fs::is_directory(path, unknown)) {
    throw Error(ErrorCode::FileUnreadable, fmt::format("{}: a folder, where a file is wanted", path.string()));
  }
  require_no_pipe(path);
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in && lacks_descriptors(errno)) refuse_for_errno(path, "cannot be read", errno);
  if (!in) throw Error(code_of_reading(errno), fmt::format("{}: {}", path.string(), std::strerror(errno)));
  return in;
}

std::string read_text(const fs::path& path, std::size_t limit) {
  std::ifstream in = open_input(path);
  in.seekg(0, std::ios::end);
  const auto size = static_cast<std::size_t>(in.tellg());
  if (size > limit) {
    throw Error(ErrorCode::FileUnreadable,
                fmt::format("{}: {} bytes, more than the limit of {}", path.string(), size, limit));
  }
  std::string text(size, '\0');
  in.seekg(0);
  in.read(text.data(), static_cast<std::streamsize>(size));
  if (!in)
    throw Error(ErrorCode::FileUnreadable, fmt::format("{}: cannot read: {}", path.string(), std::strerror(errno)));
  return text;
}

}  // namespace vernier
