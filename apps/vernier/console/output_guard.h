// No command destroys what it reads, whatever options say so.
#pragma once

namespace CLI {
class App;
}

namespace vernier::cli {

/// Looks at the options and arguments of a parsed command before anything is opened. Those declared with writes() may
/// name no existing file that another one names, under whatever name or link, and no two of them the same file.
/// Errors: Usage, naming both; Usage for "-", which users of other tools write for standard output.
void keep_inputs_safe(const CLI::App& app);

}  // namespace vernier::cli
