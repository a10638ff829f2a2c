#include "engines/onnxruntime/runs_in_flight.h"

#include <fmt/format.h>
#include <onnxruntime_run_options_config_keys.h>

#include <mutex>
#include <set>

#include "base/parallel.h"
#include "vernier/sinks.h"

namespace vernier {
namespace {

struct List {
  std::mutex lock;
  std::set<RunInFlight*> runs;
};

/// Never destroyed: a thread may still ask while the process ends.
List& list() {
  static List& only = *new List;
  return only;
}

}  // namespace

RunInFlight::RunInFlight(const Runtime& runtime) : runtime_(runtime), for_whom_(works_for()) {
  OrtRunOptions* raw = nullptr;
  runtime.check(runtime.api().CreateRunOptions(&raw));
  options_ = {runtime.api(), raw};
  const std::lock_guard guard(list().lock);
  list().runs.insert(this);
}

void RunInFlight::return_memory_of_gpu(int index) {
  runtime_.check(runtime_.api().AddRunConfigEntry(options_.get(), kOrtRunOptionsConfigEnableMemoryArenaShrinkage,
                                                  fmt::format("gpu:{}", index).c_str()));
}

RunInFlight::~RunInFlight() {
  const std::lock_guard guard(list().lock);
  list().runs.erase(this);
}

bool RunInFlight::told_to_end() const {
  const std::lock_guard guard(list().lock);
  return told_;
}

bool RunInFlight::end_those(const void* whom) {
  const std::lock_guard guard(list().lock);
  bool any = false;
  for (RunInFlight* run : list().runs) {
    if (run->told_ || (whom != nullptr && run->for_whom_ != whom)) continue;
    run->runtime_.check(run->runtime_.api().RunOptionsSetTerminate(run->options_.get()));
    run->told_ = any = true;
  }
  return any;
}

bool end_runs_in_flight() { return RunInFlight::end_those(nullptr); }

JobsOfThread::JobsOfThread() { works_for() = this; }
JobsOfThread::~JobsOfThread() { works_for() = nullptr; }
void JobsOfThread::end_runs() const { RunInFlight::end_those(this); }

}  // namespace vernier
