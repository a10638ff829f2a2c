// What the system may do to the process: closed streams, size limits, small stacks, files that become shorter.
#pragma once

#include <functional>

namespace vernier::cli {

/// Before anything is opened or any thread begins:
///   - Standard streams that are closed are taken, by something that refuses reads or writes. No file of ours gets
///     their numbers, and results that nobody would see are an error.
///   - A write beyond the limit for files fails as on a full disk (SIGXFSZ is ignored).
///   - A mapped file that becomes shorter ends the process with exit code 3 and a message that names it (SIGBUS).
///   - New threads have a stack of 8 MiB, whatever `ulimit -s` says.
void set_up_process();

/// Runs `body` here, or in a thread when this one has less than 8 MiB of stack.
int with_enough_stack(const std::function<int()>& body);

}  // namespace vernier::cli
