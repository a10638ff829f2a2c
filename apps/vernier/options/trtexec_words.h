// Words of trtexec's lines that a command which times has no option for, hidden from its help: accepted and said to
// have no effect, or refused with the reason and the replacement (docs/contract.md, 8).
#pragma once

#include "options/peer_options.h"
#include "options/syntax.h"

namespace vernier::cli {

/// To be added before what all commands ignore (add_ignored_options), whose reasons are those of commands that measure
/// values. `ignored` gets what was given and did nothing.
void add_words_of_trtexec(CLI::App& app, const IgnoredOptions& ignored);

}  // namespace vernier::cli
