#include "console/interrupt.h"

#include <unistd.h>

#include <csignal>
#include <string_view>

#include "vernier/error.h"

namespace vernier::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

// Only what POSIX allows in a signal handler: write and _exit.
void on_interrupt(int /*signal*/) {
  if (interrupted != 0) ::_exit(static_cast<int>(ErrorKind::Interrupted));
  interrupted = 1;
  constexpr std::string_view kMessage = "\ninterrupted: ending; once more ends at once\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
}

}  // namespace

void catch_interrupts() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    // Started in the background of a script: the Ctrl-C that ends the script is not meant for this process.
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }
}

bool was_interrupted() { return interrupted != 0; }

}  // namespace vernier::cli
