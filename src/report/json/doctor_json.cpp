// `vernier doctor` and `vernier bundle` as JSON.
#include <string>
#include <utility>

#include "report/json/document.h"
#include "vernier/bundle.h"
#include "vernier/marks.h"
#include "vernier/report/doctor.h"
#include "vernier/report/note_text.h"

namespace vernier {

std::string report_to_json(const DoctorReport& report) {
  Json attempts = Json::array();
  for (const auto& [place, outcome] : report.attempts) {
    attempts.add(Json::Object{{"place", place}, {"outcome", outcome}});
  }
  Json engines = Json::array();
  for (const DoctorReport::Engine& engine : report.engines) {
    Json one = Json::Object{{"name", engine.about.name}, {"there", engine.missing.empty()}};
    if (!engine.missing.empty()) {
      one["why_not"] = command_words(engine.missing);
    } else {
      one["version"] = engine.about.version;
      one["compiles"] = engine.about.compiles;
      one["runs"] = engine.about.runs;
      Json devices = Json::array();
      for (const EngineAbout::Device& device : engine.about.devices) devices.add(device.name);
      one["devices"] = std::move(devices);
    }
    engines.add(std::move(one));
  }
  Json json = Json::Object{{"version", 1},
                           {"vernier", report.vernier_version},
                           {"onnx", report.onnx_version},
                           {"machine", report.machine},
                           {"simd", Json::Array(report.simd.begin(), report.simd.end())},
                           {"healthy", report.healthy()}};
  if (report.onnxruntime_version) json["onnxruntime"] = *report.onnxruntime_version;
  if (!report.healthy()) {
    json["problem"] = command_words(report.problem);
    json["hint"] = command_words(report.hint);
  }
  json["attempts"] = std::move(attempts);
  Json parts = Json::array();
  for (const auto& [part, finding] : report.gpu.parts) {
    parts.add(Json::Object{{"part", part}, {"finding", finding}});
  }
  json["cuda"] = Json::Object{{"complete", report.gpu.complete}, {"parts", std::move(parts)}};
  if (!report.gpu.hint.empty()) json["cuda"]["hint"] = report.gpu.hint;
  json["engines"] = std::move(engines);
  return document_text(ReportKind::Doctor, std::move(json));
}

std::string result_to_json(const BundleResult& result) {
  return document_text(ReportKind::Bundle,
                       Json::Object{{"version", 1},
                                    {"output", result.output.string()},
                                    {"layer", result.layer},
                                    {"files", Json::Array(result.files.begin(), result.files.end())},
                                    {"command", result.command},
                                    {"warnings", in_command_words(json_of(note_texts(result.warnings)))}});
}

}  // namespace vernier
