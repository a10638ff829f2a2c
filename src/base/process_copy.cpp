#include "base/process_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>

#include "base/descriptor.h"
#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

[[noreturn]] void work_in_copy(const std::function<void()>& work, unsigned seconds, int words) {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);  // a crash that is expected leaves no file
  for (const int signal : {SIGINT, SIGTERM, SIGALRM}) ::signal(signal, SIG_DFL);
  ::dup2(words, STDOUT_FILENO);
  ::dup2(words, STDERR_FILENO);
  ::alarm(seconds);
  try {
    work();
  } catch (...) {  // the caller does the same again and gets it
  }
  ::_exit(0);
}

}  // namespace

ProcessEnd run_in_copy(const std::function<void()>& work, unsigned seconds, std::string& words) {
  std::array<int, 2> ends{};
  // Never waited for: what does not fit into the pipe is lost.
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    throw Error(ErrorCode::SystemLimit, fmt::format("no pipe can be made: {}", std::strerror(errno)));
  }
  const Descriptor ours(ends[0]), theirs(ends[1]);
  const pid_t copy = ::fork();
  if (copy < 0) throw Error(ErrorCode::SystemLimit, fmt::format("no process can be started: {}", std::strerror(errno)));
  if (copy == 0) work_in_copy(work, seconds, theirs.get());
  int status = 0;
  while (::waitpid(copy, &status, 0) < 0 && errno == EINTR) {
  }
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = ::read(ours.get(), buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  words = last_line(text);
  ProcessEnd end;
  end.timed_out = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
  end.interrupted = WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM);
  if (WIFSIGNALED(status) && !end.timed_out && !end.interrupted) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  return end;
}

}  // namespace vernier
