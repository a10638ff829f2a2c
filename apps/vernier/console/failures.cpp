#include "console/failures.h"

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>

#include "base/text.h"
#include "commands/commands.h"
#include "console/console.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/report/failure.h"

namespace vernier::cli {
namespace {

const char* const kReport =
    "this is a fault of vernier, not of your input. Please report it in the project's issue tracker, with the command, "
    "the output of 'vernier doctor' and, if possible, the model";

int fail(Console& console, ErrorKind kind, ErrorCode code, const std::string& text, const std::string& hint = {}) {
  console.error(code, text, hint);
  const int exit_code = static_cast<int>(kind);
  if (!console.expects_json()) return exit_code;
  try {
    print_result(console, report_to_json(FailureReport{
                              .code = code_name(code), .exit_code = exit_code, .message = text, .hint = hint}));
  } catch (const Error&) {  // of stdout; the error itself counts
  }
  return exit_code;
}

int internal(Console& console, const std::string& what) {
  return fail(console, ErrorKind::Internal, ErrorCode::Internal, fmt::format("internal error: {}", what), kReport);
}

}  // namespace

int run_guarded(Console& console, const std::function<int()>& body) {
  try {
    return body();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Internal) return internal(console, error.what());
    return fail(console, error.kind(), error.code(), error.what(), error.hint());
  } catch (const std::bad_alloc&) {
    return fail(console, ErrorKind::Backend, ErrorCode::OutOfMemory, "out of memory",
                "use fewer --threads, or a smaller batch in --input-shapes or --data");
  } catch (const std::filesystem::filesystem_error& error) {
    std::error_code gone;
    const std::filesystem::path working = std::filesystem::current_path(gone);
    if (!working.empty()) {
      return fail(console, ErrorKind::Input, ErrorCode::FileUnreadable, printable(error.what()));
    }
    return fail(console, ErrorKind::Input, ErrorCode::FileMissing,
                fmt::format("the working folder: {}: it was removed", gone.message()),
                "change to a folder that exists: cd DIR");
  } catch (const std::system_error& error) {  // of std::thread: the system is asked for nothing else that throws it
    return fail(console, ErrorKind::Backend, ErrorCode::SystemLimit,
                fmt::format("the system refuses another thread: {}", error.code().message()),
                "use fewer --threads, or raise the limit of the shell's ulimit");
  } catch (const std::exception& error) {
    return internal(console, error.what());
  } catch (...) {
    return internal(console, "an exception of unknown type");
  }
}

}  // namespace vernier::cli
