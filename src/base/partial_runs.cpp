#include "base/partial_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string_view>
#include <system_error>

#include "base/cache_folder.h"
#include "base/file.h"
#include "base/hash.h"
#include "vernier/error.h"

namespace vernier {
namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20U;
constexpr std::size_t kHashDigits = 64;
constexpr const char* kExtension = ".partial";

}  // namespace

/// A file: the SHA-256 of what follows, in hexadecimal digits, then what was saved.
std::optional<std::string> PartialRuns::begin(const std::string& identity) {
  files_.push_back(folder_ / (sha256_of(identity) + kExtension));
  saved_ = Clock::now();
  cost_ = {};
  std::error_code none;
  if (!std::filesystem::is_regular_file(files_.back(), none)) return std::nullopt;
  try {
    const std::string text = read_text(files_.back(), kMostBytes + kHashDigits);
    if (text.size() < kHashDigits) return std::nullopt;
    const std::string_view body = std::string_view(text).substr(kHashDigits);
    if (sha256_of(body) != text.substr(0, kHashDigits)) return std::nullopt;
    return std::string(body);
  } catch (const Error&) {
    return std::nullopt;
  }
}

void PartialRuns::went_on(const std::string& where) {
  kept_up_to_ = where;
  resumed_at_ = where;
}

bool PartialRuns::due() const {
  constexpr int kShare = 20;  // of the time that goes by
  return !refused_ && Clock::now() - saved_ >= std::max<Clock::duration>(least_, kShare * cost_);
}

void PartialRuns::save(const std::string& bytes, const std::string& where) {
  if (bytes.size() > kMostBytes) return;
  const Clock::time_point start = Clock::now();
  try {
    replace_regular_file(files_.back(), [&](std::ostream& out) { out << sha256_of(bytes) << bytes; });
    remove_least_used(folder_, kExtension, kMostBytes);
    kept_up_to_ = where;
  } catch (const Error&) {
    refused_ = true;
  }
  saved_ = Clock::now();
  cost_ = saved_ - start;
}

std::string PartialRuns::way_on() const {
  return kept_up_to_.empty() ? "" : fmt::format("run again, it goes on from {}", kept_up_to_);
}

void PartialRuns::done() {
  std::error_code none;
  for (const std::filesystem::path& file : files_) std::filesystem::remove(file, none);
  files_.clear();
}

}  // namespace vernier
