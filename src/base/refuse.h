// Input that cannot be used: one way to say so, from every reader.
#pragma once

#include <filesystem>
#include <string>

#include "vernier/error.h"

namespace vernier {

/// Throws Error{Input}: "WHERE: WHY". `where` is safe to print.
[[noreturn]] void refuse(const std::string& where, const std::string& why, std::string hint = {});
/// The same of a file.
[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why, std::string hint = {});

/// `error`, said of `place`: "PLACE: ...". An interrupt is about no place, and stays as it is.
Error placed(const std::string& place, const Error& error);

}  // namespace vernier
