// Input that cannot be used: one way to say so, from every reader.
#pragma once

#include <filesystem>
#include <string>

namespace vernier {

/// Throws Error{Input}: "WHERE: WHY". `where` is safe to print.
[[noreturn]] void refuse(const std::string& where, const std::string& why, std::string hint = {});
/// The same of a file.
[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why, std::string hint = {});

}  // namespace vernier
