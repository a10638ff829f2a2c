// Input that cannot be used: one way to say so, from every reader.
#pragma once

#include <filesystem>
#include <string>

#include "vernier/error.h"

namespace vernier {

/// Throws Error{code}: "WHERE: WHY". `where` is safe to print.
[[noreturn]] void refuse(ErrorCode code, const std::string& where, const std::string& why, std::string hint = {});
/// The same of a file.
[[noreturn]] void refuse(ErrorCode code, const std::filesystem::path& path, const std::string& why,
                         std::string hint = {});

/// The same, because of errno: "WHERE: WHAT: the system's reason". What speaks of this process and not of the file is
/// of another kind: std::bad_alloc without memory (ENOMEM), Backend without descriptors (EMFILE, ENFILE).
[[noreturn]] void refuse_for_errno(const std::filesystem::path& path, const char* what, int error);

/// Of a file that cannot be opened for reading: FileMissing of ENOENT, otherwise FileUnreadable.
ErrorCode code_of_reading(int error);

/// True for EMFILE and ENFILE: this process, or the system, has too many files open.
bool lacks_descriptors(int error);

/// `error`, said of `place`: "PLACE: ...". An interrupt is about no place, and stays as it is.
Error placed(const std::string& place, const Error& error);

/// "node 'a': REASON" of an error that names its node, else the reason alone: for texts that name file and back end.
std::string reason_with_node(const Error& error);

}  // namespace vernier
