#include "jobs/diagnose/outside_check.h"

#include <fmt/format.h>

#include <filesystem>

#include "json/json.h"

namespace vernier {
namespace {

CheckIdentity identity_of(const DiagnoseOptions& options, const DiagnoseReport& report, const std::string& objective) {
  return {"debug precision", options.model.name(), report.model_sha256, fmt::format("scheme={}", report.scheme),
          objective};
}

}  // namespace

OutsideCheck::OutsideCheck(const DiagnoseOptions& options, const DiagnoseReport& report, const std::string& objective,
                           TypedResult& typed, const JobSinks& sinks)
    : loop_(*options.search.check, identity_of(options, report, objective), sinks, options.search.check_sinks),
      typed_(typed) {}

Trial OutsideCheck::judge(const std::vector<std::string>& kept) {
  const Json state = Json::Object{{"kept", Json::Array(kept.begin(), kept.end())}};
  const CheckLoop::Result result =
      loop_.check(state, "", [&](const std::filesystem::path& path) { typed_.write_trial(kept, path); });
  Trial trial;
  trial.verdict = result.verdict;
  trial.why = result.why;
  return trial;
}

}  // namespace vernier
