#include "options/plugins_option.h"

namespace vernier::cli {

void add_plugins_option(CLI::App& app, std::vector<std::string>& plugins, const char* group) {
  add_values(app, "--plugins", plugins, "LIB.so",
             "TensorRT: shared libraries of plugins, which its process loads first (default: none)")
      .group(group);
  for (const char* const name : {"--staticPlugins", "--dynamicPlugins"}) {  // trtexec's
    add_values(app, name, [&plugins](const std::vector<std::string>& values) {
      plugins.insert(plugins.end(), values.begin(), values.end());
    }).group("");
  }
}

std::vector<std::string> plugins_without_effect(const std::vector<std::string>& plugins, bool used) {
  if (plugins.empty() || used) return {};
  return {"--plugins has no effect: nothing runs on TensorRT"};
}

}  // namespace vernier::cli
