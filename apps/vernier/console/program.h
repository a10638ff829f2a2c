// The command line as a whole: parse, choose a subcommand, run it.
#pragma once

#include <string>
#include <vector>

namespace vernier::cli {

class Console;

/// `arguments`: behind the program's name. Returns the exit code (docs/contract.md, 7). Errors: those of the command;
/// Interrupted when a signal ended it early.
int run_program(const std::vector<std::string>& arguments, Console& console);

}  // namespace vernier::cli
