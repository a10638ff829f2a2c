// `-o /dev/stdout`: the file is all that standard output gets.
#pragma once

#include <string>
#include <vector>

namespace vernier::cli {

/// Where an argument names standard output as a file (/dev/stdout, /dev/fd/1, /proc/self/fd/1, also behind
/// "--option="), it becomes a descriptor of its own in what is returned, and what the command prints goes to standard
/// error from then on: text in the middle of a model would break it.
std::vector<std::string> keep_stdout_for_files(std::vector<std::string> arguments);

}  // namespace vernier::cli
