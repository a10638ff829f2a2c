#include "scripts/script_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

// The program is itself at the start of descriptor 3.
constexpr const char* kStart = "import os; exec(compile(os.pread(3, 1 << 20, 0), '<vernier>', 'exec'))";

}  // namespace

ScriptProcess::ScriptProcess(ScriptLocation script, const SourceOptions& options)
    : script_(std::move(script)), options_(options), file_(printable(script_.file)) {
  where_ = script_.function.empty() ? file_ : fmt::format("{}:{}", file_, printable(script_.function));
}

void ScriptProcess::read_line(const std::string& line) {
  try {
    const std::optional<Json> json = try_parse_json(line);
    if (!json) throw JsonError("is not JSON");
    // Thrown when the script has ended, so that it can close what it has open.
    if (json->contains("error")) {
      if (!failure_) failure_ = json;
      return;
    }
    if (said) said(*json);
    if (json->contains("end")) ended_ = true;
  } catch (const JsonError&) {
    throw Error(fault,
                fmt::format("{}: something else wrote where {} are announced: {}", where_, announces,
                            printable(line.substr(0, 80))),
                fmt::format("{} must be Python 3", printable(options_.python)));
  }
}

void ScriptProcess::fail(const Json& failure) const {
  const std::string at = failure.at("at").text();
  std::string hint = failure.at("hint").text();
  std::vector<std::string> names;
  for (const Json& name : failure.at("names").items()) names.push_back(name.text());
  if (!names.empty()) {
    const std::vector<std::string> near = nearest_names(script_.function, names);
    hint = near.empty() ? fmt::format("it has {}", list_some(names)) : fmt::format("nearest: {}", list_some(near));
  } else if (hint.empty() && at == "script") {
    hint = "file.py:function names the function";
  }
  throw Error(fault,
              fmt::format("{}: {}", at == "script" ? file_ : (at == "sample" && place ? place() : where_),
                          printable_text(failure.at("error").text())),
              printable_text(hint));
}

void ScriptProcess::run(const ScratchFile& scratch) {
  if (kind_of(fault) == ErrorKind::Input) require_no_pipe(file_);
  scratch.write(program);
  ProcessOptions process;
  std::string line;
  process.output = [&](std::string_view text) {
    for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
      line += text.substr(0, end);
      read_line(line);
      line.clear();
    }
    line += text;
  };
  process.errors = errors;
  process.inherited = {scratch.descriptor()};
  process.inherited.insert(process.inherited.end(), inherited.begin(), inherited.end());
  process.timeout_seconds = options_.script_seconds;
  process.interrupted = options_.interrupted;
  std::vector<std::string> words{options_.python, "-c", kStart, script_.file, script_.function};
  words.insert(words.end(), arguments.begin(), arguments.end());
  ProcessEnd end;
  try {
    end = run_process(words, process);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Backend) throw;
    throw Error(ErrorCode::ProgramFails, error.what(),
                fmt::format("{} need Python 3: ‹python› PROGRAM names it", kind));
  }
  if (end.interrupted) throw Error(ErrorKind::Interrupted, "interrupted");
  if (failure_) fail(*failure_);
  // What happens behind the end, in an exit handler, harms nobody.
  if (ended_) return;
  const std::string done = so_far ? so_far() : "";
  if (end.timed_out) {
    throw Error(fault,
                fmt::format("{}: was still running after {} s{}{}", where_, options_.script_seconds,
                            done.empty() ? "" : " and ", done),
                "‹timeout› SECONDS says how long it may take");
  }
  std::string hint;
  if (end.signal == 9) hint = "the system kills what takes too much memory";
  if (end.signal == 0) {
    hint = fmt::format("{}, or {} if it is not Python 3, ended itself", held, printable(options_.python));
  }
  throw Error(fault, fmt::format("{}: {}{}{}", where_, end_text(end), done.empty() ? "" : " after ", done), hint);
}

}  // namespace vernier
