#include "console/process_setup.h"

#if __has_include(<execinfo.h>)
#include <execinfo.h>
#endif
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include "base/mapped_file.h"
#include "vernier/error.h"

namespace vernier::cli {
namespace {

// What Linux gives by default. ONNX's checker and protobuf recurse with the depth of a model.
constexpr std::size_t kStackBytes = std::size_t{8} << 20U;

void occupy_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // Open gives the lowest number that is free: this one. Of the wrong direction, so that its use is an error.
    [[maybe_unused]] const int taken = ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

void write_text(std::string_view text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

// Only what POSIX allows in a signal handler: write and _exit.
void on_lost_page(int signal, siginfo_t* info, void* /*context*/) {
  if (info->si_code != BUS_ADRERR) {  // no page of a file: a fault of ours
    ::signal(signal, SIG_DFL);
    return;
  }
  const char* name = mapped_file_at(info->si_addr);
  write_text("error: ");
  write_text(name != nullptr ? name : "a file that was being read");
  write_text(
      ": it was truncated while vernier read it, or its disk failed\n hint: run again when nothing else writes to "
      "it (vernier help E302)\n");
  ::_exit(static_cast<int>(ErrorKind::Input));
}

std::terminate_handler usual_terminate = std::abort;

// A thread of a library may end with what its maker did not expect: without memory that is no fault of ours.
[[noreturn]] void on_uncaught() {
  if (const std::exception_ptr uncaught = std::current_exception()) {
    try {
      std::rethrow_exception(uncaught);
    } catch (const std::bad_alloc&) {
      write_text("error: out of memory\n hint: use fewer --threads, or raise the limit of the shell's ulimit\n");
      ::_exit(static_cast<int>(ErrorKind::Backend));
    } catch (...) {
      // The usual handler names it.
    }
  }
  usual_terminate();
  std::abort();
}

// The C library loads its unwinder when a thread first needs it, and aborts where there is no memory for that then.
void load_unwinder() {
#if __has_include(<execinfo.h>)
  void* frame = nullptr;
  ::backtrace(&frame, 1);
#endif
}

std::size_t stack_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kStackBytes;
  return limit.rlim_cur;
}

}  // namespace

void set_up_process() {
  occupy_closed_streams();
  ::signal(SIGXFSZ, SIG_IGN);
  struct sigaction action {};
  action.sa_sigaction = on_lost_page;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
  usual_terminate = std::set_terminate(on_uncaught);
  load_unwinder();
  if (stack_limit() >= kStackBytes) return;
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return;
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
#ifdef __GLIBC__
  ::pthread_setattr_default_np(&attributes);
#endif
  ::pthread_attr_destroy(&attributes);
}

int with_enough_stack(const std::function<int()>& body) {
  if (stack_limit() >= kStackBytes) return body();
  struct Task {
    const std::function<int()>* body;
    int code;
  } task{&body, static_cast<int>(ErrorKind::Internal)};
  const auto run = [](void* argument) -> void* {
    auto* const given = static_cast<Task*>(argument);
    given->code = (*given->body)();
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_t thread{};
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  const bool started = ::pthread_create(&thread, &attributes, run, &task) == 0;
  ::pthread_attr_destroy(&attributes);
  if (!started) return body();
  ::pthread_join(thread, nullptr);
  return task.code;
}

}  // namespace vernier::cli
