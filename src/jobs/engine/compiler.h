// What an engine's own compiler makes of typed files.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "model/model.h"
#include "vernier/engine.h"
#include "vernier/note.h"
#include "vernier/report/engine.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"
#include "vernier/target.h"
#include "vernier/tensor.h"

namespace vernier {

class EngineHost;
struct CompiledEngine;

/// Which stage refuses a file, at which node of it, in the engine's words.
std::string refusal_text(const Model& file, const CompiledEngine& compiled);

/// Where an engine gives an output another shape than the file says, in words; else empty. It read a node otherwise.
std::string misread_text(const Model& file, const CompiledEngine& compiled);

/// Where inputs give one name to dimensions that `shapes` makes different, which TensorRT refuses; else
/// nothing.
std::optional<Note> shared_names_note(const Model& file, const std::map<std::string, ShapeRange>& shapes);
/// The same with the shapes of a sample.
std::optional<Note> shared_names_note(const Model& file, const Sample& sample);
/// Where no sizes are known: an input that has one name at two of its dimensions; else nothing.
/// Names that inputs share at the same place, as a batch, are usual.
std::optional<Note> shared_names_note(const Model& file);

/// The options, for files that are made for `target`: "any" engine is one of that target's.
/// Errors: Usage, where no engine that compiles is one of it.
CompileOptions for_target(const CompileOptions& options, Target target);

/// Whether the file has layers in fewer bits than float16, and was compiled.
bool compiled_below_float16(const EngineReport& report);

class Compiler {
 public:
  /// Finds the engine, so that what is not there is told before anything is measured.
  /// Errors: Backend: no engine is there that compiles for what is wanted; Interrupted.
  Compiler(const CompileOptions& options, const JobSinks& sinks);
  ~Compiler();
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  /// That the engine refuses the file is a value. `save`: where the engine goes; empty: nowhere. Errors: Input: the
  /// file; Usage: a shape of no input; Backend: the engine crashed or took too long, or writes no engines; Interrupted.
  EngineReport compile(const std::filesystem::path& path, const std::filesystem::path& save = {});
  /// The same of a file as read_typed_file() gives it; open dimensions that were not named are as in `like`. That the
  /// engine crashes or takes too long is a value, too: `refused` says it.
  EngineReport try_compile(const Model& file, const Sample& like);

  /// A built engine's own list of its kernels. Errors: Backend.
  EngineReport describe(const std::filesystem::path& engine);

 private:
  /// `otherwise`: shapes of inputs that were not named.
  EngineReport compile(const Model& file, const std::map<std::string, Shape>& otherwise,
                       const std::filesystem::path& save);

  CompileOptions options_;
  JobSinks sinks_;
  std::string capability_;  // empty: the device that is here
  std::unique_ptr<EngineHost> host_;
};

}  // namespace vernier
