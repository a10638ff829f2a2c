// Runners beside runners: every sample goes through all of them, its outputs are saved and compared, and are forgotten.

#include "vernier/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/file.h"
#include "base/parallel.h"
#include "base/text.h"
#include "comparator/known_outputs.h"
#include "jobs/common/load.h"
#include "jobs/common/output_files.h"
#include "jobs/common/peer_samples.h"
#include "jobs/common/sources.h"
#include "jobs/engine/host_files.h"
#include "jobs/run/error_pictures.h"
#include "jobs/run/input_blobs.h"
#include "jobs/run/iteration_script.h"
#include "jobs/run/live_run.h"
#include "jobs/run/scripted_runners.h"
#include "jobs/scripting/model_script.h"
#include "jobs/scripting/network_scripts.h"
#include "scripts/script_location.h"
#include "vernier/comparison.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/report/run.h"
#include "vernier/runs.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// What one sample gave, in the order of the runs.
struct Step {
  std::vector<Iteration> iterations;
  std::vector<NamedTensor> inputs;
  std::vector<Iteration> compared;               // the iterations, postprocessed
  std::vector<IterationComparison> comparisons;  // run i against run i+1
  std::vector<NonFiniteOutput> nonfinite;
  std::exception_ptr not_run, not_compared;  // why there are no iterations, or no comparisons
};

/// A run of the caller's, which keeps it.
class GivenRun final : public Run {
 public:
  explicit GivenRun(std::shared_ptr<const Run> run) : run_(std::move(run)) {}
  const std::string& name() const override { return run_->name(); }
  std::size_t size() const override { return run_->size(); }
  Iteration at(std::size_t index) const override { return run_->at(index); }
  bool is_sequence() const override { return run_->is_sequence(); }

 private:
  std::shared_ptr<const Run> run_;
};

class Job {
 public:
  Job(const RunOptions& options, const JobSinks& sinks, const RunEvents& events)
      : options_(options), sinks_(sinks), events_(events) {}

  RunResult run() {
    if (options_.runners.empty() && options_.load_outputs.empty() && options_.runs.empty()) {
      throw Error(ErrorCode::MissingArgument, "nothing to run: no runner was chosen and no saved outputs were given",
                  "‹vernier run MODEL --onnxrt›, or ‹load-outputs› FILE FILE");
    }
    keep_what_is_read();
    load_scripts();
    open_runs();
    check_sizes();
    open_writers();
    for (std::size_t pair = 0; pair + 1 < runs_.size(); ++pair) {
      tallies_.emplace_back(runs_[pair]->name(), runs_[pair + 1]->name(), options_.compare);
    }
    if (!tallies_.empty()) {
      keep_failure([&] { say(ComparisonBegins{runs_[0]->name(), runs_[1]->name()}); });
    }
    parallel_ordered(
        runs_.front()->size(), threads(), [&](std::size_t index) { return step(index); },
        [&](std::size_t index, Step done) { return take(index, std::move(done)); });
    finish();
    return std::move(result_);
  }

 private:
  void say(const RunEvent& event) const {
    if (events_) events_(event);
  }

  void open_runs() {
    const auto warn = [&](const Note& note) {
      if (std::ranges::find(warned_, note) != warned_.end()) return;
      warned_.push_back(note);
      sinks_.warn(note);
    };
    const std::time_t now = std::time(nullptr);
    Sources sources(options_.measure, sinks_);
    bool any_engine = false;
    for (std::size_t i = 0; i < options_.runners.size(); ++i) {
      const RunnerOptions& runner = options_.runners[i];
      std::unique_ptr<EngineRunner> engine = engine_of(options_, runner, sinks_, warn);
      any_engine = any_engine || engine != nullptr;
      const std::string name = runner_name(runner, engine != nullptr, i, now);
      auto live = make_live_run(options_, i, name, sources, warn, std::move(engine));
      live_.push_back(live.get());
      runs_.push_back(std::move(live));
    }
    if (!any_engine) {
      refuse_unwritten(options_.engine.settings, options_.engine.save_engine);
      warn_of_settings(warn);
    }
    for (const std::filesystem::path& path : options_.load_outputs) {
      for (std::unique_ptr<Run>& saved : vernier::open_runs(path)) runs_.push_back(std::move(saved));
    }
    for (const std::shared_ptr<const Run>& given : options_.runs) runs_.push_back(std::make_unique<GivenRun>(given));
    for (const auto& one : runs_) result_.runs.push_back(one->name());
    seconds_.resize(live_.size());
  }

