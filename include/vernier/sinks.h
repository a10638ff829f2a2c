// Where a job tells how far it is, and asks whether it shall end.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace vernier {

/// Where a job tells how far it is. Each may be empty.
struct JobSinks {
  /// Phase, items done, items in all. Called often; the receiver decides what to print.
  std::function<void(const std::string& phase, std::size_t done, std::size_t total)> progress;
  std::function<void(const std::string&)> warning;  // also listed in the report
  std::function<void(const std::string&)> info;     // one line a phase, shown with -v
  /// Polled between samples and trials; true ends the job: what was found so far is returned or written.
  std::function<bool()> interrupted;

  bool is_interrupted() const { return interrupted && interrupted(); }
};

}  // namespace vernier
