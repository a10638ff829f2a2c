// Files that are either whole or not there.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>

namespace vernier {

/// Writes to a temporary name in the same folder, flushes, then renames over `path`. The temporary file is removed when
/// `write` throws. Errors: Input when a folder is missing or the disk refuses, with the system's reason.
void replace_file(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);
void replace_file(const std::filesystem::path& path, const std::string& text);

/// The whole file. Errors: Input when it cannot be read or is larger than `limit` bytes.
std::string read_text(const std::filesystem::path& path, std::size_t limit = std::size_t{1} << 30U);

}  // namespace vernier
