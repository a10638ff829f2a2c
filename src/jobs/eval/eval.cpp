// `vernier eval`: the task's figures of one model, or of two side by side.

#include "vernier/eval.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "base/parallel.h"
#include "base/text.h"
#include "jobs/common/sources.h"
#include "jobs/engine/engine_runner.h"
#include "jobs/eval/task_tally.h"
#include "jobs/run/live_run.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/report/eval.h"
#include "vernier/run.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Of a difference between two shares: one image of 100 is one point.
constexpr double kDust = 1e-9;

/// "51.6 %" of a share, cut off behind two digits as in the table, else the number.
std::string in_words(const TaskFigure& figure, double value) {
  return figure.share ? fmt::format("{:.4g} %", std::floor(value * 1e4 + 1e-9) / 100) : fmt::format("{:.6g}", value);
}

/// What people start from when they ask for a largest error; nothing is required by it.
std::optional<std::string> preset_of(Task task) {
  switch (task) {
    case Task::Classification:
      return "0.01 to 0.05";
    case Task::Detection:
      return "0.1 to 0.2";
    case Task::Segmentation:
      return "0.05 to 0.1";
    default:
      return std::nullopt;
  }
}

void check(const EvalOptions& options) {
  const bool without = options.task == Task::Language || options.task == Task::Custom;
  if (options.labels.empty() && !without) {
    throw Error(ErrorCode::MissingArgument, fmt::format("‹task› {} needs ‹labels›", word_of(options.task)));
  }
  if (options.task == Task::Custom && options.script.empty() && !options.function) {
    throw Error(ErrorCode::MissingArgument, "‹task› custom needs ‹metric-script› FILE.py[:FUNC]");
  }
  if (options.max_loss && options.against.empty()) {
    throw Error(ErrorCode::WithoutEffect, "‹max-loss› is measured against another model", "‹against› MODEL");
  }
  if (options.task == Task::Language || options.task == Task::Custom) return;
  // Shares: with a percentage for a limit the check could not pass, or could not fail.
  const auto refuse_percent = [&](const char* option, const std::optional<double>& limit) {
    if (!limit || *limit <= 1) return;
    throw Error(
        ErrorCode::BadValue,
        fmt::format("{} {:g}: figures of ‹task› {} are shares, from 0 to 1", option, *limit, word_of(options.task)),
        fmt::format("{} {:g}", option, *limit / 100));
  };
  refuse_percent("‹min›", options.min);
  refuse_percent("‹max›", options.max);
  refuse_percent("‹max-loss›", options.max_loss);
  if (options.max_loss && *options.max_loss == 1) {
    throw Error(ErrorCode::BadValue, "‹max-loss› 1 allows to lose everything: figures are shares, from 0 to 1",
                "‹max-loss› 0.01 is one point");
  }
}

double largest_difference(const std::vector<NamedTensor>& got, const std::vector<NamedTensor>& ref) {
  double most = 0;
  for (const NamedTensor& one : got) {
    const auto other = std::find_if(ref.begin(), ref.end(), [&](const NamedTensor& r) { return r.name == one.name; });
    if (other == ref.end() || other->tensor.shape() != one.tensor.shape()) continue;
    const std::vector<float> a = as_floats(one), b = as_floats(*other);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
      if (a[i] != b[i])
        most = std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(most, difference);
    }
  }
  return most;
}

/// In the order asked for, whatever the model's own is.
std::vector<NamedTensor> in_order(std::vector<NamedTensor> outputs, const std::vector<std::string>& names) {
  if (names.empty()) return outputs;
  std::vector<NamedTensor> ordered;
  for (const std::string& name : names) {
    for (NamedTensor& output : outputs) {
      if (output.name == name) ordered.push_back(output);
    }
  }
  return ordered.size() == outputs.size() ? ordered : outputs;
}

/// What a model was fed, and what it gave for it, sample by sample.
struct Seen {
  std::vector<Sample> samples;
  std::vector<std::vector<NamedTensor>> outputs;
};

std::vector<Sample> samples_of(const SampleSource& source, std::size_t first, std::size_t count) {
  std::vector<Sample> samples;
  for (std::size_t i = first; i < std::min(first + count, source.size()); ++i) samples.push_back(source.at(i));
  return samples;
}

class Evaluation {
 public:
  Evaluation(const EvalOptions& options, const JobSinks& sinks) : options_(options), sinks_(sinks) {}

