// When progress is worth showing, and as what. Knows no terminal and no clock: both are told, so that tests can set
// them. Console (console.h) writes what comes out of here.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "vernier/sinks.h"

namespace vernier::cli {

class Progress {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `redraws`: one line drawn over itself at most 10 times a second (a terminal). Otherwise a line of its own every 5
  /// seconds. Nothing in the first second after `start`: short jobs stay silent.
  Progress(bool redraws, Time start) : redraws_(redraws), start_(start), phase_start_(start) {}

  /// For files and pipes: a line when a step begins, or a phase of a job without steps, and every 30 seconds. Nothing
  /// in the first 5 seconds.
  void only_heartbeat() {
    heartbeat_ = true;
    silence_ = std::chrono::seconds(5);
    between_ = std::chrono::seconds(30);
  }

  /// The job of several steps begins one: from here on lines say which, and the time left is the job's.
  void step(const JobStep& step);

  /// The line to show now, without control characters or line end; nullopt when it is too early for another.
  /// `total` 0: unknown.
  std::optional<std::string> line(const std::string& phase, std::size_t done, std::size_t total, Time now);

 private:
  /// What is left of the job at a share of its step; nullopt when too little is behind to tell. Within a step of
  /// several phases, whose number nobody knows, the clock says it.
  std::optional<std::chrono::seconds> left(double share, Time now);

  bool redraws_;
  bool heartbeat_ = false;
  bool announce_ = false;  // the step that has begun
  std::string announced_;  // the phase of the last line
  std::chrono::seconds silence_{1}, between_{5};
  Time start_;
  Time phase_start_;
  std::size_t done_at_start_ = 0;
  std::size_t done_ = 0;
  std::optional<Time> last_;
  std::string phase_;
  std::optional<JobStep> step_;
  std::optional<Time> step_start_;  // about: when its first item was told
  int phases_of_step_ = 0;
  bool late_ = false;  // the step takes longer than its share
};

/// "8 s", "3 min 20 s", "2 h 5 min".
std::string duration_text(std::chrono::seconds duration);

}  // namespace vernier::cli
