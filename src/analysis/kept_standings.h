// Where runs of a search stood between the parts of their session, for runs that begin alike: one set of kept layers
// differs from another in few places, and what lies in front of the first of them comes out the same.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engines/onnxruntime/session.h"

namespace vernier {

class KeptStandings {
 public:
  /// Each look goes through all that are kept.
  static constexpr std::size_t kMostRuns = 64;

  /// Beyond `most_bytes`, or kMostRuns settings, those go first that no run began at for longest.
  explicit KeptStandings(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// The runs of one setting over samples.
  class Runs {
   public:
    explicit Runs(std::vector<std::size_t> settings) : settings_(std::move(settings)) {}

   private:
    friend class KeptStandings;
    using OfSample = std::vector<std::shared_ptr<const Standing>>;  // by part
    std::vector<std::size_t> settings_;                             // of each part, by number
    std::map<std::size_t, OfSample> samples_;
  };

  /// `settings`: of each part of the session in words, which differ where what it computes may. Kept from now on.
  std::shared_ptr<Runs> begin(const std::vector<std::string>& settings);
  /// The farthest place at which a run of another setting over `sample` stood as one of `runs` will; null: none did.
  std::shared_ptr<const Standing> nearest(Runs& runs, std::size_t sample);
  /// Adds where a run of `runs` stands, as far as there is room.
  void keep(Runs& runs, std::size_t sample, Standing standing);

  std::size_t bytes() const { return *bytes_; }

 private:
  bool make_room(std::size_t bytes, const Runs& runs);

  const std::size_t most_bytes_;
  // Several runs hold a standing that they share: its bytes leave with the last of them.
  std::shared_ptr<std::atomic<std::size_t>> bytes_ = std::make_shared<std::atomic<std::size_t>>(0);
  std::mutex mutex_;
  std::map<std::string, std::size_t> numbers_;  // of settings: every sample compares them
  std::list<std::shared_ptr<Runs>> latest_first_;
};

}  // namespace vernier
