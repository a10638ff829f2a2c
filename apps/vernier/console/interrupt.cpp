#include "console/interrupt.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>
#include <thread>

#include "vernier/error.h"
#include "vernier/sinks.h"

namespace vernier::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;
std::atomic<bool> learned = false;
int wake_up = -1;  // the end of a pipe that the handler writes to

// A run that is still there is ended again and again: jobs begin some before they poll.
constexpr std::chrono::milliseconds kBetween{200};

/// Waits for the first interrupt in a thread of its own, then ends what jobs are inside of.
void end_runs_when_asked(int asked) {
  char byte = 0;
  while (::read(asked, &byte, 1) < 0 && errno == EINTR) {
  }
  for (; interrupted != 0; std::this_thread::sleep_for(kBetween)) {
    if (end_runs_in_flight()) learned = true;
  }
}

// Only what POSIX allows in a signal handler: write and _exit.
void on_interrupt(int signal) {
  if (interrupted != 0 && signal == SIGHUP) return;
  if (interrupted != 0) ::_exit(static_cast<int>(ErrorKind::Interrupted));
  interrupted = 1;
  const int before = errno;
  constexpr std::string_view kMessage = "\nstopping; press Ctrl-C again to stop at once\n";
  [[maybe_unused]] auto written = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  written = ::write(wake_up, "", 1);
  errno = before;
}

}  // namespace

void catch_interrupts() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) == 0) {
    wake_up = ends[1];
    std::thread(end_runs_when_asked, ends[0]).detach();
  }
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    // Started in the background of a script, or by nohup: what ends the script or the terminal is not meant for this
    // process.
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }
}

bool was_interrupted() {
  if (interrupted != 0) learned = true;
  return interrupted != 0;
}

bool cut_short() { return learned; }

}  // namespace vernier::cli
