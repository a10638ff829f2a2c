// A .npz archive read member by member, through libzip. Nothing is unpacked to disk, so names with ".." are only names.
// Sizes are what the archive declares, refused where they cannot be true. Not safe for several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/npy.h"

struct zip;
struct zip_file;

namespace vernier {

class ZipArchive {
 public:
  struct Member {
    std::string name;
    std::uint64_t index = 0;
    std::uint64_t byte_size = 0;  // unpacked
    bool stored = false;          // not compressed
  };

  /// Errors: Input when it is no zip archive, a member claims more than its packed bytes can unpack to, or all of them
  /// unpack to more than 256 MiB and 500 times their packed bytes.
  ZipArchive(const std::filesystem::path& path, std::string where);

  const std::vector<Member>& members() const noexcept { return members_; }

  /// One .npy member, read from front to back. Going back reopens it; going forward in a compressed one unpacks and
  /// drops what lies between. No data is given out whose checksum was not compared: a read of all data compares it at
  /// the end, the first read of a part goes through the whole member once.
  class Array {
   public:
    /// Reads the header. Errors: Input, also when the member's size is not what the header says.
    Array(const ZipArchive& archive, const Member& member);
    const NpyHeader& header() const noexcept { return header_; }
    /// `out.size()` bytes of data, from `offset` in the data. Errors: Input when the archive is damaged, also where
    /// `out` is not.
    void read(std::uint64_t offset, std::span<std::byte> out);

   private:
    void reopen();
    void compare_checksum();
    void end();
    void read_next(std::span<std::byte> out);

    struct Close {
      void operator()(zip_file* file) const noexcept;
    };
    zip* archive_;
    Member member_;
    std::string where_;
    std::unique_ptr<zip_file, Close> file_;
    std::uint64_t at_ = 0;  // from the start of the member
    bool intact_ = false;   // its checksum was compared
    NpyHeader header_;
  };

 private:
  struct Discard {
    void operator()(zip* archive) const noexcept;
  };
  std::string where_;
  std::unique_ptr<zip, Discard> zip_;
  std::vector<Member> members_;
};

}  // namespace vernier
