// Which engine compiles, of the commands that ask one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "options/syntax.h"
#include "vernier/engine.h"

namespace vernier::cli {

struct EngineGroup {
  bool compile = false;
  std::string engine = "any", capability, python, timeout;
  std::vector<std::string> shapes;

  /// --engine, --compute-capability and --shapes. `with_flag`: --compile, without which the others mean nothing; Python
  /// and time are then those of the command's other groups.
  void add(CLI::App& app, bool with_flag);
  /// Errors: Usage: a value, or an option without --compile where that is needed.
  CompileOptions values() const;
  std::optional<CompileOptions> values_if_asked(const std::string& python_of_scripts) const;
};

}  // namespace vernier::cli
