// What long runs of a job have so far, on disk: a job that is killed goes on from there when it is started again.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "vernier/error.h"

namespace vernier {

/// Of one job, on one thread.
class PartialRuns {
 public:
  /// `folder` is made when something is kept.
  /// Every `least` at most.
  explicit PartialRuns(std::filesystem::path folder, std::chrono::milliseconds least = std::chrono::seconds(2))
      : folder_(std::move(folder)), least_(least) {}

  /// A run begins, which `identity` tells from all that give other results. What an earlier job kept of it, as it was
  /// saved; nullopt where there is none, or its file is broken.
  std::optional<std::string> begin(const std::string& identity);
  /// That a run went on from where an earlier one had come: "sample 7 of 20".
  void went_on(const std::string& where);
  /// The last of these places; empty where none did.
  const std::string& resumed_at() const { return resumed_at_; }
  /// Saving takes time, and is worth it where much was done since begin() or the last time.
  bool due() const;
  /// In the place of what was saved before, which goes up to `where`: "sample 7 of 20". A disk that refuses keeps
  /// nothing, which is no error.
  void save(const std::string& bytes, const std::string& where);
  /// How to go on where the job ends here, in words; empty where nothing of it is kept.
  std::string way_on() const;
  /// The job is done: removes what its runs kept. What a job that ends otherwise kept stays, at most 256 MiB of all
  /// jobs.
  void done();

 private:
  using Clock = std::chrono::steady_clock;
  std::filesystem::path folder_;
  std::chrono::milliseconds least_;
  std::vector<std::filesystem::path> files_;  // of this job, the last of the run that goes on
  Clock::time_point saved_;
  Clock::duration cost_{};  // of the last time
  bool refused_ = false;
  std::string kept_up_to_;
  std::string resumed_at_;
};

/// What `body` gives; where it is interrupted, the error tells how to go on. `partial` may be null.
template <class Body>
auto telling_way_on(const PartialRuns* partial, const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Interrupted || partial == nullptr) throw;
    throw Error(error.code(), error.what(), partial->way_on());
  }
}

}  // namespace vernier
