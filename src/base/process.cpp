#include "base/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "base/descriptor.h"
#include "base/guardian.h"
#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFirstInherited = 3;
// How long a program that was asked to end may take to do so.
constexpr std::chrono::milliseconds kGrace{1000};
constexpr int kLongestWaitMs = 20;

[[noreturn]] void cannot_start(const std::string& program, int error) {
  throw Error(ErrorCode::ProgramFails,
              fmt::format("{}: cannot be started: {}", printable(program), std::strerror(error)));
}

// What posix_spawn is told: which descriptors the program has, its process group and its signals.
class SpawnPlan {
 public:
  SpawnPlan(const std::string& program, int standard_output, int standard_error, const std::vector<int>& inherited) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, standard_output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, standard_error, STDERR_FILENO);
    const int end = kFirstInherited + static_cast<int>(inherited.size());
    for (const int fd : inherited) {
      // Moved out of the way first, so that no target is a source that is still needed.
      copies_.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, end));
      if (copies_.back().get() < 0) cannot_start(program, errno);
      ::posix_spawn_file_actions_adddup2(&actions_, copies_.back().get(),
                                         kFirstInherited + static_cast<int>(copies_.size()) - 1);
    }
    // Libraries open files without asking whether programs should inherit them.
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, end);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t defaults;
    ::sigemptyset(&defaults);
    ::sigaddset(&defaults, SIGPIPE);
    ::posix_spawnattr_setsigdefault(&attributes_, &defaults);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
  std::vector<Descriptor> copies_;
};

// A running program. Whatever happens, its group is gone and it is reaped when this is.
class Child {
 public:
  Child(const std::vector<std::string>& arguments, const SpawnPlan& plan) {
    std::vector<char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
    pointers.push_back(nullptr);
    const int error = ::posix_spawnp(&pid_, pointers[0], plan.actions(), plan.attributes(), pointers.data(), ::environ);
    if (error != 0) cannot_start(arguments.front(), error);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) reap();
  }

  pid_t group() const { return pid_; }
  void send(int signal) const { ::kill(-pid_, signal); }

  bool has_ended() const {
    siginfo_t info{};
    // Left as a zombie, which keeps the number of its group from being given to others.
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid_;
  }

  /// Ends what is left of the group, waits, and returns the status.
  int reap() {
    send(SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_ = 0;
};

// Hands over what can be read without waiting; of a program that never stops writing, a part. False: the other side is
// closed.
bool read_available(int fd, const std::function<void(std::string_view)>& take) {
  std::array<char, 65536> buffer{};
  for (int round = 0; round < 64; ++round) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got > 0) {
      take({buffer.data(), static_cast<std::size_t>(got)});
    } else if (got == 0) {
      return false;
    } else if (errno != EINTR) {
      return errno == EAGAIN;
    }
  }
  return true;
}

// What a program writes to one of its standard descriptors, on its way to `take`; our standard error without one.
class Pipe {
 public:
  Pipe(const std::string& program, const std::function<void(std::string_view)>& take) : take_(take) {
    if (!take) return;
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) cannot_start(program, errno);
    ours_ = Descriptor(ends[0]);
    theirs_ = Descriptor(ends[1]);
    ::fcntl(ours_.get(), F_SETFL, O_NONBLOCK);
  }
  int ours() const { return ours_.get(); }
  int theirs() const { return take_ ? theirs_.get() : STDERR_FILENO; }
  void close_theirs() { theirs_.close(); }
  void read() {
    if (ours_.get() >= 0 && !read_available(ours_.get(), take_)) ours_.close();
  }

 private:
  const std::function<void(std::string_view)>& take_;
  Descriptor ours_, theirs_;
};

// Decides when a program has had its time, and ends it: asks first, then insists.
class Limits {
 public:
  Limits(const ProcessOptions& options, ProcessEnd& end) : options_(options), end_(end) {}

  void enforce(const Child& child) {
    const Clock::time_point now = Clock::now();
    if (asked_) {
      if (now - asked_at_ > kGrace) child.send(SIGKILL);
      return;
    }
    const std::chrono::duration<double> passed = now - start_;
    if (options_.interrupted && options_.interrupted()) {
      end_.interrupted = true;
    } else if (options_.timeout_seconds > 0 && passed.count() > options_.timeout_seconds) {
      end_.timed_out = true;
    } else {
      return;
    }
    child.send(SIGTERM);
    asked_ = true;
    asked_at_ = now;
  }

 private:
  const ProcessOptions& options_;
  ProcessEnd& end_;
  Clock::time_point start_ = Clock::now();
  bool asked_ = false;
  Clock::time_point asked_at_;
};

}  // namespace

ProcessEnd run_process(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  if (arguments.empty() || arguments.front().empty()) {
    throw Error(ErrorKind::Internal, "a program without a name was to be started");
  }
  Pipe output(arguments.front(), options.output);
  Pipe errors(arguments.front(), options.errors);
  ProcessEnd end;
  Limits limits(options, end);
  Child child(arguments, SpawnPlan(arguments.front(), output.theirs(), errors.theirs(), options.inherited));
  const Guardian guardian(child.group());
  output.close_theirs();
  errors.close_theirs();
  for (int wait_ms = 1; !child.has_ended(); wait_ms = std::min(2 * wait_ms, kLongestWaitMs)) {
    // A descriptor below zero is only waited for in vain.
    std::array<pollfd, 2> wanted{{{output.ours(), POLLIN, 0}, {errors.ours(), POLLIN, 0}}};
    ::poll(wanted.data(), wanted.size(), wait_ms);  // Ctrl-C ends the wait
    output.read();
    errors.read();
    limits.enforce(child);
  }
  const int status = child.reap();
  // Not until it is closed: a process that left the group may hold the other side open.
  output.read();
  errors.read();
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
  } else {
    end.exit_code = WEXITSTATUS(status);
  }
  return end;
}

std::string end_text(const ProcessEnd& end) {
  if (end.interrupted) return "was interrupted";
  if (end.timed_out) return "did not end in time";
  if (end.signal != 0) {
    const char* words = ::sigdescr_np(end.signal);
    return fmt::format("was killed by signal {} ({})", end.signal, words == nullptr ? "unknown" : words);
  }
  return fmt::format("ended with exit code {}", end.exit_code);
}

}  // namespace vernier
