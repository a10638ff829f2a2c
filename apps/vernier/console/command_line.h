// From argv to a chosen subcommand, and from a parse error to a message that the user can act on. CLI11's own parse
// codes and texts stay in here.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "options/gate_group.h"
#include "options/options.h"
#include "options/peer_options.h"

namespace vernier::cli {

class Console;

/// One subcommand: where its options go, and what to do once they are parsed. Returns the exit code.
struct Command {
  CLI::App* app = nullptr;
  const MessageGroup* messages = nullptr;
  std::function<int(Console&)> run;
  IgnoredOptions ignored = nullptr;
  bool spreads = false;             // over the ranks of a job: what does not is done by the first one
  const GateGroup* gate = nullptr;  // told of failures, too
};

/// The line that goes on record in reports: `arguments` behind "vernier", quoted for a shell where needed.
std::string command_text(const std::vector<std::string>& arguments);

/// `typed` (command_text) with every option that was not given and has a default behind it.
std::string resolved_command(const CLI::App& app, const std::string& typed);

/// Peers' underscore forms become ours ("--high_precision_dtype=x" -> "--high-precision-dtype=x"; values, and all that
/// follows "--", stay). A value "[a,b]" of --val-range becomes ":[a,b]", since CLI11 would take it apart. What follows
/// --check becomes its one value (check_options.h).
std::vector<std::string> normalize_arguments(std::vector<std::string> arguments);

/// "vernier debug accuracy".
std::string full_name(const CLI::App& app);

/// Why `app` refuses `option`, as refusal_of().
std::optional<Refusal> refusal_by(const CLI::App& app, const std::string& option);

/// The innermost subcommand that was named.
const CLI::App& chosen_app(const CLI::App& root);

/// Errors: Usage for everything that is wrong with `arguments`; with the nearest valid name where one is unknown, and
/// the reason where an option is known and refused. CLI::CallForHelp and CLI::CallForVersion pass through.
void parse_arguments(CLI::App& root, std::vector<std::string> arguments);

}  // namespace vernier::cli
