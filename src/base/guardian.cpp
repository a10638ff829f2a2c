#include "base/guardian.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

namespace vernier {
namespace {

// Signals that end a whole session or terminal do not reach it, and it waits for none.
constexpr const char* kWatch = "trap '' HUP INT TERM; read -r ended || kill -9 \"-$0\"";

}  // namespace

Guardian::Guardian(pid_t group) {
  std::array<int, 2> ends{};
  // Not a pipe: writing to one that nobody reads any more would end us.
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
  ours_ = Descriptor(ends[1]);
  const Descriptor theirs(ends[0]);
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::string shell = "sh";
  std::string option = "-c";
  std::string watch = kWatch;
  std::string number = std::to_string(group);
  std::array<char*, 5> arguments{shell.data(), option.data(), watch.data(), number.data(), nullptr};
  if (::posix_spawnp(&shell_, "sh", &actions, &attributes, arguments.data(), ::environ) != 0) shell_ = 0;
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
}

Guardian::~Guardian() {
  if (shell_ == 0) return;
  constexpr char kEnded = '\n';
  ::send(ours_.get(), &kEnded, 1, MSG_NOSIGNAL);
  while (::waitpid(shell_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace vernier
