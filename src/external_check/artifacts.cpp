#include "external_check/artifacts.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

/// Renames, or copies to another disk.
void move(const fs::path& from, const fs::path& to) {
  std::error_code failed;
  fs::rename(from, to, failed);
  if (!failed) return;
  failed.clear();
  fs::copy(from, to, fs::copy_options::recursive, failed);
  if (!failed) fs::remove_all(from, failed);
  if (failed) {
    throw Error(ErrorCode::FileUnwritable,
                fmt::format("{}: cannot be moved to {}: {}", from.string(), to.string(), failed.message()));
  }
}

}  // namespace

std::vector<fs::path> sort_artifacts(const CheckOptions& options, Verdict verdict, const std::string& suffix,
                                     std::time_t now) {
  std::vector<fs::path> missing;
  const char* kind = verdict == Verdict::Good ? "good" : verdict == Verdict::Bad ? "bad" : "invalid";
  std::tm time{};
  ::localtime_r(&now, &time);
  for (const fs::path& artifact : options.artifacts) {
    if (!fs::exists(artifact)) {
      missing.push_back(artifact);
      continue;
    }
    const fs::path folder = options.artifacts_dir / kind;
    std::error_code failed;
    fs::create_directories(folder, failed);
    if (failed) {
      throw Error(ErrorCode::FileUnwritable, fmt::format("{}: cannot be made: {}", folder.string(), failed.message()));
    }
    // "out/" names the folder out as well.
    const fs::path name = artifact.has_filename() ? artifact.filename() : artifact.parent_path().filename();
    const std::string stem = fmt::format("{}_{:%m-%d-%y_%H-%M-%S}_{}", name.stem().string(), time, suffix);
    fs::path to = folder / (stem + name.extension().string());
    for (int twin = 2; fs::exists(to); ++twin) {
      to = folder / fmt::format("{}-{}{}", stem, twin, name.extension().string());
    }
    move(artifact, to);
  }
  return missing;
}

}  // namespace vernier
