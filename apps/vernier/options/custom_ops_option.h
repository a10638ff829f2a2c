// --custom-ops, of the commands that load a model into ONNX Runtime.
#pragma once

#include <string>
#include <vector>

#include "options/syntax.h"

namespace vernier::cli {

void add_custom_ops_option(CLI::App& app, std::vector<std::string>& libraries, const char* group);

}  // namespace vernier::cli
