#include "scripts/script_session.h"

#include <fmt/format.h>

#include <utility>

#include "vernier/error.h"
#include "vernier/samples.h"

namespace vernier {
namespace {

SourceOptions without_time(SourceOptions how) {
  how.script_seconds = 0;  // it is alive for as long as the job; each call is timed instead
  return how;
}

}  // namespace

ScriptSession::ScriptSession(ScriptLocation script, const SessionProgram& program, const SourceOptions& how)
    : process_(std::move(script),
               [&] {
                 SourceOptions untimed = without_time(how);
                 untimed.interrupted = [this, interrupted = how.interrupted] {
                   return too_late() || (interrupted && interrupted());
                 };
                 return untimed;
               }()),
      seconds_(how.script_seconds),
      called_(std::chrono::steady_clock::now()) {
  process_.program = program.program;
  process_.arguments = program.arguments;
  process_.kind = program.kind;
  process_.announces = program.announces;
  process_.fault = program.fault;
  process_.held = program.held;
  process_.errors = program.errors;
  process_.inherited = {reply_.reading_end()};
  process_.said = [this](const Json& said) { take(said); };
  process_.place = [this] { return where(); };
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
    throw Error(process_.fault, fmt::format("{}: was still being loaded after {} s", process_.where(), seconds_),
                "‹timeout› SECONDS says how long it may take");
  }
  std::rethrow_exception(failure);
}

ScriptSession::~ScriptSession() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

std::string ScriptSession::where() const {
  return place_.empty() ? process_.where() : fmt::format("{}: {}", process_.where(), place_);
}

/// On the thread of the process, for each line that the program says.
void ScriptSession::take(const Json& said) {
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
  reply_.send(scratch_, json_text(work));
}

bool ScriptSession::too_late() {
  const std::lock_guard lock(mutex_);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - called_;
  late_ = late_ || (seconds_ > 0 && !asking_ && spent.count() > seconds_);
  return late_;
}

Json ScriptSession::call(const std::string& place, Json work) {
  std::unique_lock lock(mutex_);
  place_ = place;
  work_.push_back(std::move(work));
  changed_.notify_all();
  changed_.wait(lock, [&] { return !answers_.empty() || ended_; });
  if (answers_.empty()) {
    if (late_) {
      throw Error(process_.fault, fmt::format("{}: was still running after {} s", where(), seconds_),
                  "‹timeout› SECONDS says how long each call may take");
    }
    if (failure_) std::rethrow_exception(failure_);
    throw Error(process_.fault, fmt::format("{}: {} ended", where(), process_.held));
  }
  Json answer = std::move(answers_.back());
  answers_.clear();
  return answer;
}

}  // namespace vernier
