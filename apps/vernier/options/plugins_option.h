// --plugins, of the commands that can ask TensorRT.
#pragma once

#include <string>
#include <vector>

#include "options/syntax.h"

namespace vernier::cli {

void add_plugins_option(CLI::App& app, std::vector<std::string>& plugins, const char* group);

/// The warning that they have no effect; none where there are none or they are `used`.
std::vector<std::string> plugins_without_effect(const std::vector<std::string>& plugins, bool used);

}  // namespace vernier::cli
