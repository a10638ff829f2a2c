// An engine that runs samples: built for the device that is here from a file as it stands, strongly typed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engines/hosts/engine_host.h"
#include "engines/hosts/find_engine.h"
#include "model/model.h"
#include "vernier/engine.h"
#include "vernier/note.h"
#include "vernier/report/engine.h"
#include "vernier/report/figures.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier {

/// Whether NVIDIA's driver is on this machine, without which no engine of TensorRT runs: known without a process.
bool has_nvidia_driver();

/// `options` for the engine that `on` means, which is not ONNX Runtime. Errors: Usage: they choose another one.
EngineRunOptions options_for(MeasureOn on, const EngineRunOptions& options);

class EngineRunner {
 public:
  /// The first engine of `options.engine` that has a device to run on; null, with what was tried, where there is none.
  /// Errors: Interrupted.
  static std::unique_ptr<EngineRunner> find(const EngineRunOptions& options, const JobSinks& sinks,
                                            EngineFailures& failures);
  /// The same, where there must be one. Errors: Backend, with what was tried.
  static std::unique_ptr<EngineRunner> require(const EngineRunOptions& options, const JobSinks& sinks);

  /// More that the engine is told when it is built.
  void tell(const EngineSettings& settings);

  /// Builds an engine of `file` (as read_typed_file() gives it), for the shapes of `samples` where the options name
  /// none, in place of one that was built before. What became of each layer is the report.
  /// Errors: Backend: it refuses the file, in its own words, or what it was told; Input: the samples; Interrupted.
  EngineReport open(const Model& file, const SampleSource& samples);

  /// The same of an engine file that was built before. `ports` becomes a model without nodes that has the engine's
  /// inputs and outputs. Errors: Backend: it cannot be loaded here; Interrupted.
  EngineReport open_built(const std::filesystem::path& engine, Model& ports);

  /// Outputs in the order of the file's; `seconds` of the inference alone. One at a time. Errors: Backend, in the
  /// engine's words; Interrupted.
  std::vector<NamedTensor> run(const Sample& sample, double& seconds);

  /// As EngineHost, of the file that is open.
  EngineTimes time(const TimeRequest& request) { return host_->time(request); }
  std::vector<EngineKernelTime> kernel_times(std::size_t runs) { return host_->profile(runs); }
  bool starts_anew() const { return host_->starts_anew(); }

  const EngineAbout& about() const { return about_; }
  /// "TensorRT-RTX 1.6.1.120 on NVIDIA H200"
  std::string text() const;

 private:
  EngineRunner(const EngineRunOptions& options, const JobSinks& sinks, std::unique_ptr<EngineHost> host);

  EngineRunOptions options_;
  JobSinks sinks_;
  std::unique_ptr<EngineHost> host_;
  EngineAbout about_;
  std::vector<std::string> outputs_;  // of the file that is open
};

/// What an engine computes in another format than `report.layers` ask.
std::vector<EngineFigures::OtherFormat> other_formats(const EngineReport& report);
/// The same in a sentence; empty when nothing.
std::string other_formats_text(const EngineReport& report);
/// A note for each of them. `engine`: its name, with its version.
std::vector<Note> other_format_notes(const std::string& engine, const std::vector<EngineFigures::OtherFormat>& changed);

}  // namespace vernier
