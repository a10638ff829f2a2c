// The steps of a diagnosis that a user sees go by: "3 of 9".
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "vernier/sinks.h"

namespace vernier {

class DiagnosisSteps {
 public:
  /// `sinks` must outlive it.
  explicit DiagnosisSteps(const JobSinks& sinks) : sinks_(sinks) {}

  /// One more step, which takes `seconds` where all of a search takes 100: what MobileNetV2 and YOLOX took
  /// (docs/benchmarks.md, seconds by phase). Only for an end that can be believed, so that halves do not matter.
  void add(const std::string& name, double seconds) { steps_.push_back({name, seconds}); }

  /// Tells the step of that name, and passes over those before it, which had nothing to do. What is no step of its own,
  /// as a verification in the middle of a search, is not told.
  void begin(const std::string& name);

 private:
  struct Step {
    std::string name;
    double seconds;
  };
  const JobSinks& sinks_;
  std::vector<Step> steps_;
  std::size_t next_ = 0;
};

}  // namespace vernier
