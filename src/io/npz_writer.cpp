#include "io/npz_writer.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string_view>

#include "io/npz_names.h"
#include "io/zip_files.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

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
  NewZip zip(path_);
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
    const std::uint64_t index = zip.add(name, zip_source_function(zip.archive(), serve, &parts.back()));
    zip_set_file_compression(zip.archive(), index, ZIP_CM_STORE, 0);
  }
  zip.commit();
}

}  // namespace vernier
