#include "calls.h"

#include <nanobind/stl/string.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "vernier/report/note_text.h"

namespace nb = nanobind;

namespace vernier::python {
namespace {

constexpr std::chrono::milliseconds kBetween{50};  // looks for Ctrl-C

struct Event {
  const char* kind;
  std::string text;
  std::size_t done, total;
  std::string code;  // of a warning
};

/// What the two threads share.
class Exchange {
 public:
  JobSinks sinks() {
    JobSinks sinks;
    sinks.progress = [this](const std::string& phase, std::size_t done, std::size_t total) {
      const std::lock_guard lock(mutex_);
      // Only the newest counts: a job tells more often than anybody reads.
      if (!events_.empty() && events_.back().kind == kProgress) events_.pop_back();
      events_.push_back({kProgress, phase, done, total, {}});
    };
    sinks.warning = [this](const Note& note) { add({"warning", note_text(note), 0, 0, note.code}); };
    sinks.info = [this](const std::string& text) { add({"info", text, 0, 0, {}}); };
    sinks.step = [this](const JobStep& step) { add({"step", step.name, step.number, step.of, {}}); };
    sinks.interrupted = [this] { return stopped_.load(); };
    return sinks;
  }

  void run(const std::function<void(const JobSinks&)>& job) {
    try {
      const JobsOfThread jobs;
      {
        const std::lock_guard lock(mutex_);
        jobs_ = &jobs;
      }
      try {
        job(sinks());
      } catch (...) {
        failure_ = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      jobs_ = nullptr;
    } catch (...) {
      failure_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_one();
  }

  /// True when the job has ended. What it told meanwhile is in `events`.
  bool wait(std::deque<Event>& events) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kBetween, [&] { return ended_; });
    events.swap(events_);
    // Again and again: a job begins some runs before it polls.
    if (stopped_ && jobs_ != nullptr) jobs_->end_runs();
    return ended_;
  }

  void stop() { stopped_ = true; }
  std::exception_ptr failure() const { return failure_; }

 private:
  static constexpr const char* kProgress = "progress";

  void add(Event event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Event> events_;
  const JobsOfThread* jobs_ = nullptr;
  std::exception_ptr failure_;
  std::atomic<bool> stopped_ = false;
  bool ended_ = false;
};

}  // namespace

void call(const nb::object& listener, const std::function<void(const JobSinks&)>& job) {
  Exchange exchange;
  std::thread worker([&] { exchange.run(job); });
  std::exception_ptr raised;  // here, by Ctrl-C or by the listener
  for (bool ended = false; !ended;) {
    std::deque<Event> events;
    {
      const nb::gil_scoped_release released;
      ended = exchange.wait(events);
    }
    try {
      if (PyErr_CheckSignals() != 0) nb::raise_python_error();
      for (const Event& event : events) {
        if (!listener.is_none() && !raised) listener(event.kind, event.text, event.done, event.total, event.code);
      }
    } catch (...) {
      if (!raised) raised = std::current_exception();
      exchange.stop();
    }
  }
  {
    const nb::gil_scoped_release released;  // what the thread lets go of may be Python's
    worker.join();
  }
  if (raised) std::rethrow_exception(raised);
  if (exchange.failure()) std::rethrow_exception(exchange.failure());
}

Held hold(nb::object function) {
  return {new nb::object(std::move(function)), [](nb::object* object) {
            if (!nb::is_alive()) return;
            const nb::gil_scoped_acquire acquired;
            delete object;
          }};
}

}  // namespace vernier::python
