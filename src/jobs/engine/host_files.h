// Files that an engine's host writes because a setting names them: it writes beside, and what is there is replaced when
// it is done. Where no engine is built, asking for one of them is an error.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/scratch_folder.h"
#include "vernier/engine.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {

inline constexpr std::array kWrittenByEngines = {"save-timing-cache", "save-tactics", "save-tactic-replay"};

/// Whoever reads such a file next would find it missing, or an old one. Errors: Backend: `settings` name one, or an
/// engine is to be saved.
inline void refuse_unwritten(const EngineSettings& settings, const std::filesystem::path& save_engine = {}) {
  std::vector<std::string> names;
  if (!save_engine.empty()) names.emplace_back("‹save-engine›");
  for (const char* const name : kWrittenByEngines) {
    if (settings.contains(name)) names.push_back(fmt::format("‹{}›", name));
  }
  if (names.empty()) return;
  throw Error(ErrorCode::Backend,
              fmt::format("{}: this command builds no engine, so nothing would be written", fmt::join(names, ", ")),
              "leave it out, or run this on a machine with a GPU and TensorRT");
}

class HostFiles {
 public:
  /// `settings` then name places in a folder of its own.
  explicit HostFiles(EngineSettings& settings) {
    for (const char* const name : kWrittenByEngines) {
      const auto setting = settings.find(name);
      if (setting == settings.end()) continue;
      places_[setting->second.back()] = scratch_ / name;
      setting->second = {(scratch_ / name).string()};
    }
  }

  /// To where they were wanted. Errors: Input: one cannot be written.
  void keep() const {
    for (const auto& [wanted, written] : places_) {
      replace_file(wanted, read_text(written, std::numeric_limits<std::size_t>::max()));
    }
  }

 private:
  ScratchFolder scratch_;
  std::map<std::filesystem::path, std::filesystem::path> places_;
};

}  // namespace vernier
