// Trials judged by a number that a function of the user's computes of all outputs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/scratch_folder.h"
#include "base/text.h"
#include "jobs/search/objective.h"
#include "json/json.h"
#include "scripts/programs.h"
#include "scripts/script_session.h"
#include "vernier/error.h"
#include "vernier/runs.h"
#include "vernier/samples.h"
#include "vernier/search_options.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

ScriptLocation location_of(const MetricScript& wanted) {
  if (const auto location = script_location(wanted.script, "metric")) return *location;
  throw Error(ErrorKind::Usage, fmt::format("--metric-script: '{}' names no Python file", printable(wanted.script)),
              "score.py (its function is metric), or score.py:function");
}

void save(const std::filesystem::path& path, const std::vector<std::string>& outputs,
          const std::map<std::size_t, std::vector<Tensor>>& samples) {
  RunWriter writer(path, {"outputs"});
  for (const auto& [sample, tensors] : samples) {
    Iteration iteration;
    for (std::size_t i = 0; i < tensors.size(); ++i) iteration.outputs.push_back({outputs[i], tensors[i]});
    writer.add(0, iteration);
  }
  writer.finish();
}

class MetricTally : public Tally {
 public:
  MetricTally(const MetricScript& wanted, ScriptSession& script, const std::vector<std::string>& outputs)
      : wanted_(wanted), script_(script), outputs_(outputs) {}

  bool add(std::size_t sample, const std::vector<Tensor>& ref, const std::vector<Tensor>& got) override {
    ref_[sample] = ref;  // in the order of the samples, whichever ran first
    got_[sample] = got;
    return true;
  }

  Trial trial() const override {
    const ScratchFolder folder;
    save(folder / "outputs.npz", outputs_, got_);
    Json files = Json::Object{{"outputs", (folder / "outputs.npz").string()}};
    if (std::ranges::none_of(ref_, [](const auto& sample) { return sample.second.empty(); })) {
      save(folder / "references.npz", outputs_, ref_);
      files.add("references", (folder / "references.npz").string());
    }
    Trial trial;
    const Json said = script_.call("", files);
    trial.metric = said.at("value").number();
    const bool low = wanted_.min && trial.metric < *wanted_.min;
    const bool high = wanted_.max && trial.metric > *wanted_.max;
    trial.verdict = low || high || std::isnan(trial.metric) ? Verdict::Bad : Verdict::Good;
    trial.why = fmt::format("{} {:.6g}", wanted_.min ? "--min" : "--max", trial.metric);
    return trial;
  }

 private:
  const MetricScript& wanted_;
  ScriptSession& script_;
  const std::vector<std::string>& outputs_;
  std::map<std::size_t, std::vector<Tensor>> ref_, got_;
};

class MetricObjective : public Objective {
 public:
  MetricObjective(const MetricScript& wanted, const SourceOptions& how)
      : wanted_(wanted),
        script_(location_of(wanted)),
        session_(std::make_unique<ScriptSession>(
            script_, SessionProgram{metric_program(), {}, "metric scripts", "a value"}, how)) {}

  std::string text() const override {
    std::string text = "--metric-script " + printable(wanted_.script);
    if (wanted_.min) text += fmt::format(" --min {}", *wanted_.min);
    if (wanted_.max) text += fmt::format(" --max {}", *wanted_.max);
    return text;
  }

  std::string fingerprint() const override {
    const std::string text = read_text(script_.file);
    Sha256 hash;
    hash.update(std::as_bytes(std::span(text)));
    return hash.hex();
  }

  std::unique_ptr<Tally> begin(const std::vector<std::string>& outputs) const override {
    return std::make_unique<MetricTally>(wanted_, *session_, outputs);
  }

 private:
  const MetricScript& wanted_;
  ScriptLocation script_;
  std::unique_ptr<ScriptSession> session_;  // one Python for all trials
};

}  // namespace

std::unique_ptr<Objective> metric_objective(const MetricScript& wanted, const SourceOptions& how) {
  return std::make_unique<MetricObjective>(wanted, how);
}

}  // namespace vernier
