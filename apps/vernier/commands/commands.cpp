#include "commands/commands.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "console/console.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::cli {

void add_message_options(CLI::App& app, MessageGroup& messages) {
  messages.add(app);
  set_help_flag(app, "Messages");
}

void print_result(Console& console, const std::string& result) {
  console.end_progress();
  console.expect_json(false);
  console.log_result(result);
  errno = 0;
  std::fwrite(result.data(), 1, result.size(), stdout);
  if (!result.ends_with('\n')) std::fputc('\n', stdout);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw Error(ErrorCode::FileUnwritable, fmt::format("standard output: cannot write: {}", std::strerror(errno)));
  }
}

}  // namespace vernier::cli
