// The trials and estimates of a search, several sets at once where the search says what it will ask (sets_ahead.h).
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>

#include "analysis/subject.h"
#include "base/parallel.h"
#include "jobs/search/judge.h"
#include "jobs/search/sets_ahead.h"
#include "search/oracle.h"

namespace vernier {

class TrialsAhead {
 public:
  /// The layers to keep, by position among the candidates, of a set of the search's items.
  using Candidates = std::function<KeptSet(const KeptSet&)>;
  /// Told how many samples each answer that was asked for rests on.
  using Ran = std::function<void(std::size_t samples)>;

  /// Asks `judge`, in whose place copies on one thread each work side by side, when `side_by_side`: only where no
  /// script or program of the user's is asked, and where sessions for all threads are small. Same answers either way.
  /// References must outlive this.
  TrialsAhead(Experiment& experiment, Judge& judge, Candidates candidates, bool side_by_side, Ran ran);
  TrialsAhead(const TrialsAhead&) = delete;
  TrialsAhead& operator=(const TrialsAhead&) = delete;

  SetsAhead<Trial> trials;
  SetsAhead<double> estimates;

 private:
  std::mutex progress_;
  SpareThreads spare_;
  Subject alone_;
  Judge lone_judge_;
};

/// Whether a session for each thread costs little memory: each copies the weights, 256 MiB at most in all.
bool sessions_are_small(const Subject& subject);

}  // namespace vernier
