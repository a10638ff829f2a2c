// Which engine compiles, of the commands that ask one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "options/rows.h"
#include "options/syntax.h"
#include "vernier/engine.h"
#include "vernier/samples.h"

namespace vernier::cli {

struct EngineGroup {
  bool compile = false;
  Texts texts;
  std::vector<std::string> plugins;

  bool confirms() const { return texts.given("--confirm-on"); }

  /// Of a command that compiles.
  void add(CLI::App& app);
  /// Of a command that may: --compile, without which the others mean nothing. Python and time are those of its scripts,
  /// or its own where it runs none.
  void add_behind_compile(CLI::App& app);
  void add_with_compile(CLI::App& app);
  /// Of a command that searches, behind that: --confirm-on and what belongs to it.
  void add_confirm_on(CLI::App& app);

  /// Errors of both: Usage: a value, or an option without --compile where that is needed.
  CompileOptions values() const;
  std::optional<CompileOptions> values_if_asked() const;
  std::optional<CompileOptions> values_if_asked(const SourceOptions& scripts) const;
  std::optional<MeasureOn> confirms_on() const;
  EngineRunOptions run_values(const SourceOptions& scripts) const;
  /// Options that were given and do nothing, in words. `engine_file`: an engine is written without --compile, too.
  std::vector<std::string> without_effect(bool engine_file = false) const;

 private:
  void add_flag_to_compile(CLI::App& app, const char* what);
  void add_choice(CLI::App& app);
};

}  // namespace vernier::cli
