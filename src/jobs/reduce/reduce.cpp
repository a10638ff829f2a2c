// `vernier debug reduce`: who judges, and in which order the reducer's steps are taken.

#include "vernier/reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "analysis/tensor_values.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/quote.h"
#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "external_check/check_loop.h"
#include "jobs/common/model_file.h"
#include "jobs/common/output_files.h"
#include "jobs/common/part_data.h"
#include "jobs/reduce/reducer.h"
#include "jobs/reduce/shrink.h"
#include "jobs/reduce/sim_check.h"
#include "jobs/reduce/whole_model.h"
#include "json/json.h"
#include "model/subgraph.h"
#include "vernier/check.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/external_data.h"
#include "vernier/marks.h"
#include "vernier/report/reduce.h"
#include "vernier/run.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr const char* kInside = "values inside the model";  // the samples of a part

// Layers whose own error alone is beyond the limit that are tried as the whole case, worst first.
constexpr std::size_t kMostSuspects = 3;

std::string structure_hash(const Model& model) {
  const std::string text = model.proto.graph().SerializeAsString();
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return hash.hex().substr(0, 16);
}

std::string command_line(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_quote(word);
  return text;
}

class Job {
 public:
  Job(const ReduceOptions& options, const JobSinks& sinks, const CheckSinks& check_sinks)
      : options_(options),
        sinks_(sinks),
        check_sinks_(check_sinks),
        whole_(options, sinks_, [this](const Note& note) { warn(note); }) {}

