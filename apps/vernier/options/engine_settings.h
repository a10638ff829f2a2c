// What engines that run samples are told beside the model, by the names that Polygraphy and trtexec have for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "options/rows.h"
#include "options/syntax.h"
#include "vernier/engine.h"
#include "vernier/samples.h"

namespace vernier::cli {

class EngineSettingsGroup {
 public:
  void add(CLI::App& app);
  /// The same in trtexec's words, where they differ, hidden from the help: --minShapes, --memPoolSize ...
  void add_words_of_trtexec(CLI::App& app);
  /// --workspace of their older versions, hidden: a number alone counts `unit`, "" for bytes or "M".
  void add_workspace(CLI::App& app, const std::string& unit);
  /// Errors: Usage: a value.
  EngineRunOptions values() const;

 private:
  EngineSettings settings_;
  std::string engine_ = "any", save_engine_;
  std::vector<std::string> plugins_, min_, opt_, max_;
};

/// --on ENGINE: of commands that measure in simulation, and on an engine if asked.
class MeasureOnGroup {
 public:
  void add(CLI::App& app);
  /// Of a command that compiles, too, behind that: --compile and what belongs to it.
  void add_compile(CLI::App& app);
  /// Of a command that says otherwise where it measures, in those words.
  void add_without_on(CLI::App& app, const std::string& on_tensorrt, const std::string& on_openvino);
  /// Errors of both: Usage: a value; an option that belongs to --on without it.
  std::optional<MeasureOn> on() const;
  /// Python and time are those of the scripts.
  EngineRunOptions values(const SourceOptions& scripts) const;
  /// The same. Errors: Usage: a value; an option that belongs to --compile without it.
  std::optional<CompileOptions> compile(const SourceOptions& scripts) const;
  bool compiles() const { return compile_; }
  /// Options that were given and do nothing, in words. `tensorrt`: something runs on TensorRT, by --on or otherwise.
  std::vector<std::string> without_effect(bool tensorrt) const;

 private:
  Texts texts_;
  std::string engine_ = "any", device_, precision_, capability_;
  std::vector<std::string> plugins_, shapes_;
  bool compile_ = false;
};

}  // namespace vernier::cli
