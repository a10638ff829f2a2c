#include "io/zip_archive.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <system_error>

#include "base/file.h"
#include "base/refuse.h"
#include "base/text.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

// Deflate spends at least one bit on a match of at most 258 bytes, and two symbols on each: 1032 to 1 (zlib's manual,
// "Maximum Compression Factor"). The slack covers members of a few bytes.
constexpr std::uint64_t kMostPerPackedByte = 1032;
constexpr std::uint64_t kSlack = 4096;
// Samples compress to a half or a tenth, masks and one-hot labels to a hundredth. A small file that fills the memory is
// no data.
constexpr std::uint64_t kBomb = std::uint64_t{256} << 20U;
constexpr std::uint64_t kBombRatio = 500;

}  // namespace

void ZipArchive::Discard::operator()(zip* archive) const noexcept { zip_discard(archive); }
void ZipArchive::Array::Close::operator()(zip_file* file) const noexcept { zip_fclose(file); }

ZipArchive::ZipArchive(const std::filesystem::path& path, std::string where) : where_(std::move(where)) {
  require_no_pipe(path);
  int code = 0;
  zip_.reset(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!zip_) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    refuse(ErrorCode::SampleFile, where_, fmt::format("cannot be read as .npz: {}", why));
  }
  const auto count = static_cast<std::uint64_t>(std::max<zip_int64_t>(zip_get_num_entries(zip_.get(), 0), 0));
  constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  std::uint64_t packed = 0;
  std::uint64_t unpacked = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    zip_stat_t stat;
    // Raw names: libzip would otherwise guess at their encoding and change them.
    if (zip_stat_index(zip_.get(), i, ZIP_FL_ENC_RAW, &stat) != 0 || (stat.valid & kNeeded) != kNeeded) {
      refuse(ErrorCode::SampleFile, where_, fmt::format("member {} of the archive is damaged", i));
    }
    const bool stored = stat.comp_method == ZIP_CM_STORE;
    const bool possible = stored ? stat.size == stat.comp_size
                                 : stat.size <= kSlack || (stat.size - kSlack) / kMostPerPackedByte <= stat.comp_size;
    if (!possible) {
      refuse(ErrorCode::SampleFile, where_,
             fmt::format("member '{}' claims {} bytes, which its {} packed bytes cannot hold", printable(stat.name),
                         stat.size, stat.comp_size));
    }
    packed += stat.comp_size;
    unpacked += stat.size;
    members_.push_back({stat.name, i, stat.size, stored});
  }
  // Members may lie over each other.
  std::error_code unknown;
  const std::uintmax_t whole = std::filesystem::file_size(path, unknown);
  if (!unknown) packed = std::min<std::uint64_t>(packed, whole);
  if (unpacked > kBomb && unpacked / kBombRatio > packed) {
    refuse(ErrorCode::SampleFile, where_,
           fmt::format("{} packed bytes unpack to {}, more than {} times as many", packed, unpacked, kBombRatio),
           "if the arrays are all but constant on purpose, store them unpacked: numpy.savez");
  }
}

ZipArchive::Array::Array(const ZipArchive& archive, const Member& member)
    : archive_(archive.zip_.get()),
      member_(member),
      where_(fmt::format("{}, '{}'", archive.where_, printable(member.name))) {
  reopen();
  std::vector<std::byte> start(std::min<std::uint64_t>(member.byte_size, kNpyPreamble));
  read_next(start);
  const std::size_t size = npy_header_size(start, where_);
  if (size > member.byte_size) refuse(ErrorCode::SampleFile, where_, "is cut short");
  const std::size_t have = start.size();
  start.resize(std::max(size, have));
  read_next(std::span(start).subspan(have));
  header_ = parse_npy_header(start, where_);
  if (member.byte_size - header_.data_offset != header_.data_bytes) {
    refuse(ErrorCode::SampleFile, where_,
           fmt::format("its header promises {} bytes of shape {}, the archive holds {}", header_.data_bytes,
                       shape_text(header_.shape), member.byte_size - header_.data_offset));
  }
}

void ZipArchive::Array::reopen() {
  file_.reset(zip_fopen_index(archive_, member_.index, 0));
  if (!file_)
    refuse(ErrorCode::SampleFile, where_,
           fmt::format("cannot be unpacked: {}", zip_error_strerror(zip_get_error(archive_))));
  at_ = 0;
}

void ZipArchive::Array::read_next(std::span<std::byte> out) {
  while (!out.empty()) {
    const zip_int64_t got = zip_fread(file_.get(), out.data(), out.size());
    if (got < 0)
      refuse(ErrorCode::SampleFile, where_, fmt::format("cannot be unpacked: {}", zip_file_strerror(file_.get())));
    if (got == 0) refuse(ErrorCode::SampleFile, where_, "is cut short");
    at_ += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

// libzip compares the sum when it meets the end and has seen all that lies before it.
void ZipArchive::Array::end() {
  std::byte none{};
  if (zip_fread(file_.get(), &none, 1) != 0)
    refuse(ErrorCode::SampleFile, where_, "is damaged: its checksum does not match");
  intact_ = true;
}

void ZipArchive::Array::compare_checksum() {
  reopen();
  std::vector<std::byte> dropped(std::min<std::uint64_t>(member_.byte_size, std::uint64_t{1} << 20U));
  while (at_ < member_.byte_size) {
    read_next(std::span(dropped).first(std::min<std::uint64_t>(member_.byte_size - at_, dropped.size())));
  }
  end();
}

void ZipArchive::Array::read(std::uint64_t offset, std::span<std::byte> out) {
  if (!intact_ && out.size() != header_.data_bytes) compare_checksum();
  const std::uint64_t wanted = header_.data_offset + offset;
  if (wanted < at_) reopen();
  // Seeking works in stored members only, and stops libzip's own check of their sum; it refuses it where it cannot.
  if (wanted > at_ && member_.stored && zip_fseek(file_.get(), static_cast<zip_int64_t>(wanted), SEEK_SET) == 0) {
    at_ = wanted;
  }
  std::array<std::byte, 16384> dropped;
  while (at_ < wanted) read_next(std::span(dropped).first(std::min<std::uint64_t>(wanted - at_, dropped.size())));
  read_next(out);
  if (!intact_) end();
}

}  // namespace vernier
