#include "options/custom_ops_option.h"

namespace vernier::cli {

void add_custom_ops_option(CLI::App& app, std::vector<std::string>& libraries, const char* group) {
  add_values(
      app, "--custom-ops,--custom-op-library", libraries, "LIB.so",
      "Shared libraries of custom operators for ONNX Runtime, which are loaded into this process (default: none)")
      .group(group);
}

}  // namespace vernier::cli