  void warn_of_settings(const Warn& warn) const {
    std::vector<std::string> names;
    for (const auto& [name, values] : options_.engine.settings) names.push_back(fmt::format("‹{}›", name));
    if (!options_.engine.shapes.empty()) names.emplace_back("‹trt-min-shapes›");
    if (!options_.engine.plugins.empty()) names.emplace_back("‹plugins›");
    if (names.empty()) return;
    warn({"engine-options-without-effect", {{"options", names}}});
  }

  void check_sizes() const {
    for (const auto& one : runs_) {
      if (one->size() == runs_.front()->size()) continue;
      throw Error(ErrorCode::NotMeasurable,
                  fmt::format("{} has {}, {} has {}: they cannot be compared one by one",
                              printable(runs_.front()->name()), plural(runs_.front()->size(), "iteration"),
                              printable(one->name()), plural(one->size(), "iteration")),
                  live_.empty() ? "save both with the same samples" : "give the samples that the saved run had");
    }
  }

  /// Before anything is run: making a runner may take minutes.
  void keep_what_is_read() const {
    std::vector<std::filesystem::path> read = source_files(options_.measure);
    for (const RunnerOptions& runner : options_.runners) {
      read.push_back(runner.model.file());
      for (std::filesystem::path& script : script_files(runner.precision)) read.push_back(std::move(script));
    }
    for (const std::string& script : {options_.compare_script, options_.postprocess_script}) {
      if (const auto location = script_location(script)) read.emplace_back(location->file);
    }
    read.insert(read.end(), options_.load_outputs.begin(), options_.load_outputs.end());
    for (const std::filesystem::path& path : {options_.save_inputs, options_.save_input_blobs, options_.save_outputs,
                                              options_.save_accuracy, options_.engine.save_engine}) {
      if (!path.empty()) refuse_to_overwrite(path, read);
    }
  }

  /// Before the runners, which may take minutes: what is wrong with a script is known at once.
  void load_scripts() {
    const auto load = [&](std::optional<IterationScript>& script, const std::string& location,
                          IterationScript::Kind kind) {
      if (!location.empty()) script.emplace(location, kind, options_.measure.data, sinks_);
    };
    load(compare_script_, options_.compare_script, IterationScript::Kind::Compare);
    load(postprocess_script_, options_.postprocess_script, IterationScript::Kind::Postprocess);
  }

  void open_writers() {
    warn_of_pickles({options_.save_inputs, options_.save_outputs}, sinks_);
    const bool saves_any =
        !(options_.save_inputs.empty() && options_.save_outputs.empty() && options_.save_input_blobs.empty());
    if (live_.empty() && saves_any) {
      throw Error(ErrorCode::MissingArgument, "no runner was chosen: there is nothing to save",
                  "add ‹onnxrt›, or use ‹vernier data concat› to join saved outputs");
    }
    if (!options_.save_outputs.empty()) {
      std::vector<std::string> names;
      for (const LiveRun* run : live_) names.push_back(run->name());
      outputs_.emplace(options_.save_outputs, names);
    }
    if (!options_.save_inputs.empty()) inputs_.emplace(options_.save_inputs);
    if (!options_.save_input_blobs.empty()) blobs_.emplace(options_.save_input_blobs);
  }

  std::size_t threads() const {
    const bool sequence = std::any_of(runs_.begin(), runs_.end(), [](const auto& run) { return run->is_sequence(); });
    if (sequence || compare_script_ || postprocess_script_) return 1;
    return options_.measure.threads == 0 ? usable_cores() : options_.measure.threads;
  }

  bool saves() const { return outputs_.has_value() || inputs_.has_value() || blobs_.has_value(); }

  /// The first failure of a comparison ends the comparisons; what is saved is completed before it is thrown.
  template <typename Action>
  void keep_failure(const Action& action) {
    try {
      action();
    } catch (...) {
      if (!saves()) throw;
      failure_ = std::current_exception();
      compares_ = false;
    }
  }

  std::vector<NamedTensor> inputs_at(std::size_t index) const {
    std::vector<NamedTensor> inputs;
    for (const auto& [name, tensor] : live_.front()->samples().at(index)) inputs.push_back({name, tensor});
    return inputs;
  }

  Step step(std::size_t index) {
    Step done;
    if (inputs_ || blobs_) done.inputs = inputs_at(index);
    try {
      for (const auto& one : runs_) done.iterations.push_back(one->at(index));
    } catch (...) {
      if (!inputs_ && !blobs_) throw;
      done.not_run = std::current_exception();
      return done;
    }
    if (!compares_) return done;
    try {
      compare(index, done);
    } catch (...) {
      if (!saves()) throw;
      done.not_compared = std::current_exception();
    }
    return done;
  }

