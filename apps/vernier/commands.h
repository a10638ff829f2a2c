// The subcommands, one file each: a file parses, calls one function of vernier/jobs.h, prints.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "command_line.h"

namespace vernier::cli {

/// `command`: the whole line as typed, for the record.
Command add_diagnose(CLI::App& root, const std::string& command);
Command add_run(CLI::App& root, const std::string& command);
Command add_verify(CLI::App& root, const std::string& command);
Command add_convert(CLI::App& root);
Command add_inspect(CLI::App& root);
Command add_check(CLI::App& root);
Command add_doctor(CLI::App& root);
Command add_completion(CLI::App& root);

/// Subcommands of `data` and of `debug`.
Command add_data_diff(CLI::App& data, const std::string& command);
Command add_debug_accuracy(CLI::App& debug, const std::string& command);

/// -h, -v, -q and --log-file: last in every help.
void add_message_options(CLI::App& app, MessageGroup& messages);

/// `text` to stdout, ended by a line end. Errors: Input when it does not arrive (a full disk behind a redirection).
void print_result(Console& console, const std::string& text);

}  // namespace vernier::cli
