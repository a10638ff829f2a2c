// The program as one rank of a job that mpirun started, or alone (src/distributed).
#pragma once

#include <functional>

namespace vernier::cli {

class Console;

/// Runs `body` and gives the process's exit code. Among several ranks the first one prints, writes files and gives the
/// exit code; the failure of another is printed there, with its number.
int run_in_job(Console& console, const std::function<int()>& body);

}  // namespace vernier::cli
