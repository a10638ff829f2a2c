// The words that options take, for shells that complete them.
#pragma once

#include <string>
#include <vector>

namespace vernier::cli {

/// Of the option `name` ("--target") of the command `command` ("vernier debug reduce"), in their usual order; empty
/// where anything may stand there.
std::vector<std::string> words_of_option(const std::string& command, const std::string& name);

}  // namespace vernier::cli
