#include "base/parallel.h"

#include <sched.h>

namespace vernier {

const void*& works_for() {
  thread_local const void* whom = nullptr;
  return whom;
}

std::size_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  const int cores = CPU_COUNT(&set);
  return cores > 0 ? static_cast<std::size_t>(cores) : 1;
}

}  // namespace vernier
