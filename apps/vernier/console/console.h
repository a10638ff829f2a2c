// Everything the program says on stderr: messages through spdlog, in words of the command (vernier/marks.h), and
// progress. Results go to stdout elsewhere.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "console/progress.h"
#include "vernier/error.h"
#include "vernier/note.h"
#include "vernier/sinks.h"

namespace spdlog {
class logger;
}

namespace vernier::cli {

struct MessageGroup;

/// Columns of the terminal behind a file descriptor; nullopt when it is none.
std::optional<std::size_t> terminal_width(int descriptor);

/// Only on terminals that can, and never with NO_COLOR in the environment.
bool wants_color(int descriptor);

class Console {
 public:
  /// Warnings and errors on stderr, nothing else. For what goes wrong before the options are known.
  Console();
  ~Console();

  /// -v -q --log-file. Errors: Input when the log file cannot be opened.
  void configure(const MessageGroup& options);

  /// Results are for programs (--json): they stay out of the log file.
  void keep_results_out_of_log() { logs_results_ = false; }
  /// Whether an error has to be printed as JSON too: `expected` says so until a result is printed.
  void expect_json(bool expected) { expects_json_ = expected; }
  bool expects_json() const { return expects_json_; }
  /// Appends what people read to the log file, line by line; nothing without --log-file.
  void log_result(const std::string& text);
  /// Errors: Input when the log file lacks a message.
  void check_log() const;

  void info(const std::string& text);
  void warning(const Note& note);
  void warning(const std::string& sentence) { warning(Note(sentence)); }
  /// "error: ..." and " hint: ... (vernier help E301)"; of an answer that is no, without a code.
  void error(ErrorCode code, const std::string& text, const std::string& hint = {});

  /// Sinks that write here and poll the interrupt flag (interrupt.h). The console must outlive them.
  JobSinks sinks();

  /// False under -q.
  bool shows_progress() const { return shows_progress_; }

  /// Warnings that the terminal shows above the report, which leaves them out.
  const std::vector<Note>& shown_warnings() const { return shown_warnings_; }

  /// Removes a progress line that is on the screen: before results are printed on the same terminal.
  void end_progress();

 private:
  void progress(const std::string& phase, std::size_t done, std::size_t total);
  void erase_line();

  std::mutex mutex_;  // jobs may report from several threads
  std::shared_ptr<spdlog::logger> logger_;
  std::shared_ptr<spdlog::logger> log_file_;  // the log file alone; null without one
  std::string log_file_name_, log_failure_;
  bool logs_results_ = true;
  bool expects_json_ = false;
  Progress progress_;
  bool terminal_;
  bool shows_progress_ = true;
  bool is_verbose_ = false;
  bool line_on_screen_ = false;
  std::vector<Note> shown_warnings_;
};

}  // namespace vernier::cli