  void compare(std::size_t index, Step& done) {
    if (options_.validate) validate(index, done);
    std::vector<Iteration>& compared = done.compared;
    compared = done.iterations;
    if (compared.size() > 1) {
      NamedOutputs named;
      collect("‹postprocess›", options_.postprocess, named);
      require_outputs(named, compared.front(), compared.back());
    }
    for (std::size_t i = 0; i < compared.size() && compared.size() > 1; ++i) {
      if (postprocess_script_) compared[i] = postprocess_script_->postprocess(index, runs_[i]->name(), compared[i]);
      postprocess(compared[i], options_.postprocess);
    }
    for (std::size_t pair = 0; pair + 1 < compared.size(); ++pair) {
      done.comparisons.push_back(compared_pair(index, pair, compared));
    }
  }

  IterationComparison compared_pair(std::size_t index, std::size_t pair, const std::vector<Iteration>& iterations) {
    const Iteration& got = iterations[pair];
    const Iteration& ref = iterations[pair + 1];
    CompareOptions options = options_.compare;
    options.statistics = options_.each_iteration && options_.statistics && events_;
    options.first_failure = options_.fail_fast && !compare_script_;
    if (compare_script_) options.functions = {CompareFunction::Script};
    IterationComparison comparison = compare_iterations(index, got, ref, options, options_.detail);
    if (compare_script_) compare_script_->judge(comparison, runs_[pair]->name(), runs_[pair + 1]->name(), got, ref);
    return comparison;
  }

