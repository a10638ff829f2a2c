#include "engines/onnxruntime/runs_in_flight.h"

#include <mutex>
#include <set>

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

RunInFlight::RunInFlight(const Runtime& runtime) : runtime_(runtime) {
  OrtRunOptions* raw = nullptr;
  runtime.check(runtime.api().CreateRunOptions(&raw));
  options_ = {runtime.api(), raw};
  const std::lock_guard guard(list().lock);
  list().runs.insert(this);
}

RunInFlight::~RunInFlight() {
  const std::lock_guard guard(list().lock);
  list().runs.erase(this);
}

bool RunInFlight::told_to_end() const {
  const std::lock_guard guard(list().lock);
  return told_;
}

void end_runs_in_flight() {
  const std::lock_guard guard(list().lock);
  for (RunInFlight* run : list().runs) {
    if (run->told_) continue;
    run->runtime_.check(run->runtime_.api().RunOptionsSetTerminate(run->options_.get()));
    run->told_ = true;
  }
}

}  // namespace vernier
