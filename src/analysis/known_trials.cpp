#include "analysis/known_trials.h"

#include <algorithm>
#include <utility>

namespace vernier {

KnownTrials::KnownTrials(std::map<std::string, BySample> by_plan) : by_plan_(std::move(by_plan)) {
  for (const auto& [plan, samples] : by_plan_) {
    asked_for_[plan] = false;
    for (const auto& [sample, outcomes] : samples) count_ += outcomes.size();
  }
}

std::vector<KnownTrials::Outcomes> KnownTrials::first_of(const std::string& plan,
                                                         const std::vector<std::size_t>& order) const {
  const std::lock_guard lock(mutex_);
  std::vector<Outcomes> first;
  const auto known = by_plan_.find(plan);
  if (known == by_plan_.end()) return first;
  for (const std::size_t sample : order) {
    const auto outcomes = known->second.find(sample);
    if (outcomes == known->second.end()) break;
    first.push_back(outcomes->second);
  }
  if (const auto begun = asked_for_.find(plan); begun != asked_for_.end() && !first.empty()) begun->second = true;
  return first;
}

std::size_t KnownTrials::recalled() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count(asked_for_, true, &std::pair<const std::string, bool>::second));
}

void KnownTrials::add(const std::string& plan, std::size_t sample, Outcomes outcomes) {
  const std::lock_guard lock(mutex_);
  if (count_ + outcomes.size() > kMost) return;
  const std::size_t size = outcomes.size();
  if (by_plan_[plan].emplace(sample, std::move(outcomes)).second) count_ += size;
}

KnownTrials::BySample KnownTrials::of(const std::string& plan) const {
  const std::lock_guard lock(mutex_);
  const auto known = by_plan_.find(plan);
  return known == by_plan_.end() ? BySample() : known->second;
}

std::map<std::string, KnownTrials::BySample> KnownTrials::by_plan() const {
  const std::lock_guard lock(mutex_);
  return by_plan_;
}

}  // namespace vernier
