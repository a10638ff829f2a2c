// The command line as a whole: parse, choose a subcommand, run it.
#pragma once

#include <string>
#include <vector>

#include "console/command_line.h"

namespace vernier::cli {

class Console;

/// Declares all commands. `command`: the whole line as typed, for the record.
/// They own what options are read into, and must live as long as `root`.
[[nodiscard]] std::vector<Command> add_commands(CLI::App& root, const std::string& command);

/// `arguments`: behind the program's name. Returns the exit code (docs/contract.md, 7). Errors: those of the command;
/// Interrupted when a signal ended it early.
int run_program(const std::vector<std::string>& arguments, Console& console);

}  // namespace vernier::cli