  EvalReport run() {
    check(options_);
    run_.measure = options_.measure;
    run_.onnx_outputs.names = options_.measure.outputs;
    run_.engine = options_.engine;
    run_.optimize_simulations = true;
    add_runner(options_.model);
    if (!options_.against.empty()) add_runner(options_.against);
    Sources sources(run_.measure, sinks_);
    std::vector<std::unique_ptr<LiveRun>> runs;
    std::vector<std::unique_ptr<TaskTally>> tallies;
    for (std::size_t i = 0; i < run_.runners.size(); ++i) {
      const Warn said = [&](const Note& note) { warn(note); };
      std::unique_ptr<EngineRunner> engine = engine_of(run_, run_.runners[i], sinks_, said);
      const std::string name = engine ? engine->text() : options_.on ? "onnxrt" : "sim";
      runs.push_back(make_live_run(run_, i, name, sources, said, std::move(engine)));
      const std::vector<InputInfo> inputs = model_inputs(*sources.model(run_.runners[i].model));
      tallies.push_back(
          make_tally(options_, inputs, count_samples(options_.measure.data, inputs, runs.back()->size())));
    }
    sources.forget_models();  // the runs hold what they need
    report_.task = word_of(options_.task);
    report_.command = options_.command;
    report_.data = runs.front()->samples().description();
    report_.labels = options_.labels.name();
    report_.samples = runs.front()->size();
    const bool sequence = std::any_of(runs.begin(), runs.end(), [](const auto& one) { return one->is_sequence(); });
    const std::size_t threads = options_.measure.threads == 0 ? usable_cores() : options_.measure.threads;
    std::size_t batch = std::max<std::size_t>(1, options_.measure.batch);
    for (const auto& one : runs) {
      batch = std::min(batch, one->samples_at_once(options_.measure.batch, [&](const Note& note) { warn(note); }));
    }
    double most = 0;
    parallel_ordered(
        (report_.samples + batch - 1) / batch, sequence ? 1 : threads,
        [&](std::size_t turn) {
          std::vector<Seen> seen;
          for (const auto& one : runs) {
            // Models with equal inputs share one source (sources.h).
            const bool read = !seen.empty() && &one->samples() == &runs.front()->samples();
            seen.push_back({read ? seen.front().samples : samples_of(one->samples(), turn * batch, batch), {}});
            for (Iteration& each : one->together(turn * batch, seen.back().samples)) {
              seen.back().outputs.push_back(in_order(std::move(each.outputs), options_.measure.outputs));
            }
          }
          return seen;
        },
        [&](std::size_t turn, const std::vector<Seen>& seen) {
          for (std::size_t k = 0; k < seen.front().samples.size(); ++k) {
            const std::size_t index = turn * batch + k;
            for (std::size_t i = 0; i < runs.size(); ++i) {
              tallies[i]->add(index, seen[i].samples[k], seen[i].outputs[k],
                              runs.size() == 2 ? seen.back().outputs[k] : std::vector<NamedTensor>());
            }
            if (runs.size() == 2) most = std::max(most, largest_difference(seen[0].outputs[k], seen[1].outputs[k]));
            if (sinks_.progress) sinks_.progress("eval", index + 1, report_.samples);
          }
          if (!sinks_.interrupted || !sinks_.interrupted()) return true;
          throw Error(ErrorKind::Interrupted, "interrupted: no figures of some of the samples");
        });
    for (std::size_t i = 0; i < runs.size(); ++i) {
      report_.models.push_back({run_.runners[i].model.name(), runs[i]->name(), tallies[i]->figures()});
    }
    if (runs.size() == 2) report_.max_abs_error = most;
    report_.preset = preset_of(options_.task);
    judge();
    return std::move(report_);
  }

 private:
  void add_runner(const OnnxModel& model) {
    RunnerOptions runner;
    runner.kind = runner_kind(options_.on);
    runner.use = EngineUse::Always;
    runner.device = options_.engine.device;
    runner.model = model;
    run_.runners.push_back(runner);
  }

  void warn(const Note& note) {
    if (std::ranges::find(report_.warnings, note) != report_.warnings.end()) return;
    report_.warnings.push_back(note);
    sinks_.warn(note);
  }

  void judge() {
    const TaskFigure& figure = report_.models.front().figures.front();
    report_.required = options_.min || options_.max || options_.max_loss;
    if (options_.min && !(figure.value >= *options_.min)) {
      report_.missed.push_back(fmt::format("{} is {}, below {}", figure.name, in_words(figure, figure.value),
                                           in_words(figure, *options_.min)));
    }
    if (options_.max && !(figure.value <= *options_.max)) {
      report_.missed.push_back(fmt::format("{} is {}, above {}", figure.name, in_words(figure, figure.value),
                                           in_words(figure, *options_.max)));
    }
    if (!options_.max_loss) return;
    const double other = report_.models.back().figures.front().value;
    const double loss = figure.higher_is_better ? other - figure.value : figure.value - other;
    if (!(loss <= *options_.max_loss + kDust)) {
      const auto points = [&](double of) {
        if (!figure.share) return fmt::format("{:.6g}", of);
        const std::string number = fmt::format("{:.3g}", 100 * of);
        return number + (number == "1" ? " point" : " points");
      };
      report_.missed.push_back(
          fmt::format("{} is {}, {} {} {}. {} {} allowed", figure.name, in_words(figure, figure.value), points(loss),
                      figure.higher_is_better ? "below" : "above", in_words(figure, other), points(*options_.max_loss),
                      figure.share && 100 * *options_.max_loss == 1 ? "is" : "are"));
    }
  }

  const EvalOptions& options_;
  const JobSinks& sinks_;
  RunOptions run_;
  EvalReport report_;
};

}  // namespace

EvalReport evaluate(const EvalOptions& options, const JobSinks& sinks) { return Evaluation(options, sinks).run(); }

}  // namespace vernier
