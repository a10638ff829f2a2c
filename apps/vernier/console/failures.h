// Exceptions to messages and exit codes (docs/contract.md, 7): the one place of the program that catches.
#pragma once

#include <functional>

namespace vernier::cli {

class Console;

/// Runs `body` and returns its exit code, or that of the exception it ended with, after printing it:
///   vernier::Error -> its kind · std::bad_alloc -> Backend · std::filesystem::filesystem_error -> Input ·
///   std::system_error (of a thread that cannot start) -> Backend ·
///   anything else -> Internal, with a request to report it.
int run_guarded(Console& console, const std::function<int()>& body);

}  // namespace vernier::cli
