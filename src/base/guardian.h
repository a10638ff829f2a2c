// Ends a group of processes when this process is gone, whatever ended it: nobody can catch SIGKILL.
#pragma once

#include <sys/types.h>

#include "base/descriptor.h"

namespace vernier {

/// As long as it lives, a shell waits beside the group: when its line to us
/// closes without a word, it kills the group.
/// Does nothing where no shell can be started.
class Guardian {
 public:
  explicit Guardian(pid_t group);
  /// Sends the shell home: the group has ended.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

 private:
  pid_t shell_ = 0;
  Descriptor ours_;
};

}  // namespace vernier
