// A job called from Python: it runs on a thread of its own, without the lock of the interpreter; what it tells is
// handed to Python on the thread that called, where Ctrl-C is looked for, too.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "vernier/sinks.h"

namespace vernier::python {

/// Runs `job` and returns when it has ended. `listener`: None, or called as listener(kind, text, done, total, code)
/// with kind "progress", "warning", "info" or "step"; only a warning has a code. Ctrl-C, and what `listener` raises,
/// ends the job; it is raised again when the job has ended, and what the job throws then is dropped. What the job
/// throws otherwise is thrown here.
void call(const nanobind::object& listener, const std::function<void(const JobSinks&)>& job);

/// What `job` gives. Errors: as call().
template <class Job>
auto call_for(const nanobind::object& listener, const Job& job) {
  std::optional<decltype(job(std::declval<const JobSinks&>()))> result;
  call(listener, [&](const JobSinks& sinks) { result.emplace(job(sinks)); });
  return std::move(*result);
}

/// A Python function that threads of a job call, each call with the interpreter's lock. Its last copy may go on any of
/// them.
using Held = std::shared_ptr<nanobind::object>;
Held hold(nanobind::object function);

}  // namespace vernier::python
