// The steps of a diagnosis that a user sees go by: "3 of 9".
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vernier/sinks.h"

namespace vernier {

class DiagnosisSteps {
 public:
  using Clock = std::chrono::steady_clock;

  /// `sinks` must outlive it. `now`: the clock, for tests.
  explicit DiagnosisSteps(const JobSinks& sinks, std::function<Clock::time_point()> now = Clock::now)
      : sinks_(sinks), now_(std::move(now)) {}

  /// One more step, which takes the time of so many plain passes over the samples: about the median of six shared
  /// networks. Only for an end that can be believed, so that halves do not matter.
  void add(const std::string& name, double passes) { steps_.push_back({name, passes, {}}); }
  /// The same of a step to come, once more is known of the network.
  void expect(const std::string& name, double passes);

  /// Tells the step of that name, and passes over those before it, which had nothing to do. What is no step of its own,
  /// as a verification in the middle of a search, is not told. What is to come is reckoned from what the steps behind
  /// took; of the first, which reads files, nothing follows for the others.
  void begin(const std::string& name);

 private:
  struct Step {
    std::string name;
    double passes;
    std::optional<double> seconds;  // that it took
  };
  double seconds_a_pass() const;

  const JobSinks& sinks_;
  std::function<Clock::time_point()> now_;
  std::vector<Step> steps_;
  std::size_t next_ = 0;
  Clock::time_point begun_;  // the step before next_
};

}  // namespace vernier
