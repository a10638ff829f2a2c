// `vernier pipeline`: a network on its way from the framework to the engine, stage by stage: where is accuracy lost?
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vernier/eval.h"
#include "vernier/jobs.h"

namespace vernier {

/// One form of the network: saved outputs (.npz, results JSON), or an ONNX file, float or typed.
struct Stage {
  std::string name;
  std::filesystem::path file;
};

struct PipelineOptions {
  std::vector<Stage> stages;  // two or more, the most trusted first
  MeasureOptions measure;   // samples for stages that are models; `outputs`: those compared (empty: all of the models)
  double min_sqnr_db = 30;  // of a stage against the one before: below it accuracy is lost there
  std::optional<EvalOptions> task;  // labels and all: figures of the task at every stage
  std::filesystem::path output;     // a folder for report.json and report.html; empty: none
  std::string command;
  std::string data_words;  // the options that say what the samples are, as typed: proposed commands repeat them
};

struct StageReport {
  std::string name, file;
  std::string kind;                // "saved outputs", "float32", "float16", "int8", "int8 and float16" ...
  std::optional<double> step_db;   // worst output against the stage before
  std::optional<double> total_db;  // worst output against the first stage
  std::optional<double> max_abs;   // against the first stage
  std::string worst_output;        // against the stage before
  std::vector<TaskFigure> figures;
  std::vector<std::string> not_compared;
};

struct PipelineReport {
  int version = 1;
  std::string command;
  std::string vernier_version, onnxruntime_version, onnx_version;
  std::string machine;
  std::string data;
  std::size_t samples = 0;
  double min_sqnr_db = 30;
  std::optional<std::string> lost_at;  // the first stage whose step is below the limit, by its name
  std::string answer;                  // one sentence
  std::optional<double> seconds;       // absent in reports of earlier versions
  std::vector<StageReport> stages;
  std::vector<std::string> next;  // commands
  std::vector<std::string> warnings;
  std::map<std::string, std::string> files;  // "report", "page" -> path
};

/// Every stage is compared with the one before and with the first, output by output of the same name. Models are
/// simulated as their files say. Memory: one sample a thread.
/// Errors: Usage below two stages, when two have one name, and when the report would replace a file that is read; Input
/// when numbers of samples differ or no output has the same name; a TensorRT engine is refused with what to save
/// instead.
VERNIER_API PipelineReport pipeline(const PipelineOptions& options, const JobSinks& sinks = {});

/// The stages of a YAML file, of which JSON is a part: {"stages": [{"name": "float", "file": "model.onnx"}, ...]};
/// relative paths are seen from its folder. Errors: Input, naming the line.
VERNIER_API std::vector<Stage> read_stages(const std::filesystem::path& file);

VERNIER_API std::string report_to_text(const PipelineReport& report, const TextOptions& options);
VERNIER_API std::string report_to_json(const PipelineReport& report);
VERNIER_API PipelineReport pipeline_report_from_json(const std::string& text, const std::string& where);
/// One HTML file, as that of a diagnosis (report_page.h): the stages as table and chart, where accuracy is lost, and
/// how to make it again.
VERNIER_API std::string report_to_html(const PipelineReport& report);

}  // namespace vernier
