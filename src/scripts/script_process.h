// A script of the user, run in the user's Python by one of our programs (scripts/programs.h), which says in lines of
// JSON what the script does.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/scratch_file.h"
#include "json/json.h"
#include "scripts/script_location.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/samples.h"

namespace vernier {

/// Set the members, then run().
class ScriptProcess {
 public:
  /// Of `options`: the Python, the seconds that the script may take, and what ends it.
  ScriptProcess(ScriptLocation script, const SourceOptions& options);

  std::string program;
  std::vector<std::string> arguments;  // of the program, behind the script and its function
  std::string kind;                    // "data loader scripts"
  std::string announces;               // "samples": what the program writes
  /// Each line but errors. What it throws ends the script.
  std::function<void(const Json&)> said;
  std::function<std::string()> place;   // where in the samples an error happened
  std::function<std::string()> so_far;  // "3 samples": what was done before it ended; may be empty
  std::vector<int> inherited;           // descriptors 4, 5, ... of the program
  /// Of a program that runs no script of the user's but holds something else: whose fault its end is, and its name.
  ErrorCode fault = ErrorCode::Script;
  std::string held = "the script";
  std::function<void(std::string_view)> errors;  // its standard error; empty: it is ours

  /// Writes the program into `scratch`, which must be empty and becomes its descriptor 3, and waits for its end.
  /// Errors: Input, all that the script does wrong, in words; Backend when Python cannot be started; Interrupted.
  void run(const ScratchFile& scratch);

  /// "file.py:function", for messages.
  const std::string& where() const { return where_; }

 private:
  void read_line(const std::string& line);
  [[noreturn]] void fail(const Json& failure) const;

  ScriptLocation script_;
  SourceOptions options_;
  std::string file_, where_;
  std::optional<Json> failure_;
  bool ended_ = false;
};

}  // namespace vernier
