// The subcommands around reports and tasks, one file each, as in commands.h.
#pragma once

#include <string>

#include "commands/commands.h"
#include "options/syntax.h"

namespace vernier::cli {

Command add_report(CLI::App& root);
Command add_bundle(CLI::App& root);
Command add_eval(CLI::App& root, const std::string& command);
Command add_pipeline(CLI::App& root, const std::string& command);
Command add_check_data(CLI::App& root);

}  // namespace vernier::cli
