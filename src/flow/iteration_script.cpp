#include "flow/iteration_script.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "data/script_location.h"
#include "scripts/programs.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using Json = nlohmann::json;
using Kind = IterationScript::Kind;

const char* option_of(Kind kind) {
  return kind == Kind::Compare ? "--compare-func-script" : "--postprocess-func-script";
}

ScriptLocation location_of(const std::string& script, Kind kind) {
  const std::string function = kind == Kind::Compare ? "compare_outputs" : "postprocess_outputs";
  if (const auto location = script_location(script, function)) return *location;
  throw Error(ErrorKind::Usage, fmt::format("{}: '{}' names no Python file", option_of(kind), printable(script)),
              fmt::format("compare.py (its function is {}), or compare.py:function", function));
}

SourceOptions without_time(SourceOptions how) {
  how.script_seconds = 0;  // it is alive for as long as the job; each call is timed instead
  return how;
}

void save(const Iteration& iteration, const std::filesystem::path& path) {
  RunWriter writer(path, {"outputs"});
  writer.add(0, iteration);
  writer.finish();
}

}  // namespace

IterationScript::IterationScript(const std::string& script, Kind kind, const SourceOptions& how, const JobSinks& sinks)
    : process_(location_of(script, kind),
               [&] {
                 SourceOptions untimed = without_time(how);
                 untimed.interrupted = [this, interrupted = sinks.interrupted] {
                   return too_late() || (interrupted && interrupted());
                 };
                 return untimed;
               }()),
      seconds_(how.script_seconds),
      called_(std::chrono::steady_clock::now()) {
  process_.program = iterations_program();
  process_.arguments = {kind == Kind::Compare ? "compare" : "postprocess"};
  process_.kind = option_of(kind);
  process_.announces = "results";
  process_.inherited = {reply_.reading_end()};
  process_.said = [this](const Json& said) { take(said); };
  process_.place = [this] { return fmt::format("{}: {}", process_.where(), place_); };
  thread_ = std::thread([this] {
    std::exception_ptr failure;
    try {
      process_.run(scratch_);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    failure_ = failure;
    ended_ = true;
    changed_.notify_all();
  });
  std::exception_ptr failure;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return asking_ || ended_; });
    failure = failure_;
  }
  if (!failure) return;
  thread_.join();  // no destructor runs for what was never made
  if (late_) {
    throw Error(ErrorKind::Input, fmt::format("{}: was still being loaded after {} s", process_.where(), seconds_),
                "--timeout SECONDS says how long it may take");
  }
  std::rethrow_exception(failure);
}

IterationScript::~IterationScript() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

/// On the thread of the process, for each line that the program says.
void IterationScript::take(const Json& said) {
  std::unique_lock lock(mutex_);
  if (!said.contains("next")) {
    if (!said.contains("end")) answers_.push_back(said);
    changed_.notify_all();
    return;
  }
  asking_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return closed_ || !work_.empty(); });
  asking_ = false;
  Json work = Json::object();
  if (!work_.empty()) work = std::move(work_.back());
  work_.clear();
  called_ = std::chrono::steady_clock::now();
  reply_.send(scratch_, work.dump(-1, ' ', false, Json::error_handler_t::replace));
}

bool IterationScript::too_late() {
  const std::lock_guard lock(mutex_);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - called_;
  late_ = late_ || (seconds_ > 0 && !asking_ && spent.count() > seconds_);
  return late_;
}

Json IterationScript::call(std::size_t index, Json work) {
  std::unique_lock lock(mutex_);
  place_ = fmt::format("iteration {}", index);
  work_.push_back(std::move(work));
  changed_.notify_all();
  changed_.wait(lock, [&] { return !answers_.empty() || ended_; });
  if (answers_.empty()) {
    if (late_) {
      throw Error(ErrorKind::Input,
                  fmt::format("{}: {}: was still running after {} s", process_.where(), place_, seconds_),
                  "--timeout SECONDS says how long each call may take");
    }
    if (failure_) std::rethrow_exception(failure_);
    throw Error(ErrorKind::Input, fmt::format("{}: {}: the script ended", process_.where(), place_));
  }
  Json answer = std::move(answers_.back());
  answers_.clear();
  return answer;
}

Iteration IterationScript::postprocess(std::size_t index, const std::string& run, const Iteration& iteration) {
  const std::filesystem::path given = folder_ / "given.npz";
  const std::filesystem::path changed = folder_ / "changed.npz";
  save(iteration, given);
  call(index, {{"runs", Json::array({Json::array({run, given.string()})})}, {"out", changed.string()}});
  Iteration result = open_runs(changed).front()->at(0);
  result.seconds = iteration.seconds;
  return result;
}

void IterationScript::judge(IterationComparison& comparison, const std::string& run, const std::string& reference,
                            const Iteration& got, const Iteration& ref) {
  const std::filesystem::path got_file = folder_ / "got.npz";
  const std::filesystem::path ref_file = folder_ / "ref.npz";
  save(got, got_file);
  save(ref, ref_file);
  const Json said =
      call(comparison.iteration,
           {{"runs", Json::array({Json::array({run, got_file.string()}), Json::array({reference, ref_file.string()})})},
            {"out", ""}});
  std::vector<OutputComparison> judged;
  for (const Json& verdict : said.at("verdicts")) {
    FunctionResult result;
    result.function = CompareFunction::Script;
    result.compared = false;  // no figures that could be held against another threshold
    result.passed = verdict.at(1);
    result.reason = verdict.at(2);
    const std::string name = verdict.at(0);
    const auto known = std::find_if(comparison.outputs.begin(), comparison.outputs.end(),
                                    [&](const OutputComparison& output) { return output.output == name; });
    OutputComparison output;
    if (known != comparison.outputs.end()) output = std::move(*known);
    output.output = name;
    if (output.reference.empty()) output.reference = name;
    output.passed = result.passed;
    output.results = {std::move(result)};
    judged.push_back(std::move(output));
  }
  comparison.outputs = std::move(judged);
  comparison.passed =
      !comparison.outputs.empty() && std::all_of(comparison.outputs.begin(), comparison.outputs.end(),
                                                 [](const OutputComparison& output) { return output.passed; });
}

}  // namespace vernier
