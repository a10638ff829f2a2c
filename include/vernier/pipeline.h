// `vernier pipeline`: a network on its way from the framework to the engine, stage by stage: where is accuracy lost?
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "vernier/engine.h"
#include "vernier/eval.h"
#include "vernier/export.h"
#include "vernier/measure.h"
#include "vernier/report/pipeline.h"
#include "vernier/sinks.h"

namespace vernier {

/// One form of the network: saved outputs (.npz, results JSON), an ONNX file, float or typed, or a built engine.
struct Stage {
  std::string name;
  std::filesystem::path file;
  std::optional<MeasureOn> on{};  // the engine that runs it; absent: simulated
};

struct PipelineOptions {
  std::vector<Stage> stages;  // two or more, the most trusted first
  MeasureOptions measure;   // samples for stages that are models; `outputs`: those compared (empty: all of the models)
  EngineRunOptions engine;  // of stages that run on one
  double min_sqnr_db = 30;  // of a stage against the one before: below it accuracy is lost there
  std::optional<EvalOptions> task;  // labels and all: figures of the task at every stage
  std::filesystem::path output;     // a folder for report.json and report.html; empty: none
  std::string command;
  std::string data_words;  // the options that say what the samples are, as typed: proposed commands repeat them
};

/// Every stage is compared with the one before and with the first, output by output of the same name. Models are
/// simulated as their files say, or run on the engine of the stage. Memory: one sample a thread.
/// Errors: Usage below two stages, when two have one name, and when the report would replace a file that is read; Input
/// when numbers of samples differ or no output has the same name, and for a TensorRT engine without `on`; Backend: an
/// engine is not there, refuses the file or crashes.
VERNIER_API PipelineReport pipeline(const PipelineOptions& options, const JobSinks& sinks = {});

/// The stages of a YAML file, of which JSON is a part: {"stages": [{"name": "float", "file": "model.onnx"}, ...]};
/// relative paths are seen from its folder. Errors: Input, naming the line.
VERNIER_API std::vector<Stage> read_stages(const std::filesystem::path& file);

}  // namespace vernier
