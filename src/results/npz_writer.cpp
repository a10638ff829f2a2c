#include "results/npz_writer.h"

#include <fmt/format.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "core/text.h"
#include "data/npz_names.h"
#include "vernier/error.h"

namespace vernier {
namespace {

// What libzip reads a member from. It asks when the archive is closed, for one member after the other.
struct Part {
  const Spool* spool;
  std::uint64_t first, size;
  std::uint64_t at = 0;
  zip_error_t error{};
};

// The signature is libzip's: zip_source_callback.
zip_int64_t serve(void* state, void* data, zip_uint64_t length, zip_source_cmd_t command) {
  auto& part = *static_cast<Part*>(state);
  switch (command) {
    case ZIP_SOURCE_SUPPORTS:
      return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT,
                                            ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, -1);
    case ZIP_SOURCE_OPEN:
      part.at = 0;
      return 0;
    case ZIP_SOURCE_READ: {
      const std::uint64_t count = std::min<std::uint64_t>(length, part.size - part.at);
      try {
        part.spool->read(part.first + part.at, {static_cast<char*>(data), count});
      } catch (const Error&) {
        zip_error_set(&part.error, ZIP_ER_READ, EIO);
        return -1;
      }
      part.at += count;
      return static_cast<zip_int64_t>(count);
    }
    case ZIP_SOURCE_STAT: {
      auto& stat = *static_cast<zip_stat_t*>(data);
      zip_stat_init(&stat);
      stat.size = part.size;
      stat.valid = ZIP_STAT_SIZE;
      return sizeof(zip_stat_t);
    }
    case ZIP_SOURCE_ERROR:
      return zip_error_to_data(&part.error, data, length);
    default:
      return 0;
  }
}

struct Discard {
  void operator()(zip_t* archive) const noexcept { zip_discard(archive); }
};

}  // namespace

NpzWriter::NpzWriter(std::filesystem::path path, Content content)
    : path_(std::move(path)), content_(content), spool_(folder_of(path_), path_) {}

void NpzWriter::add(const std::vector<NamedTensor>& arrays) {
  for (const NamedTensor& array : arrays) {
    const std::uint64_t first = spool_.size();
    put_npy(spool_.sink(), array, content_ == Content::Samples ? "input" : "output");
    members_.push_back({iterations_, array.name, first, spool_.size() - first});
  }
  ++iterations_;
}

void NpzWriter::commit() {
  const std::string temporary = fmt::format("{}.{}.tmp", path_.string(), ::getpid());
  const auto refuse = [&](const char* why) {
    throw Error(ErrorKind::Input, fmt::format("{}: cannot write: {}", printable(path_.string()), why));
  };
  int code = 0;
  std::unique_ptr<zip_t, Discard> archive(zip_open(temporary.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  if (!archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    refuse(zip_error_strerror(&error));
  }
  const std::string_view prefix = content_ == Content::Samples ? kSamplePrefix : kIterationPrefix;
  const bool numbered = content_ == Content::Samples || iterations_ > 1 ||
                        std::any_of(members_.begin(), members_.end(), [](const Member& member) {
                          return numbered_name(member.name, kIterationPrefix).has_value();
                        });
  std::vector<Part> parts;
  parts.reserve(members_.size());  // libzip keeps pointers to them
  for (const Member& member : members_) {
    parts.push_back({&spool_, member.first, member.size});
    const std::string name =
        numbered ? fmt::format("{}{}/{}.npy", prefix, member.iteration, member.name) : member.name + ".npy";
    // Told that a name is UTF-8, libzip refuses control characters; left to guess, it keeps the bytes of any name.
    zip_source_t* source = zip_source_function(archive.get(), serve, &parts.back());
    const zip_int64_t index =
        source == nullptr ? -1 : zip_file_add(archive.get(), name.c_str(), source, ZIP_FL_ENC_GUESS);
    if (index < 0) {
      zip_source_free(source);
      refuse(zip_strerror(archive.get()));
    }
    zip_set_file_compression(archive.get(), static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);
  }
  if (zip_close(archive.get()) != 0) refuse(zip_strerror(archive.get()));
  archive.release();  // closed
  std::error_code error;
  std::filesystem::rename(temporary, path_, error);
  if (error) refuse(error.message().c_str());
}

}  // namespace vernier
