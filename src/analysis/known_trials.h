// What trials gave, sample by sample, so that no plan runs a sample twice: a set that was estimated on a few samples
// goes on from there when it is tested on all, and a search for another limit finds what an earlier one ran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "analysis/requirement.h"

namespace vernier {

class KnownTrials {
 public:
  using Outcomes = std::vector<SampleOutcome>;  // of the judged outputs, in their order
  using BySample = std::map<std::size_t, Outcomes>;

  /// More are not kept: some 25 MB.
  static constexpr std::size_t kMost = 200'000;

  KnownTrials() = default;
  explicit KnownTrials(std::map<std::string, BySample> by_plan);

  /// Of the first samples of `order`, up to the first that is not known. `plan` stands for all that decides the
  /// outcome.
  std::vector<Outcomes> first_of(const std::string& plan, const std::vector<std::size_t>& order) const;
  /// Safe from several threads, as first_of() is. Beyond kMost nothing is added.
  void add(const std::string& plan, std::size_t sample, Outcomes outcomes);

  /// How many of the plans that it began with were asked for.
  std::size_t recalled() const;

  BySample of(const std::string& plan) const;
  std::map<std::string, BySample> by_plan() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, BySample> by_plan_;
  mutable std::map<std::string, bool> asked_for_;  // of the plans that it began with
  std::size_t count_ = 0;
};

/// The outcomes of one plan among them. `trials` must outlive it.
struct KnownPlan {
  KnownTrials& trials;
  std::string plan;
};

}  // namespace vernier
