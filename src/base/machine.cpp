#include "base/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>

#include "base/parallel.h"
#include "base/text.h"

namespace vernier {

namespace {

/// Linux names x86 CPUs only. Boards with ARM cores have a name of their own.
std::string cpu_or_board() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  std::ifstream board("/proc/device-tree/model");
  if (std::getline(board, line, '\0') && !line.empty()) return line;
  utsname system{};
  return ::uname(&system) == 0 ? fmt::format("{} CPU", system.machine) : "unknown CPU";
}

}  // namespace

std::string machine_text() { return fmt::format("{}, {}", cpu_or_board(), plural(usable_cores(), "usable core")); }

void require_memory(std::size_t bytes) {
  void* volatile room = std::malloc(bytes);  // volatile: not optimized away
  if (room == nullptr) throw std::bad_alloc();
  std::free(room);
}

}  // namespace vernier
