// Options that users bring from Polygraphy, trtexec and ModelOpt and that the subcommands here do not have themselves
// (docs/contract.md, 8): each is either accepted, and said to have no effect, or refused with the reason and the
// replacement.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "options/syntax.h"

namespace vernier::cli {

/// What was given and did nothing, in words: warnings for after parsing.
using IgnoredOptions = std::shared_ptr<std::vector<std::string>>;

/// Adds, hidden from the help, the options that only tell a peer how to build or run: they cannot change a figure here.
/// They are added when `app` is the command that is parsed.
IgnoredOptions add_ignored_options(CLI::App& app);

struct Refusal {
  std::string_view reason;
  std::string_view instead;
};

/// Whether a command takes the option of that name.
using TakesOption = std::function<bool(const std::string&)>;

/// Why `command` ("run", "inspect model") does not take the option `name` ("--trt-outputs", any spelling that the peers
/// use), and what to use; nullopt when no peer has it, or what is said of it would not be true of this command.
std::optional<Refusal> refusal_of(std::string_view name, const std::string& command, const TakesOption& takes);

}  // namespace vernier::cli
