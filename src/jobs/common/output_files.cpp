#include "jobs/common/output_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "base/text.h"
#include "distributed/ranks.h"
#include "scripts/script_location.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {

void refuse_to_overwrite(const std::filesystem::path& output, const std::vector<std::filesystem::path>& inputs) {
  for (const std::filesystem::path& input : inputs) {
    std::error_code absent;  // what does not exist cannot be overwritten
    if (!std::filesystem::equivalent(output, input, absent)) continue;
    throw Error(ErrorCode::WouldOverwrite,
                fmt::format("{} would be overwritten, and this job reads it", input.string()),
                "choose another place with ‹output›");
  }
}

void warn_of_pickles(const std::vector<std::filesystem::path>& outputs, const JobSinks& sinks) {
  for (const std::filesystem::path& output : outputs) {
    const std::string extension = output.extension().string();
    if (extension == ".pkl" || extension == ".pickle") sinks.warn({"pickle-as-json", {{"file", output.string()}}});
  }
}

std::vector<std::filesystem::path> source_files(const MeasureOptions& options) {
  std::vector<std::filesystem::path> files;
  const auto add = [&files](const SourceOptions& source) {
    std::vector<std::string> locations = source.further;
    locations.push_back(source.location);
    for (const std::string& location : locations) {
      const auto script = script_location(location);
      files.emplace_back(script ? script->file : location);
    }
  };
  add(options.data);
  if (options.calibration_data) add(*options.calibration_data);
  return files;
}

OutputFolder::OutputFolder(const std::filesystem::path& folder) {
  if (folder.empty()) return;
  std::error_code failure;
  if (folder.extension() == ".onnx" && !std::filesystem::is_directory(folder, failure)) {
    throw Error(ErrorCode::BadValue,
                fmt::format("{}: this command writes a folder, not a single model", printable(folder.string())),
                fmt::format("‹output› {}", printable((folder.parent_path() / folder.stem()).string())));
  }
  const bool made = std::filesystem::create_directories(folder, failure);
  if (failure)
    throw Error(ErrorCode::FileUnwritable, fmt::format("{}: cannot write: {}", folder.string(), failure.message()));
  if (!job_ranks().first()) return;
  if (made) made_ = folder;
  // A lock on the folder itself: there is no file that could stay behind. Where a file system has none, there is none.
  lock_ = Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock_.get() >= 0 && ::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw Error(ErrorCode::InUse, fmt::format("{}: another job writes into this folder", printable(folder.string())),
                "wait for it, or give this one a folder of its own: ‹output› DIR");
  }
}

OutputFolder::~OutputFolder() {
  std::error_code not_empty;
  if (!made_.empty()) std::filesystem::remove(made_, not_empty);
}

}  // namespace vernier
