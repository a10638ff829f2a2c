// At which stage of a pipeline accuracy is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/export.h"
#include "vernier/format.h"
#include "vernier/note.h"
#include "vernier/report/eval.h"
#include "vernier/report/text.h"
#include "vernier/words.h"

namespace vernier {

enum class StageKind {
  SavedOutputs,
  SavedRows,  // one array, of which each row is a sample
  Model,
  Engine,  // a built one
};
/// "saved-outputs", "saved-rows", "model", "engine".
VERNIER_API std::span<const std::string_view> words_of(StageKind which);

struct StageReport {
  std::string name, file;
  StageKind kind = StageKind::SavedOutputs;
  std::vector<Format> formats;  // of a model, beside float32
  bool is_float32_model() const { return kind == StageKind::Model && formats.empty(); }
  bool is_saved() const { return kind == StageKind::SavedOutputs || kind == StageKind::SavedRows; }
  std::optional<double> step_db;   // worst output against the stage before
  std::optional<double> total_db;  // worst output against the first stage
  std::optional<double> max_abs;   // against the first stage
  std::string worst_output;        // against the stage before
  std::vector<TaskFigure> figures;
  std::vector<std::string> not_compared;
  std::optional<std::string> on{};      // "tensorrt": the engine that ran it, as --on names it
  std::optional<std::string> engine{};  // its name, version and device
  std::int64_t not_finite_before = 0;   // values of the stage before that are not finite, and others here
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
  std::vector<Note> warnings;
  std::map<std::string, std::string> files;  // "report", "page" -> path
};

/// "saved outputs", "float32", "int8 and float16", "engine".
VERNIER_API std::string stage_text(const StageReport& stage);
VERNIER_API std::string report_to_text(const PipelineReport& report, const TextOptions& options);
VERNIER_API std::string report_to_json(const PipelineReport& report);
VERNIER_API PipelineReport pipeline_report_from_json(const std::string& text, const std::string& where);
/// One HTML file, as that of a diagnosis (report_page.h): the stages as table and chart, where accuracy is lost, and
/// how to make it again.
VERNIER_API std::string report_to_html(const PipelineReport& report);

}  // namespace vernier
