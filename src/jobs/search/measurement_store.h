// What was measured once, kept: records by name, those of one network on one set of samples in one file, which is found
// again by content. Whoever measures anew may lose a record at any time; nothing rests on it but time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "distributed/ranks.h"

namespace vernier {

class MeasurementStore {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;
  /// A file that would be larger is not written.
  static constexpr std::size_t kMostOfOne = std::size_t{64} << 20;

  /// `folder` is made when something is kept; empty: nothing goes to disk, and the records end with this object. Where
  /// its files come to more than `most_bytes`, those that were used longest ago are removed.
  explicit MeasurementStore(std::filesystem::path folder, std::size_t most_bytes = kMostBytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  /// From here on records are those of `identity`, a name that stands for all that they hang on. A file that is broken,
  /// or of another build, is taken for none.
  void open(const std::string& identity);
  const Message* find(const std::string& name) const;
  /// Whether an earlier run put it there.
  bool is_earlier(const std::string& name) const { return opened_.at(current_).from_disk.contains(name); }
  void put(const std::string& name, Message bytes);
  /// To disk, where something is new; whether a later run finds all of it. A disk that refuses keeps nothing, which is
  /// no error: refused() says why.
  bool save();
  const std::string& refused() const { return refused_; }

 private:
  struct Records {
    std::map<std::string, Message> by_name;
    std::set<std::string> from_disk;
    bool changed = false;
    bool lost = false;  // the last time that they were to be written
  };
  void read(const std::string& identity, Records& records) const;
  bool write(const std::string& identity, Records& records) const;
  std::filesystem::path file_of(const std::string& identity) const;

  std::filesystem::path folder_;
  std::size_t most_bytes_;
  std::map<std::string, Records> opened_;
  std::string current_;
  std::string refused_;
};

}  // namespace vernier
