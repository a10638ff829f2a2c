// What the measuring passes of the main job cost in time and memory, in plain inferences of the same network.
// bench/run.py calls it for each network and makes the table of docs/records/main-job.md.
//
//   main_job_bench time MODEL --data FILE --low int8      ratios, all passes side by side in one process
//   main_job_bench peak PASS MODEL --data FILE --low int8  peak memory of one pass; a process has only one peak
//
// A plain inference is the original model, all optimizations, two threads, initializers not listed as inputs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <istream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/lockstep.h"
#include "analysis/own_error.h"
#include "analysis/reference.h"
#include "analysis/sensitivity.h"
#include "base/parallel.h"
#include "engines/onnxruntime/runtime.h"
#include "jobs/common/load.h"
#include "jobs/common/sources.h"
#include "json/json.h"
#include "live_set.h"
#include "plan/calibrate.h"
#include "plan/scheme.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/measure.h"
#include "vernier/precision.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPlainThreads = 2;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Samples held in memory and repeated, so that no pass is timed reading files. Notes when the first one is asked for:
/// the pass has built its session by then.
class TimedSamples final : public SampleSource {
 public:
  TimedSamples(const SampleSource& source, std::size_t distinct, std::size_t size) : size_(size) {
    for (std::size_t i = 0; i < std::min({distinct, source.size(), size}); ++i) samples_.push_back(source.at(i));
  }
  std::size_t size() const override { return size_; }
  Sample at(std::size_t index) const override {
    if (index == 0) first_ = Clock::now();
    return samples_[index % samples_.size()];
  }
  std::string description() const override { return "memory"; }
  Clock::time_point first_asked() const { return first_; }

 private:
  std::size_t size_;
  std::vector<Sample> samples_;
  mutable Clock::time_point first_;  // sample 0 is asked for once a pass, before any other thread could be done
};

/// The samples of a source over and over: memory must not grow with their number, whatever their shapes.
class RepeatedSamples final : public SampleSource {
 public:
  RepeatedSamples(const SampleSource& source, std::size_t size) : source_(source), size_(size) {}
  std::size_t size() const override { return size_; }
  Sample at(std::size_t index) const override { return source_.at(index % source_.size()); }
  std::string description() const override { return source_.description(); }

 private:
  const SampleSource& source_;
  std::size_t size_;
};

struct Options {
  std::string pass, model, data, low = "int8";
  std::vector<std::string> carries;
  std::size_t samples = 0;
  std::size_t rounds = 5;
};

Format low_format(const Options& options) {
  const std::optional<Format> low = parse_format(options.low);
  if (!low) throw Error(ErrorKind::Usage, "--low: no format is named '" + options.low + "'");
  return *low;
}

MeasureOptions measure_options(const Options& options) {
  MeasureOptions measure;
  measure.data.location = options.data;
  measure.data.limit = options.samples;
  for (const std::string& text : options.carries) {
    const std::size_t colon = text.rfind(':');
    measure.carries.emplace_back(text.substr(0, colon), text.substr(colon + 1));
  }
  return measure;
}

/// The subject and a calibrated all-low plan, as diagnose() makes them.
struct Job {
  MeasureOptions measure;
  JobSinks sinks;
  Sources sources;
  Loaded loaded;
  Plan plan;
  std::vector<std::string> candidates;
  Reference reference;

  explicit Job(const Options& options)
      : measure(measure_options(options)),
        sources(measure, sinks),
        loaded(load(options.model, {.formats = {low_format(options), Format::Float32}}, sources)) {
    Subject& subject = loaded.subject;
    subject.progress = nullptr;
    PrecisionOptions precision;
    precision.low = {low_format(options)};
    AssignedFormats assigned = assign_formats(subject.model, subject.layers, precision);
    plan = std::move(assigned.plan);
    candidates = std::move(assigned.candidates);
    std::set<std::string> observed = tensors_to_observe(subject);
    observed.merge(tensors_to_calibrate(subject.model, subject.layers, plan));
    reference = run_reference(subject, observed);
    calibrate_plan(plan, subject.model, subject.layers, reference.ranges);
  }
};

void run_own_error(const Job& job, const Subject& subject) {
  RoundedWeights weights;
  own_error(subject, job.plan, weights);
}

