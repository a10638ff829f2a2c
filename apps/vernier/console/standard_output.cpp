#include "console/standard_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace vernier::cli {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};

/// Where the name begins in `argument`; npos: it is none.
std::size_t name_in(const std::string& argument) {
  for (const std::string_view name : kNames) {
    if (argument == name) return 0;
    if (argument.starts_with("-") && argument.ends_with(fmt::format("={}", name))) return argument.size() - name.size();
  }
  return std::string::npos;
}

}  // namespace

std::vector<std::string> keep_stdout_for_files(std::vector<std::string> arguments) {
  const auto named = [](const std::string& argument) { return name_in(argument) != std::string::npos; };
  if (std::ranges::none_of(arguments, named)) return arguments;
  constexpr int kOutOfTheWay = 10;
  const int kept = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, kOutOfTheWay);
  if (kept < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return arguments;
  for (std::string& argument : arguments) {
    if (const std::size_t at = name_in(argument); at != std::string::npos) {
      argument.replace(at, std::string::npos, fmt::format("/dev/fd/{}", kept));
    }
  }
  return arguments;
}

}  // namespace vernier::cli
