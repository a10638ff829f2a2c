#include "console/console.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/layout.h"
#include "console/interrupt.h"
#include "distributed/launcher.h"
#include "options/options.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/marks.h"
#include "vernier/report/note_text.h"

namespace vernier::cli {
namespace {

constexpr std::string_view kWarningLabel = "warning: ";  // of reports, and of kStderrPattern
// "warning: text", the word in colour.
const char* const kStderrPattern = "%^%l%$: %v";
const char* const kFilePattern = "%Y-%m-%d %H:%M:%S.%e %l: %v";

spdlog::level::level_enum level_of(const MessageGroup& options) {
  if (options.quiet >= 2) return spdlog::level::err;
  if (options.verbose >= 1 && options.quiet == 0) return spdlog::level::info;
  return spdlog::level::warn;
}

/// A log file holds no escape sequences of terminals: "ESC [ ... letter".
std::string without_colors(std::string_view line) {
  std::string plain;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!line.substr(i).starts_with("\x1b[")) {
      plain += line[i];
      continue;
    }
    i += 2;
    while (i < line.size() && (line[i] < '@' || line[i] > '~')) ++i;
  }
  return plain;
}

/// mpirun gives each rank a terminal of its own, and passes on what it reads there, wherever that goes.
bool is_terminal(int descriptor) { return launcher_of_this().mpi.empty() && ::isatty(descriptor) != 0; }

}  // namespace

std::optional<std::size_t> terminal_width(int descriptor) {
  winsize size{};
  if (!is_terminal(descriptor) || ::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

bool wants_color(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  return is_terminal(descriptor) && term != nullptr && std::string_view(term) != "dumb";
}

Console::Console()
    : progress_(is_terminal(STDERR_FILENO), std::chrono::steady_clock::now()), terminal_(is_terminal(STDERR_FILENO)) {
  auto sink = std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>(
      wants_color(STDERR_FILENO) ? spdlog::color_mode::always : spdlog::color_mode::never);
  sink->set_pattern(kStderrPattern);
  sink->set_level(spdlog::level::warn);
  logger_ = std::make_shared<spdlog::logger>("vernier", std::move(sink));
  logger_->set_level(spdlog::level::info);
  logger_->flush_on(spdlog::level::info);
}

Console::~Console() { end_progress(); }

void Console::configure(const MessageGroup& options) {
  shows_progress_ = options.quiet == 0;
  is_verbose_ = options.verbose > 0;
  if (!terminal_ && !is_verbose_) progress_.only_heartbeat();
  logger_->sinks().front()->set_level(level_of(options));
  if (options.log_file.empty()) return;
  try {
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.log_file);
    sink->set_pattern(kFilePattern);
    log_file_name_ = options.log_file;
    log_file_ = std::make_shared<spdlog::logger>("vernier", sink);
    log_file_->set_level(spdlog::level::info);
    log_file_->flush_on(spdlog::level::info);
    for (const auto& logger : {logger_, log_file_}) {
      logger->set_error_handler([this](const std::string& why) { log_failure_ = why; });
    }
    logger_->sinks().push_back(std::move(sink));
  } catch (const spdlog::spdlog_ex& error) {
    throw Error(ErrorCode::FileUnwritable, fmt::format("--log-file {}: {}", options.log_file, error.what()));
  }
}

void Console::log_result(const std::string& text) {
  if (!log_file_ || !logs_results_) return;
  const std::lock_guard lock(mutex_);
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    log_file_->info("{}", without_colors(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void Console::check_log() const {
  if (log_failure_.empty()) return;
  throw Error(ErrorCode::FileUnwritable, fmt::format("--log-file {}: {}", log_file_name_, log_failure_),
              "choose a file on a disk with free space");
}

void Console::info(const std::string& text) {
  const std::lock_guard lock(mutex_);
  erase_line();
  logger_->info("{}", command_words(text));
}

void Console::warning(const Note& note) {
  const std::lock_guard lock(mutex_);
  erase_line();
  const std::string words = command_words(note_text(note));
  const std::optional<std::size_t> width = terminal_ ? terminal_width(STDERR_FILENO) : std::nullopt;
  if (width && logger_->sinks().front()->level() <= spdlog::level::warn && terminal_width(STDOUT_FILENO)) {
    shown_warnings_.push_back(note);
  }
  if (log_file_ || !width) {
    logger_->warn("{}", words);
    return;
  }
  // The pattern writes the label, in its colour.
  std::string lines = vernier::wrap(words, *width, kWarningLabel).substr(kWarningLabel.size());
  lines.pop_back();
  logger_->warn("{}", lines);
}

void Console::error(ErrorCode code, const std::string& text, const std::string& hint) {
  const std::string page = "vernier help " + code_name(code);
  const std::string hints = code == ErrorCode::None ? hint : hint.empty() ? page : fmt::format("{} ({})", hint, page);
  const std::lock_guard lock(mutex_);
  erase_line();
  logger_->error("{}{}{}", command_words(text), hints.empty() ? "" : "\n hint: ", command_words(hints));
}

JobSinks Console::sinks() {
  JobSinks sinks;
  sinks.progress = [this](const std::string& phase, std::size_t done, std::size_t total) {
    progress(phase, done, total);
  };
  sinks.step = [this](const JobStep& step) {
    const std::lock_guard lock(mutex_);
    progress_.step(step);
  };
  sinks.warning = [this](const Note& note) { warning(note); };
  sinks.info = [this](const std::string& text) { info(text); };
  sinks.interrupted = [] { return was_interrupted(); };
  return sinks;
}

void Console::end_progress() {
  const std::lock_guard lock(mutex_);
  erase_line();
}

void Console::progress(const std::string& phase, std::size_t done, std::size_t total) {
  const std::lock_guard lock(mutex_);
  if (!shows_progress_) return;
  std::optional<std::string> line = progress_.line(phase, done, total, std::chrono::steady_clock::now());
  if (!line) return;
  if (terminal_) {
    // A line that wraps could not be drawn over.
    const std::size_t width = terminal_width(STDERR_FILENO).value_or(80);
    if (line->size() >= width) line->resize(width - 1);
    fmt::print(stderr, "\r\x1b[K{}", *line);
    line_on_screen_ = true;
  } else {
    fmt::print(stderr, "progress: {}\n", *line);
  }
  std::fflush(stderr);
}

void Console::erase_line() {
  if (!line_on_screen_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  line_on_screen_ = false;
}

}  // namespace vernier::cli
