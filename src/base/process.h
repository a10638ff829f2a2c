// Another program, started without a shell and watched until it ends. It gets a process group of its own, which is
// ended with it: nothing that it started stays behind.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace vernier {

struct ProcessOptions {
  /// Takes the program's standard output as it comes; empty: it goes to our standard error, because ours is for
  /// results. What it throws ends the program and is rethrown.
  std::function<void(std::string_view)> output;
  /// The same for its standard error; empty: it is ours.
  std::function<void(std::string_view)> errors;
  /// Descriptors that the program finds as 3, 4, ...; it gets no other one of ours but standard error.
  std::vector<int> inherited;
  double timeout_seconds = 0;  // 0: none
  /// Polled while the program runs; true ends it.
  std::function<bool()> interrupted;
};

/// How a program ended. At most one of these says why it did not do so by itself.
struct ProcessEnd {
  int exit_code = 0;
  int signal = 0;  // it was ended by this one; 0: it was not
  bool timed_out = false;
  bool interrupted = false;
  bool succeeded() const { return exit_code == 0 && signal == 0 && !timed_out && !interrupted; }
};

/// Runs `arguments`, the program first: a path, or a name that PATH leads to. Its standard input is empty.
/// Errors: Backend when it cannot be started, naming it and the system's reason. That it failed is a value.
ProcessEnd run_process(const std::vector<std::string>& arguments, const ProcessOptions& options = {});

/// "ended with exit code 3", "was killed by signal 11 (Segmentation fault)", "was interrupted", "did not end in time".
std::string end_text(const ProcessEnd& end);

}  // namespace vernier
