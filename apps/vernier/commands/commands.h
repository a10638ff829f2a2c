// The subcommands, one file each: a file parses, calls one function of vernier/jobs.h, prints.
#pragma once

#include <string>
#include <vector>

#include "console/command_line.h"
#include "options/syntax.h"

namespace vernier::cli {

/// `command`: the whole line as typed, for the record.
Command add_diagnose(CLI::App& root, const std::string& command);
Command add_fix(CLI::App& root, const std::string& command);
Command add_verify(CLI::App& root, const std::string& command);
Command add_calibrate(CLI::App& root, const std::string& command);
Command add_convert(CLI::App& root);
Command add_quantize(CLI::App& root);
Command add_run(CLI::App& root, const std::string& command);
Command add_bench(CLI::App& root, const std::string& command);
Command add_inspect(CLI::App& root);
Command add_inspect_data(CLI::App& root);
Command add_inspect_plan(CLI::App& root);
Command add_data_diff(CLI::App& root, const std::string& command);
Command add_data_merge(CLI::App& root);
Command add_data_to_input(CLI::App& root);
Command add_data_concat(CLI::App& root);
Command add_debug_accuracy(CLI::App& root, const std::string& command);
Command add_debug_precision(CLI::App& root, const std::string& command);
/// The older form, one command a mode.
std::vector<Command> add_precision(CLI::App& root, const std::string& command);
Command add_debug_loss(CLI::App& root, const std::string& command);
Command add_debug_reduce(CLI::App& root, const std::string& command);
Command add_debug_repeat(CLI::App& root);
Command add_debug_build(CLI::App& root);
Command add_debug_diff_tactics(CLI::App& root);
Command add_inspect_tactics(CLI::App& root);
Command add_inspect_diff_tactics(CLI::App& root);
Command add_inspect_sparsity(CLI::App& root);
Command add_inspect_capability(CLI::App& root);
Command add_inspect_engine(CLI::App& root);
std::vector<Command> add_templates(CLI::App& root);
Command add_surgeon_extract(CLI::App& root);
Command add_surgeon_sanitize(CLI::App& root);
Command add_surgeon_insert(CLI::App& root);
Command add_surgeon_prune(CLI::App& root);
Command add_surgeon_weight_strip(CLI::App& root);
Command add_surgeon_weight_reconstruct(CLI::App& root);
Command add_plugin_match(CLI::App& root);
Command add_plugin_list(CLI::App& root);
Command add_plugin_replace(CLI::App& root);
Command add_check_lint(CLI::App& root);
std::vector<Command> add_help_topics(CLI::App& root);
Command add_check(CLI::App& root);
Command add_check_placement(CLI::App& root);
Command add_doctor(CLI::App& root);
Command add_completion(CLI::App& root);

/// -h, -v, -q and --log-file: last in every help.
void add_message_options(CLI::App& app, MessageGroup& messages);

/// `text` to stdout, ended by a line end, and to the log file unless programs read it. Errors: Input when it does not
/// arrive (a full disk behind a redirection).
void print_result(Console& console, const std::string& text);

}  // namespace vernier::cli
