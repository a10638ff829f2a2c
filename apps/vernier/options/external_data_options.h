// --save-external-data and what belongs to it, for every command that writes a model.
#pragma once

#include <cstdint>
#include <string>

#include "options/syntax.h"
#include "vernier/external_data.h"

namespace vernier::cli {

/// "1024", "16M", "1e9"; K, M and G are powers of 1024. Errors: Usage.
std::int64_t parse_bytes(const char* option, const std::string& text);

class ExternalDataGroup {
 public:
  void add(CLI::App& app);
  /// Errors: Usage, also for an option that does nothing without --save-external-data.
  ExternalDataOptions values() const;
  bool given() const { return wanted_ || many_files_ || !threshold_.empty(); }

 private:
  bool wanted_ = false, many_files_ = false;
  std::string file_, threshold_;
};

}  // namespace vernier::cli
