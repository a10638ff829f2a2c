// `vernier inspect engine`: a file compiled now, an engine that was built before, or layer information of other tools.

#include "vernier/inspect_engine.h"

#include <fmt/format.h>

#include <cstddef>

#include "base/file.h"
#include "engines/hosts/kernels.h"
#include "jobs/common/typed_file.h"
#include "jobs/engine/compiler.h"
#include "jobs/engine/engine_layers.h"
#include "model/model.h"
#include "model/raw_proto.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/report/note_text.h"

namespace vernier {
namespace {

constexpr std::size_t kMostInformation = std::size_t{1} << 30U;

EngineReport compiled_now(const InspectEngineOptions& options, const JobSinks& sinks) {
  if (!options.model.empty()) {
    throw Error(ErrorCode::WithoutEffect,
                "‹model›: names the model behind an engine or layer information, and the file is one");
  }
  EngineReport report = Compiler(options.compile, sinks).compile(options.file);
  if (report.refused.empty()) return report;
  throw Error(
      ErrorCode::EngineFails,
      fmt::format("{}: {} {}: {}", options.file.string(), report.engine.name, report.engine.version, report.refused),
      report.notes.empty() ? "" : note_text(report.notes.front()));  // on open dimensions, which are a likely reason
}

}  // namespace

EngineReport inspect_engine(const InspectEngineOptions& options, const JobSinks& sinks) {
  const bool built = is_built_engine(options.file);
  if (options.file.extension() != ".json" && !built) return compiled_now(options, sinks);
  EngineReport report;
  if (built) {
    report = Compiler(options.compile, sinks).describe(options.file);
  } else {
    report.file = options.file.string();
    report.kernels = kernels_from_json(read_text(options.file, kMostInformation), options.file.string());
  }
  if (options.model.empty()) {
    find_helpers(report);
  } else {
    const Model model = read_typed_file(options.model);
    report.sha256 = model.sha256;
    match_kernels(model, report);
  }
  return report;
}

}  // namespace vernier
