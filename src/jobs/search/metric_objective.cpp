// Trials judged by a number that a function of the user's computes of all outputs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/scratch_folder.h"
#include "base/text.h"
#include "jobs/search/objective.h"
#include "json/fields.h"
#include "json/json.h"
#include "scripts/programs.h"
#include "scripts/script_session.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/runs.h"
#include "vernier/samples.h"
#include "vernier/search_options.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

ScriptLocation location_of(const MetricScript& wanted) {
  if (const auto location = script_location(wanted.script, "metric")) return *location;
  throw Error(ErrorCode::NoPythonFile,
              fmt::format("‹metric-script›: '{}' names no Python file", printable(wanted.script)),
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

using Samples = std::map<std::size_t, std::vector<Tensor>>;  // in their order, whichever ran first

/// Collects the outputs of a trial for one call.
class MetricTally : public Tally {
 public:
  explicit MetricTally(std::function<Trial(const Samples& got, const Samples& ref)> judge) : judge_(std::move(judge)) {}

  bool add(std::size_t sample, const std::vector<Tensor>& ref, const std::vector<Tensor>& got) override {
    ref_[sample] = ref;
    got_[sample] = got;
    return true;
  }

  Trial trial() const override { return judge_(got_, ref_); }

 private:
  std::function<Trial(const Samples&, const Samples&)> judge_;
  Samples ref_, got_;
};

bool all_there(const Samples& samples) {
  return std::ranges::none_of(samples, [](const auto& sample) { return sample.second.empty(); });
}

/// The value held against the limits of a MetricScript or a MetricFunction.
template <class Wanted>
Trial judged(const Wanted& wanted, double value) {
  if (std::isnan(value)) throw Error(ErrorCode::Script, "the metric is NaN", "it must be one number");
  Trial trial;
  trial.metric = value;
  const bool low = wanted.min && value < *wanted.min;
  const bool high = wanted.max && value > *wanted.max;
  trial.verdict = low || high ? Verdict::Bad : Verdict::Good;
  trial.why = fmt::format("{} {:.6g}", wanted.min ? "‹min›" : "‹max›", value);
  return trial;
}

/// `before` and `behind`: what stands around the name of an option.
template <class Wanted>
std::string limits(const Wanted& wanted, const char* before, const char* behind) {
  std::string text;
  if (wanted.min) text += fmt::format(" {}min{} {}", before, behind, *wanted.min);
  if (wanted.max) text += fmt::format(" {}max{} {}", before, behind, *wanted.max);
  return text;
}

template <class Wanted>
std::string limits_key(const Wanted& wanted) {
  return limits(wanted, "--", "");
}

template <class Wanted>
std::string limits_text(const Wanted& wanted) {
  return limits(wanted, "‹", "›");
}

class ScriptObjective : public Objective {
 public:
  ScriptObjective(const MetricScript& wanted, const SourceOptions& how)
      : wanted_(wanted),
        script_(location_of(wanted)),
        session_(std::make_unique<ScriptSession>(
            script_, SessionProgram{metric_program(), {}, "metric scripts", "a value"}, how)) {}

  DecidedBy decided_by() const override { return DecidedBy::Script; }

  std::string key() const override { return "--metric-script " + printable(wanted_.script) + limits_key(wanted_); }

  std::string text() const override { return "‹metric-script› " + printable(wanted_.script) + limits_text(wanted_); }

  std::string fingerprint() const override { return sha256_of(read_text(script_.file)); }

  std::unique_ptr<Tally> begin(const std::vector<std::string>& outputs) const override {
    return std::make_unique<MetricTally>([this, outputs](const Samples& got, const Samples& ref) {
      const ScratchFolder folder;
      save(folder / "outputs.npz", outputs, got);
      Json files = Json::Object{{"outputs", (folder / "outputs.npz").string()}};
      if (all_there(ref)) {
        save(folder / "references.npz", outputs, ref);
        files.add("references", (folder / "references.npz").string());
      }
      double value = 0;
      const std::string& place = script_.file;
      read_json(session_->call("", files).at("value"), Place(place), value);
      return judged(wanted_, value);
    });
  }

 private:
  const MetricScript& wanted_;
  ScriptLocation script_;
  std::unique_ptr<ScriptSession> session_;  // one Python for all trials
};

class FunctionObjective : public Objective {
 public:
  explicit FunctionObjective(const MetricFunction& wanted) : wanted_(wanted) {}

  DecidedBy decided_by() const override { return DecidedBy::Script; }

  std::string key() const override { return printable(wanted_.name) + limits_key(wanted_); }

  std::string text() const override { return printable(wanted_.name) + limits_text(wanted_); }

  std::unique_ptr<Tally> begin(const std::vector<std::string>& outputs) const override {
    return std::make_unique<MetricTally>([this, outputs](const Samples& got, const Samples& ref) {
      return judged(wanted_, wanted_.function(by_name(outputs, got),
                                              all_there(ref) ? by_name(outputs, ref) : std::vector<Sample>()));
    });
  }

 private:
  static std::vector<Sample> by_name(const std::vector<std::string>& outputs, const Samples& samples) {
    std::vector<Sample> named;
    named.reserve(samples.size());
    for (const auto& [number, tensors] : samples) {
      Sample& sample = named.emplace_back();
      for (std::size_t i = 0; i < tensors.size(); ++i) sample.emplace(outputs[i], tensors[i]);
    }
    return named;
  }

  const MetricFunction& wanted_;
};

}  // namespace

std::unique_ptr<Objective> metric_objective(const MetricScript& wanted, const SourceOptions& how) {
  return std::make_unique<ScriptObjective>(wanted, how);
}

std::unique_ptr<Objective> metric_objective(const MetricFunction& wanted) {
  return std::make_unique<FunctionObjective>(wanted);
}

}  // namespace vernier
