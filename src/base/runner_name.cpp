#include "base/runner_name.h"

#include <cctype>
#include <cstddef>

namespace vernier {

std::string_view without_time(std::string_view runner) {
  constexpr std::string_view kTime = "-00/00/00-00:00:00";
  if (runner.size() < kTime.size()) return runner;
  const std::string_view end = runner.substr(runner.size() - kTime.size());
  for (std::size_t i = 0; i < kTime.size(); ++i) {
    const bool digit = std::isdigit(static_cast<unsigned char>(end[i])) != 0;
    if (kTime[i] == '0' ? !digit : end[i] != kTime[i]) return runner;
  }
  return runner.substr(0, runner.size() - kTime.size());
}

}  // namespace vernier
