// Files that an engine's host writes because a setting names them: it writes beside, and what is there is replaced when
// it is done.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <map>

#include "base/file.h"
#include "base/scratch_folder.h"
#include "vernier/engine.h"

namespace vernier {

class HostFiles {
 public:
  /// `settings` then name places in a folder of its own.
  explicit HostFiles(EngineSettings& settings) {
    constexpr std::array kWritten = {"save-timing-cache", "save-tactics", "save-tactic-replay"};
    for (const char* const name : kWritten) {
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