  void validate(std::size_t index, Step& done) const {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      for (const NamedTensor& output : done.iterations[i].outputs) {
        NonFinite found;
        if (!find_nonfinite(output.tensor, found)) continue;
        done.nonfinite.push_back(
            {runs_[i]->name(), output.name, index, found.nan, found.infinite, found.count, origin(i, index)});
      }
    }
  }

  /// Where it began, for runners that can be asked. The search costs an inference with every tensor in sight: once.
  std::optional<NonFiniteOrigin> origin(std::size_t run, std::size_t index) const {
    if (run >= live_.size() || live_[run]->is_sequence()) return std::nullopt;
    const std::lock_guard lock(origin_mutex_);
    const auto known = origins_.find(run);
    if (known != origins_.end()) return known->second;
    const NonFinite first = live_[run]->first_nonfinite(index).value_or(NonFinite{});
    return origins_[run] = {first.tensor, first.layer, first.op_type, first.nan, first.infinite, first.count};
  }

  bool take(std::size_t index, Step done) {
    if (sinks_.is_interrupted()) throw Error(ErrorKind::Interrupted, "interrupted");
    if (sinks_.progress) sinks_.progress("run", index + 1, runs_.front()->size());
    ++result_.iterations;
    if (done.not_run) {
      save_inputs_from(index, done.inputs);
      std::rethrow_exception(done.not_run);
    }
    for (std::size_t i = 0; i < live_.size(); ++i) seconds_[i] += done.iterations[i].seconds.value_or(0);
    if (outputs_) {
      for (std::size_t i = 0; i < live_.size(); ++i) outputs_->add(i, done.iterations[i]);
    }
    save_input(index, done.inputs);
    if (!compares_) return true;
    keep_failure([&] {
      if (done.not_compared) std::rethrow_exception(done.not_compared);
      tell(std::move(done));
    });
    // A file with the first samples alone could be compared with no other one.
    return compares_ || saves();
  }

  void save_input(std::size_t index, const std::vector<NamedTensor>& inputs) {
    if (inputs_) inputs_->add(inputs);
    if (blobs_) blobs_->add(index, inputs);
  }

  /// A runner failed: the samples that it did not reach belong into the file, too.
  void save_inputs_from(std::size_t index, const std::vector<NamedTensor>& inputs) {
    save_input(index, inputs);
    for (std::size_t i = index + 1; i < runs_.front()->size(); ++i) save_input(i, inputs_at(i));
    if (inputs_) inputs_->finish();
    tell_saved_inputs(runs_.front()->size());
  }

  void tell_saved_inputs(std::size_t iterations) const {
    for (const auto& path : {options_.save_inputs, options_.save_input_blobs}) {
      if (!path.empty()) say(RunSaved{/*inputs=*/true, iterations, path});
    }
  }

  /// Counts and reports the comparisons of one sample.
  void tell(Step done) {
    bool passed = done.nonfinite.empty();
    for (const NonFiniteOutput& found : done.nonfinite) say(found);
    result_.nonfinite += done.nonfinite.size();
    for (std::size_t pair = 0; pair < done.comparisons.size(); ++pair) {
      tallies_[pair].add(done.comparisons[pair]);
      if (!options_.save_accuracy.empty() || !events_) {
        result_.accuracy.add(runs_[pair]->name(), runs_[pair + 1]->name(), done.comparisons[pair]);
      }
      passed = passed && done.comparisons[pair].passed;
      if (options_.each_iteration) {
        say(IterationCompared{pair, runs_[pair]->name(), runs_[pair + 1]->name(), &done.comparisons[pair],
                              &done.compared[pair], &done.compared[pair + 1]});
      }
      if (wants_pictures(options_)) {
        draw_errors(options_, pair, done.comparisons[pair], done.compared[pair], done.compared[pair + 1], events_);
      }
    }
    if (!passed && options_.fail_fast) compares_ = false;
  }

  void finish() {
    if (outputs_) outputs_->finish();
    if (inputs_) inputs_->finish();
    if (failure_) std::rethrow_exception(failure_);
    for (std::size_t i = 0; i < live_.size(); ++i) say(RunnerDone{live_[i]->name(), result_.iterations, seconds_[i]});
    for (std::size_t pair = 0; pair < tallies_.size(); ++pair) {
      result_.pairs.push_back(tallies_[pair].summary());
      say(PairDone{pair, result_.pairs.back()});
      result_.passed = result_.passed && result_.pairs.back().passed;
    }
    result_.passed = result_.passed && result_.nonfinite == 0;
    if (options_.validate && result_.nonfinite == 0) warn_of_overflow_inside();
    if (outputs_) say(RunSaved{/*inputs=*/false, result_.iterations, options_.save_outputs});
    tell_saved_inputs(result_.iterations);
    if (tallies_.empty()) say(NothingCompared{result_.runs.front(), result_.iterations});
    if (!options_.save_accuracy.empty()) {
      replace_file(options_.save_accuracy, result_.accuracy.to_json(options_.compare));
    }
  }

  /// Finite outputs may hide what a simulated layer overflows to: 1 / inf is 0.
  void warn_of_overflow_inside() const {
    for (std::size_t i = 0; i < live_.size(); ++i) {
      const RunnerKind kind = options_.runners[i].kind;
      if (kind == RunnerKind::OnnxRuntime || live_[i]->is_sequence()) continue;
      if (const std::optional<NonFinite> found = live_[i]->overflow_inside(sinks_)) {
        sinks_.warn({"overflow-inside",
                     {{"run", live_[i]->name()},
                      {"iteration", found->sample},
                      {"tensor", found->tensor},
                      {"layer", found->layer},
                      {"op_type", found->op_type},
                      {"nan", found->nan},
                      {"infinite", found->infinite},
                      {"of", found->count}}});
      }
    }
  }

  const RunOptions& options_;
  const JobSinks& sinks_;
  const RunEvents& events_;
  RunResult result_;
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<const LiveRun*> live_;  // the first of runs_
  std::vector<Note> warned_;
  std::optional<IterationScript> compare_script_, postprocess_script_;
  std::optional<RunWriter> outputs_;
  std::optional<InputWriter> inputs_;
  std::optional<InputBlobs> blobs_;
  std::vector<double> seconds_;        // of the inferences of live_
  std::atomic<bool> compares_ = true;  // false behind a failure that ends the comparisons
  std::exception_ptr failure_;         // thrown when all is saved
  std::vector<PairTally> tallies_;
  mutable std::mutex origin_mutex_;
  mutable std::map<std::size_t, NonFiniteOrigin> origins_;  // by run
};

}  // namespace

std::unique_ptr<Run> open_runner(const RunOptions& options, std::size_t runner, const JobSinks& sinks) {
  RunOptions resolved = options;
  resolved.measure.data = like_the_peer(options.measure.data);
  const std::vector<ScriptedModel> scripted = run_model_scripts(resolved, sinks);
  const auto warn = [&](const Note& note) { sinks.warn(note); };
  std::unique_ptr<EngineRunner> engine = engine_of(resolved, resolved.runners.at(runner), sinks, warn);
  const std::string name = runner_name(resolved.runners[runner], engine != nullptr, runner, std::time(nullptr));
  Sources sources(resolved.measure, sinks);
  return make_live_run(resolved, runner, name, sources, warn, std::move(engine));
}

RunResult run(const RunOptions& options, const JobSinks& sinks, const RunEvents& events) {
  RunOptions resolved = options;
  resolved.measure.data = like_the_peer(options.measure.data);
  const std::vector<ScriptedModel> scripted = run_model_scripts(resolved, sinks);  // kept while they are read
  return Job(resolved, sinks, events).run();
}

}  // namespace vernier
