#include "options/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>

#include "console/console.h"
#include "options/parse_values.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::cli {

void MessageGroup::add(CLI::App& app) {
  add_flag(app, "-v,--verbose", verbose, "Also print what each phase does").group("Messages");
  add_flag(app, "-q,--quiet", quiet, "No progress; twice: no warnings either (the report still lists them)")
      .group("Messages");
  add_flag(
      app, "--silent", [this] { quiet = 2; }, "The same as -qq")
      .group("Messages");
  add_flag(app, "--print-command", print_command, "Print this command with the defaults of its options, and do nothing")
      .group("Messages");
  add_value(app, "--log-file", log_file, "FILE",
            "Also append all messages and results, with times, to FILE; not JSON or CSV (default: none)")
      .writes()
      .group("Messages");
}

void ResultGroup::add(CLI::App& app) {
  add_flag(app, "--json", json, "Print the report as JSON, and nothing else, on stdout").group("Output");
  add_value(app, "--top", top, "N", "Layers in the printed table; 0: all (default: 15)").group("Output");
}

TextOptions ResultGroup::values(const Console& console) const {
  TextOptions options = text_options(console);
  options.top = parse_count("--top", top, 0, std::numeric_limits<std::size_t>::max());
  return options;
}

TextOptions text_options(const Console& console) {
  TextOptions options;
  options.shown = &console.shown_warnings();
  const std::optional<std::size_t> terminal = terminal_width(STDOUT_FILENO);
  options.width = terminal.value_or(options.width);
  options.whole_names = !terminal;
  options.color = wants_color(STDOUT_FILENO);
  return options;
}

namespace {

void require_access(const std::filesystem::path& wanted, const std::filesystem::path& folder) {
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return;
  const std::string reason = std::strerror(errno);
  throw Error(ErrorCode::FileUnwritable,
              fmt::format("{}: cannot write: {}: {}", wanted.string(), folder.string(), reason),
              "choose another folder");
}

}  // namespace

void require_writable_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::path existing = std::filesystem::absolute(folder);
  while (!std::filesystem::exists(existing, ignored) && existing.has_relative_path()) existing = existing.parent_path();
  if (!std::filesystem::is_directory(existing, ignored)) {
    throw Error(ErrorCode::FileUnwritable,
                fmt::format("{}: cannot write: {} is not a folder", folder.string(), existing.string()),
                "choose a folder");
  }
  require_access(folder, existing);
}

void require_writable_file(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    throw Error(ErrorCode::FileUnwritable, fmt::format("{}: is a folder", file.string()), "choose a file");
  }
  std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  // Folders that are missing are made when the file is written.
  while (!std::filesystem::exists(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  if (!std::filesystem::is_directory(folder, ignored)) {
    throw Error(ErrorCode::FileUnwritable,
                fmt::format("{}: cannot write: {} is not a folder", file.string(), folder.string()));
  }
  require_access(file, folder);
}

}  // namespace vernier::cli
