#include "base/machine.h"

#include <fmt/format.h>

#include <fstream>

#include "base/parallel.h"

namespace vernier {

std::string machine_text() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  std::string model = "unknown CPU";
  while (std::getline(info, line)) {
    if (line.starts_with("model name")) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  }
  return fmt::format("{}, {} usable cores", model, usable_cores());
}

}  // namespace vernier