  ReduceReport run() {
    const auto start = std::chrono::steady_clock::now();
    report_.command = options_.command;
    report_.model_file = options_.model.name();
    report_.output = options_.output.string();
    report_.mode = options_.mode;
    report_.nodes_before = static_cast<std::size_t>(whole_.model().proto.graph().node_size());
    try {
      options_.simulated ? by_simulation() : by_check();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Interrupted || !reducer_ || !report_.reproduced || reducer_->presumed() ||
          reducer_->smallest_bad().nodes.empty()) {
        throw;
      }
      write();  // what was found so far
      throw;
    }
    if (loop_) {
      report_.iterations = loop_->iterations();
      report_.invalid = loop_->count(Verdict::Invalid);
      report_.timed_out = loop_->count(Verdict::TimedOut);
      report_.checks = loop_->checks_run();
      say(loop_->summary() + "\n");
    }
    if (report_.reproduced) {
      write();
    } else if (report_.not_judged.empty()) {
      write_whole();
    }
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(report_);
  }

 private:
  void say(const std::string& text) const {
    if (check_sinks_.say) check_sinks_.say(text);
  }
  void warn(const Note& note) {
    if (std::ranges::find(report_.warnings, note) != report_.warnings.end()) return;
    report_.warnings.push_back(note);
    sinks_.warn(note);
  }

  // A check that is a program, or a person.
  void by_check() {
    report_.check = command_line(options_.check.command);
    const std::string options = fmt::format("mode={} outputs={} inputs={}", word_of(report_.mode),
                                            options_.reduce_outputs, options_.reduce_inputs);
    loop_.emplace(options_.check,
                  CheckIdentity{"debug reduce", options_.model.name(), whole_.model().sha256, options, report_.check},
                  sinks_, check_sinks_);
    Reducer::Hooks hooks;
    hooks.judge = [this](const ReducedPart& part, const std::string& label) { return ask(part.model, label); };
    hooks.values = [this](const std::vector<std::string>& names) { return whole_.frozen_values(names); };
    hooks.say = [this](const std::string& text) { say(text + "\n"); };
    reducer_.emplace(whole_.model(), whole_.types(), hooks);
    Verdict whole = reducer_->reproduce();
    if (whole == Verdict::Good && whole_.unfold()) {
      say("Without its constants the model is not bad: they are nodes now\n");
      report_.nodes_before = static_cast<std::size_t>(whole_.model().proto.graph().node_size());
      reducer_.emplace(whole_.model(), whole_.types(), std::move(hooks));
      whole = reducer_->reproduce();
    }
    report_.reproduced = whole == Verdict::Bad;
    if (!report_.reproduced) {
      if (whole != Verdict::Good) report_.not_judged = last_why_;
      return;
    }
    const bool linear = options_.mode == ReduceMode::Linear;
    if (options_.reduce_outputs) {
      say("Reducing model outputs\n");
      reducer_->reduce_outputs(linear);
    }
    if (options_.reduce_inputs) {
      say("Reducing model inputs\n");
      reducer_->reduce_inputs(linear);
    }
    if (options_.mode != ReduceMode::Ddmin) return;
    say("Dropping nodes\n");
    reducer_->drop_nodes();
    repeat_decisive();
    if (!report_.unstable.empty()) return;
    shrink_result([&](const Shrunk& shrunk) { return ask(shrunk.model, "shrink") == Verdict::Bad; });
  }

  /// A check may answer at random, and a person is not asked twice.
  void repeat_decisive() {
    if (options_.check.command.empty()) return;
    say("Asking again what the answer rests on\n");
    const Reducer::Repeated again = reducer_->repeat(kDecisive);
    report_.repeated = again.asked;
    report_.unjudged = again.unjudged;
    report_.unstable = again.flipped;
  }

  /// For files other than the output: each has weights of its own beside it.
  ExternalDataOptions beside() const {
    ExternalDataOptions external = options_.external_data;
    external.file.clear();
    return external;
  }

  Verdict ask(const Model& model, const std::string& label) {
    const Json state = Json::Object{{"num_nodes", model.proto.graph().node_size()}, {"graph", structure_hash(model)}};
    const CheckLoop::Result result = loop_->check(state, label, [&](const std::filesystem::path& path) {
      if (const std::string fault = whole_.fault_of(model); !fault.empty()) throw Error(ErrorCode::InvalidModel, fault);
      write_model(whole_.as_written(model), path, {.external_data = beside()});
    });
    last_why_ = result.why;
    return result.verdict;
  }

  // The simulated check: one look at all layers first, which spares most of the cuts.
  void by_simulation() {
    const SimulatedCheck& check = *options_.simulated;
    report_.check = fmt::format(
        "{} {} against float32, at least {} dB", format_name(check.low),
        check.on ? fmt::format("on {}", word_of(*check.on)) : fmt::format("simulated under {}", word_of(check.target)),
        check.min_sqnr_db);
    const std::size_t threads = options_.measure.threads == 0 ? usable_cores() : options_.measure.threads;
    SimCheck judge(check, whole_.runtime(), threads, sinks_);
    Reducer::Hooks hooks;
    hooks.freeze_others = false;  // their values are at hand for every sample
    hooks.judge = [&](const ReducedPart& part, const std::string& label) {
      return measure(judge, {part.model, {}}, label);
    };
    hooks.values = [this](const std::vector<std::string>& names) { return whole_.frozen_values(names); };
    hooks.say = {};
    reducer_.emplace(whole_.model(), whole_.types(), std::move(hooks));

    TensorValues& all = whole_.values();
    const double worst_db = check.on ? whole_on_engine(judge) : std::numeric_limits<double>::infinity();
    if (check.on && worst_db >= check.min_sqnr_db) return;
    report_.checks += 2;
    const SimCheck::Guide guide = judge.guide(whole_.model(), all.samples());
    report_.sqnr_db = check.on ? worst_db : guide.worst_db;
    say(fmt::format("checks {} and {} | whole model, simulated | {} node(s) | worst output {:.2f} dB\n",
                    report_.checks - 1, report_.checks, report_.nodes_before, guide.worst_db));
    report_.reproduced = report_.sqnr_db < check.min_sqnr_db;
    if (!report_.reproduced) return;
    const auto cut_inputs = [&] {
      if (!options_.reduce_inputs || reducer_->smallest_bad().nodes.size() < 2) return;
      reducer_->reduce_inputs(options_.mode == ReduceMode::Linear);
    };
    if (!try_single_layers(guide)) {
      if (start_from_first_below(guide)) cut_inputs();
      if (reducer_->smallest_bad().nodes.empty() || !reducer_->confirm()) {
        if (reducer_->reproduce() != Verdict::Bad) {
          throw Error(ErrorCode::NotMeasurable,
                      "the whole model misses the threshold, and cut into parts it could not be measured");
        }
        cut_inputs();
      }
    }
    if (options_.mode == ReduceMode::Ddmin && reducer_->smallest_bad().nodes.size() > 1) reducer_->drop_nodes();
    if (options_.mode == ReduceMode::Ddmin) {
      shrink_result([&](const Shrunk& shrunk) { return measure(judge, shrunk, "shrink") == Verdict::Bad; });
    }
  }

  /// Worst output of the whole model on the engine. Errors: Backend: it does not run there.
  double whole_on_engine(SimCheck& judge) {
    ++report_.checks;
    const Trial trial = judge.judge(whole_.model(), whole_.values().samples());
    if (trial.verdict == Verdict::Invalid) throw Error(ErrorCode::ProgramFails, trial.why);
    say(fmt::format("check {} | whole model | {} node(s) | {} | {}\n", report_.checks, report_.nodes_before,
                    verdict_text(trial.verdict), command_words(printable_text(trial.why))));
    report_.sqnr_db = trial.metric;
    return trial.metric;
  }

  Verdict measure(SimCheck& judge, const Shrunk& part, const std::string& label) {
    if (sinks_.is_interrupted()) throw Error(ErrorKind::Interrupted, "interrupted");
    const std::vector<std::string> names = input_names(part.model);
    Trial trial;
    try {
      std::vector<Sample> samples;
      for (const Sample& sample : whole_.values().of(names, whole_.values().samples().size())) {
        samples.push_back(crop(sample, part.crops));
      }
      ++report_.checks;
      trial = judge.judge(part.model, *samples_in_memory(std::move(samples), kInside));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Input && error.kind() != ErrorKind::Backend) throw;
      trial.why = error.what();
    }
    say(fmt::format("check {} | {} | {} node(s) | {} | {}\n", report_.checks, label,
                    part.model.proto.graph().node_size(), verdict_text(trial.verdict),
                    command_words(printable_text(trial.why))));
    if (trial.verdict == Verdict::Invalid) ++report_.invalid;
    if (trial.verdict == Verdict::Bad) report_.sqnr_db = trial.metric;
    return trial.verdict;
  }

  int node_named(const std::string& name) const {
    for (int i = 0; i < whole_.model().proto.graph().node_size(); ++i) {
      if (whole_.model().proto.graph().node(i).name() == name) return i;
    }
    return -1;  // inside a body
  }

  /// A layer that is beyond the limit on exact inputs is a case of one node.
  bool try_single_layers(const SimCheck::Guide& guide) {
    std::vector<const SimCheck::Guide::Row*> suspects;
    for (const SimCheck::Guide::Row& row : guide.rows) {
      if (row.own_db < options_.simulated->min_sqnr_db && node_named(row.layer) >= 0) suspects.push_back(&row);
    }
    std::stable_sort(suspects.begin(), suspects.end(),
                     [](const auto* a, const auto* b) { return a->own_db < b->own_db; });
    for (std::size_t i = 0; i < std::min(suspects.size(), kMostSuspects); ++i) {
      if (!options_.reduce_outputs || !options_.reduce_inputs) break;
      if (reducer_->try_nodes({node_named(suspects[i]->layer)}, {}, "single layer")) {
        if (options_.mode == ReduceMode::Ddmin) reducer_->drop_nodes();  // one node: nothing left to drop
        return true;
      }
    }
    return false;
  }

  /// The first tensor that is beyond the limit, with all that it needs.
  bool start_from_first_below(const SimCheck::Guide& guide) {
    if (!options_.reduce_outputs) return false;
    for (const SimCheck::Guide::Row& row : guide.rows) {
      if (row.arrived_db >= options_.simulated->min_sqnr_db || node_named(row.layer) < 0) continue;
      return reducer_->start_from(reducer_->ancestors(row.outputs), row.outputs);
    }
    return false;
  }

  void shrink_result(const std::function<bool(const Shrunk&)>& is_bad) {
    say("Shrinking dimensions\n");
    const Model& model = reducer_->smallest_bad().model;
    std::map<std::string, Shape> shapes;
    if (whole_.loads()) {
      for (const auto& [name, value] : whole_.frozen_values(input_names(model))) shapes[name] = value.shape();
    }
    shrunk_ = shrink(model, shapes, is_bad, report_.shrunk);
  }

  /// What the result takes and gives on the samples: whoever gets the case can run it.
  void write_data(const Model& result) {
    if (options_.output.empty()) return;
    if (is_written_in_place(options_.output)) return;  // a pipe has no place beside it
    if (!whole_.loads() || (!options_.simulated && options_.measure.data.is_random())) return;
    std::vector<Sample> fed = whole_.values().of(input_names(result), whole_.values().samples().size());
    if (shrunk_) {
      for (Sample& sample : fed) sample = crop(sample, shrunk_->crops);
    }
    const std::shared_ptr<const SampleSource> held = samples_in_memory(fed, kInside);
    std::vector<Sample> all = TensorValues(whole_.runtime(), result, *held).of(output_names(result), fed.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i].merge(fed[i]);
    const PartData files = write_part_data(options_.output, result, all, "reduced-model");
    report_.inputs_file = files.inputs.string();
    report_.outputs_file = files.outputs.string();
    report_.samples = all.size();
  }

  /// Nothing fails: whoever goes on with the output has a model that behaves as this one.
  void write_whole() {
    report_.nodes_after = report_.nodes_before;
    report_.inputs = input_names(whole_.model());
    report_.outputs = output_names(whole_.model());
    report_.model = given_model(whole_.as_written(whole_.model()), options_.output, options_.external_data);
    if (options_.min_good.empty()) return;
    report_.min_good = options_.min_good.string();
    report_.nodes_good = report_.nodes_before;
    write_model(whole_.as_written(whole_.model()), options_.min_good, {.external_data = beside()});
  }

  void write() {
    const ReducedPart& bad = reducer_->smallest_bad();
    const Model& result = shrunk_ ? shrunk_->model : bad.model;
    report_.nodes_after = bad.nodes.size();
    report_.minimal = reducer_->is_minimal() && report_.unstable.empty();
    for (const onnx::NodeProto& node : result.proto.graph().node()) {
      report_.nodes.push_back(fmt::format("{} ({})", node.name(), node.op_type()));
    }
    report_.inputs = input_names(result);
    report_.outputs = output_names(result);
    report_.frozen.assign(bad.frozen.begin(), bad.frozen.end());
    report_.model = given_model(whole_.as_written(result), options_.output, options_.external_data);
    try {
      write_data(result);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Input && error.kind() != ErrorKind::Backend) throw;
      warn({"part-data-not-written", {{"error", error.what()}}});
    }
    if (options_.min_good.empty()) return;
    const std::optional<ReducedPart> good = reducer_->nearest_good();
    if (!good) {
      warn({"no-good-part", {}});
      return;
    }
    report_.min_good = options_.min_good.string();
    report_.nodes_good = good->nodes.size();
    write_model(whole_.as_written(good->model), options_.min_good, {.external_data = beside()});
  }

  const ReduceOptions& options_;
  JobSinks sinks_;
  CheckSinks check_sinks_;
  std::optional<CheckLoop> loop_;
  std::optional<Reducer> reducer_;
  std::optional<Shrunk> shrunk_;
  std::string last_why_;  // of the last answer of the outside check
  ReduceReport report_;
  WholeModel whole_;  // warns into the report
};

}  // namespace

ReduceReport debug_reduce(const ReduceOptions& options, const JobSinks& sinks, const CheckSinks& check_sinks) {
  refuse_to_overwrite(options.output, {options.model.file()});
  if (!options.min_good.empty()) refuse_to_overwrite(options.min_good, {options.model.file(), options.output});
  return Job(options, sinks, check_sinks).run();
}

}  // namespace vernier
