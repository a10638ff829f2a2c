#include "console/failures.h"

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>

#include "base/text.h"
#include "console/console.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::cli {
namespace {

const char* const kReport =
    "this is a fault of vernier, not of your input. Please report it in the project's issue tracker, with the command, "
    "the output of 'vernier doctor' and, if possible, the model";

int internal(Console& console, const std::string& what) {
  console.error(ErrorCode::Internal, fmt::format("internal error: {}", what), kReport);
  return static_cast<int>(ErrorKind::Internal);
}

}  // namespace

int run_guarded(Console& console, const std::function<int()>& body) {
  try {
    return body();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Internal) return internal(console, error.what());
    console.error(error.code(), error.what(), error.hint());
    return static_cast<int>(error.kind());
  } catch (const std::bad_alloc&) {
    console.error(ErrorCode::OutOfMemory, "out of memory",
                  "use fewer --threads, or a smaller batch in --input-shapes or --data");
    return static_cast<int>(ErrorKind::Backend);
  } catch (const std::filesystem::filesystem_error& error) {
    std::error_code gone;
    const std::filesystem::path working = std::filesystem::current_path(gone);
    if (working.empty()) {
      console.error(ErrorCode::FileMissing, fmt::format("the working folder: {}: it was removed", gone.message()),
                    "change to a folder that exists: cd DIR");
    } else {
      console.error(ErrorCode::FileUnreadable, printable(error.what()));
    }
    return static_cast<int>(ErrorKind::Input);
  } catch (const std::system_error& error) {  // of std::thread: the system is asked for nothing else that throws it
    console.error(ErrorCode::SystemLimit, fmt::format("the system refuses another thread: {}", error.code().message()),
                  "use fewer --threads, or raise the limit of the shell's ulimit");
    return static_cast<int>(ErrorKind::Backend);
  } catch (const std::exception& error) {
    return internal(console, error.what());
  } catch (...) {
    return internal(console, "an exception of unknown type");
  }
}

}  // namespace vernier::cli