void run_lockstep(const Job& job, const Subject& subject) {
  RoundedWeights weights;
  const Model low = lower_simulated(subject.model, subject.layers, job.plan, weights);
  lockstep(subject, low, match_layer_outputs(subject));
}

Session plain_session(const Job& job, int threads) {
  return {job.loaded.subject.runtime,
          *job.loaded.original,
          {.optimize = true, .threads = threads, .integer_kernels = true}};
}

Json summary(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return Json::Object{{"median", values[values.size() / 2]}, {"min", values.front()}, {"max", values.back()}};
}

/// Milliseconds a sample of each pass, one entry a round.
struct Series {
  std::vector<double> plain, plain_side_by_side, own, own_build, lock, lock_build;
};

std::vector<double> ratios(const std::vector<double>& over, const std::vector<double>& under) {
  std::vector<double> result;
  for (std::size_t i = 0; i < over.size(); ++i) result.push_back(over[i] / under[i]);
  return result;
}

/// Samples a round: so many that plain inference takes a quarter of a second, in pairs, two at least.
std::size_t samples_a_round(double plain_ms) {
  return std::clamp<std::size_t>(static_cast<std::size_t>(250 / plain_ms) / 2 * 2, 2, 400);
}

double plain_ms_of(const Session& session, const SampleSource& samples, std::size_t count) {
  const Clock::time_point start = Clock::now();
  for (std::size_t i = 0; i < count; ++i) session.run(samples.at(i));
  return 1000 * seconds_since(start) / static_cast<double>(count);
}

void time_pass(const TimedSamples& samples, const std::function<void()>& pass, std::vector<double>& ms,
               std::vector<double>& build_ms) {
  const Clock::time_point start = Clock::now();
  pass();
  const double run = seconds_since(samples.first_asked());
  ms.push_back(1000 * run / static_cast<double>(samples.size()));
  build_ms.push_back(1000 * (seconds_since(start) - run));
}

/// One trial of "only layer i low": its wall time against that of a plain inference, and the share of the network that
/// it ran. Trials of segments go on side by side, and the segments' sessions are built within the time.
Json time_effects(const Job& job, const Subject& subject, double plain_ms) {
  std::vector<std::string> single;
  const std::set<std::string> candidates(job.candidates.begin(), job.candidates.end());
  for (const Layer& layer : subject.layers) {
    if (layer.graph.empty() && candidates.contains(layer.name)) single.push_back(layer.name);
  }
  if (single.empty() || !subject.carries.empty()) return {};  // with a state, whole sequences are run instead
  SensitivityOptions options;
  const double all_ms = plain_ms * static_cast<double>(single.size());
  const std::size_t affordable = all_ms > 20000 ? 1 : all_ms > 5000 ? 2 : 4;
  for (std::size_t i = 0; i < std::min(affordable, job.loaded.samples->size()); ++i) options.samples.push_back(i);
  RoundedWeights weights;
  Subject part = subject;
  part.samples = job.loaded.samples.get();
  const Clock::time_point start = Clock::now();
  const Sensitivities effects =
      measure_sensitivities(part, job.plan, single, job.reference.outputs, job.reference.shapes, weights, options);
  const double ms = 1000 * seconds_since(start);
  const double trials = static_cast<double>(effects.layers.size() * options.samples.size());
  return Json::Object{{"layers", effects.layers.size()},
                      {"samples", options.samples.size()},
                      {"seconds", ms / 1000},
                      {"trial_plain", ms / trials / plain_ms},
                      {"work_share", effects.mean_suffix_share}};
}

