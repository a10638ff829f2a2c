#include "jobs/search/measurement_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/cache_folder.h"
#include "base/file.h"
#include "base/hash.h"
#include "distributed/wire.h"
#include "vernier/error.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHashDigits = 64;
constexpr const char* kExtension = ".measured";

std::string_view text_of(const Message& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace

fs::path MeasurementStore::file_of(const std::string& identity) const { return folder_ / (identity + kExtension); }

void MeasurementStore::open(const std::string& identity) {
  current_ = identity;
  const auto [records, is_new] = opened_.try_emplace(identity);
  if (is_new && !folder_.empty()) read(identity, records->second);
}

const Message* MeasurementStore::find(const std::string& name) const {
  const Records& records = opened_.at(current_);
  const auto found = records.by_name.find(name);
  return found == records.by_name.end() ? nullptr : &found->second;
}

void MeasurementStore::put(const std::string& name, Message bytes) {
  Records& records = opened_.at(current_);
  records.by_name[name] = std::move(bytes);
  records.from_disk.erase(name);
  records.changed = true;
}

bool MeasurementStore::save() {
  if (folder_.empty()) return false;
  bool written = false;
  for (auto& [identity, records] : opened_) {
    if (!records.changed) continue;
    try {
      records.lost = true;
      records.lost = !write(identity, records);
      written = true;
    } catch (const Error& error) {  // a full disk, or no right to write
      refused_ = fmt::format("{}: {}", folder_.string(), error.reason());
      return false;
    }
  }
  if (written) remove_least_used(folder_, kExtension, most_bytes_);
  return std::ranges::none_of(opened_, [](const auto& one) { return one.second.lost; });
}

/// Lines of hexadecimal digits, the SHA-256 of what follows, then names and records.
void MeasurementStore::read(const std::string& identity, Records& records) const {
  try {
    std::error_code none;
    if (!fs::is_regular_file(file_of(identity), none)) return;
    const std::string text = read_text(file_of(identity), kMostOfOne + kHashDigits);
    if (text.size() < kHashDigits) return;
    const std::string_view body = std::string_view(text).substr(kHashDigits);
    if (sha256_of(body) != text.substr(0, kHashDigits)) return;
    Unpacker unpacker(std::as_bytes(std::span(body)));
    while (!unpacker.empty()) {
      const std::string name = unpacker.get_text();
      records.by_name[name] = unpacker.get_vector<std::byte>();
      records.from_disk.insert(name);
    }
    fs::last_write_time(file_of(identity), fs::file_time_type::clock::now(), none);  // it is used
  } catch (const Error&) {
    records = {};
  }
}

bool MeasurementStore::write(const std::string& identity, Records& records) const {
  Packer packer;
  for (const auto& [name, bytes] : records.by_name) {
    packer.put(name);
    packer.put(bytes);
  }
  records.changed = false;
  const Message body = packer.take();
  if (body.size() > kMostOfOne) return false;
  replace_regular_file(file_of(identity), [&](std::ostream& out) { out << sha256_of(text_of(body)) << text_of(body); });
  return true;
}

}  // namespace vernier
