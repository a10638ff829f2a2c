// Where a job tells how far it is, and asks whether it shall end.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "vernier/export.h"
#include "vernier/note.h"

namespace vernier {

/// Takes a warning, each once a job. note_text() (report/note_text.h) makes its sentence.
using Warn = std::function<void(const Note&)>;

/// A part of a long job: the third of nine.
struct JobStep {
  std::string name;
  std::size_t number = 0, of = 0;  // from 1
  /// Of the job's time, as it is spent as a rule: what is behind when this one begins, and what this one takes. 0 to 1.
  double behind = 0, share = 0;
};

/// Where a job tells how far it is. Each may be empty. They are called on the thread that called the job and on the
/// job's own threads, `interrupted` on several at a time: what they touch must bear that. The last call has returned
/// when the job returns. An exception of theirs ends the job, and comes out of it.
struct JobSinks {
  /// Phase, items done, items in all. Called often; the receiver decides what to print.
  std::function<void(const std::string& phase, std::size_t done, std::size_t total)> progress;
  Warn warning;                                  // also listed in the report
  std::function<void(const std::string&)> info;  // one line a phase, shown with -v
  /// Polled between samples and trials; true ends the job: what was found so far is returned or written.
  std::function<bool()> interrupted;
  /// When a step begins; only jobs of several steps tell them.
  std::function<void(const JobStep& step)> step;

  void warn(const Note& note) const {
    if (warning) warning(note);
  }
  bool is_interrupted() const { return interrupted && interrupted(); }
};

/// Ends the runs of ONNX Runtime that this process is inside of, each at its next node: the job that is running gives
/// Error{Interrupted} or what it has found so far. For whoever makes JobSinks::interrupted true: a job polls that
/// between runs, and a run may take long. Runs that begin later are not ended. False: there was none. Safe from any
/// thread, not from a signal handler.
VERNIER_API bool end_runs_in_flight();

/// The jobs that one thread calls while this lives, so that their runs alone are ended: for programs with several jobs
/// at a time. One a thread.
class VERNIER_API JobsOfThread {
 public:
  JobsOfThread();
  ~JobsOfThread();
  JobsOfThread(const JobsOfThread&) = delete;
  JobsOfThread& operator=(const JobsOfThread&) = delete;
  /// As end_runs_in_flight(), of these jobs. From any thread.
  void end_runs() const;
};

}  // namespace vernier