Json time_passes(const Options& options) {
  const Job job(options);
  const Session plain = plain_session(job, kPlainThreads);
  const Session single = plain_session(job, 1);
  const Sample first = job.loaded.samples->at(0);
  plain.run(first);
  single.run(first);
  const double guess = plain_ms_of(plain, TimedSamples(*job.loaded.samples, 1, 2), 2);
  const TimedSamples samples(*job.loaded.samples, 32, samples_a_round(guess));
  Subject subject = job.loaded.subject;
  subject.samples = &samples;

  Series series;
  for (std::size_t round = 0; round < options.rounds; ++round) {
    series.plain.push_back(plain_ms_of(plain, samples, samples.size()));
    const Clock::time_point start = Clock::now();
    parallel_ordered(
        samples.size(), kPlainThreads, [&](std::size_t i) { return single.run(samples.at(i)); },
        [](std::size_t, const std::vector<Tensor>&) { return true; });
    series.plain_side_by_side.push_back(1000 * seconds_since(start) / static_cast<double>(samples.size()));
    time_pass(
        samples, [&] { run_own_error(job, subject); }, series.own, series.own_build);
    time_pass(
        samples, [&] { run_lockstep(job, subject); }, series.lock, series.lock_build);
  }
  const Json plain_ms = summary(series.plain);
  return Json::Object{{"rounds", options.rounds},
                      {"samples_a_round", samples.size()},
                      {"candidates", job.candidates.size()},
                      {"layers", subject.layers.size()},
                      {"plain_ms", plain_ms},
                      {"plain_side_by_side_ms", summary(series.plain_side_by_side)},
                      {"own_error_ms", summary(series.own)},
                      {"own_error_build_ms", summary(series.own_build)},
                      {"own_error_plain", summary(ratios(series.own, series.plain))},
                      {"own_error_plain_side_by_side", summary(ratios(series.own, series.plain_side_by_side))},
                      {"lockstep_ms", summary(series.lock)},
                      {"lockstep_build_ms", summary(series.lock_build)},
                      {"lockstep_plain", summary(ratios(series.lock, series.plain))},
                      {"lockstep_plain_side_by_side", summary(ratios(series.lock, series.plain_side_by_side))},
                      {"effects", time_effects(job, subject, plain_ms.at("median").number())},
                      {"largest_live_set_bytes", bench::largest_live_set(job.loaded.subject)},
                      {"weight_bytes", bench::weight_bytes(job.loaded.subject.model)}};
}

/// Most memory this process ever held, in bytes. Of this program alone, unlike getrusage(), which starts from the
/// caller's.
std::int64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmHWM:")) return 1024 * std::stoll(line.substr(6));
  }
  throw Error(ErrorKind::Internal, "the system does not tell the peak memory of a process");
}

Json peak_of(const Options& options) {
  if (options.pass == "plain") {
    const Model model = read_model(options.model);
    const MeasureOptions measure = measure_options(options);
    const JobSinks sinks;
    const auto samples = Sources(measure, sinks).samples(model);
    const Session session(Runtime::load(), model,
                          {.optimize = true, .threads = kPlainThreads, .integer_kernels = true});
    for (std::size_t i = 0; i < samples->size(); ++i) session.run(samples->at(i));
    return Json::Object{{"samples", samples->size()}, {"peak_bytes", peak_bytes()}};
  }
  const Job job(options);
  const RepeatedSamples samples(*job.loaded.samples,
                                options.samples == 0 ? job.loaded.samples->size() : options.samples);
  Subject subject = job.loaded.subject;
  subject.samples = &samples;
  if (options.pass == "own-error") run_own_error(job, subject);
  if (options.pass == "lock-step") run_lockstep(job, subject);
  return Json::Object{{"samples", samples.size()}, {"peak_bytes", peak_bytes()}};
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Cost of the measuring passes in plain inferences");
  app.require_subcommand(1);
  CLI::App* time = app.add_subcommand("time", "Times of all passes side by side");
  CLI::App* peak = app.add_subcommand("peak", "Peak memory of one pass");
  peak->add_option("pass", options.pass)
      ->required()
      ->check(CLI::IsMember({"plain", "reference", "own-error", "lock-step"}));
  for (CLI::App* command : {time, peak}) {
    command->add_option("model", options.model)->required();
    command->add_option("--data", options.data)->required();
    command->add_option("--low", options.low);
    command->add_option("--carry", options.carries);
    command->add_option("--samples", options.samples);
  }
  time->add_option("--rounds", options.rounds)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  const Json result = time->parsed() ? time_passes(options) : peak_of(options);
  std::printf("%s\n", json_text(result, kPrettyJson).c_str());
  return 0;
}

}  // namespace
}  // namespace vernier

int main(int argc, char** argv) {
#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  std::fputs("main_job_bench: a debug or sanitizer build, times would mean nothing; use the release preset\n", stderr);
  return 2;
#endif
  try {
    return vernier::run(argc, argv);
  } catch (const vernier::Error& error) {
    std::fprintf(stderr, "main_job_bench: %s\n", error.what());
    return static_cast<int>(error.kind());
  }
}
