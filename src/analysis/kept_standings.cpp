#include "analysis/kept_standings.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace vernier {

std::shared_ptr<KeptStandings::Runs> KeptStandings::begin(const std::vector<std::string>& settings) {
  const std::lock_guard lock(mutex_);
  std::vector<std::size_t> numbers;
  for (const std::string& words : settings)
    numbers.push_back(numbers_.try_emplace(words, numbers_.size()).first->second);
  auto runs = std::make_shared<Runs>(std::move(numbers));
  latest_first_.push_front(runs);
  if (latest_first_.size() > kMostRuns) latest_first_.pop_back();
  return runs;
}

std::shared_ptr<const Standing> KeptStandings::nearest(Runs& runs, std::size_t sample) {
  const std::lock_guard lock(mutex_);
  auto best = latest_first_.end();
  std::pair<std::size_t, std::size_t> most{0, 0};  // part to start at, parts that are set alike
  for (auto other = latest_first_.begin(); other != latest_first_.end(); ++other) {
    const auto stood = (*other)->samples_.find(sample);
    if (other->get() == &runs || stood == (*other)->samples_.end()) continue;
    const std::vector<std::size_t>& settings = (*other)->settings_;
    const auto differ = std::ranges::mismatch(runs.settings_, settings);
    auto part = static_cast<std::size_t>(differ.in1 - runs.settings_.begin());
    part = std::min(part, settings.size() - 1);
    while (part > 0 && stood->second[part] == nullptr) --part;
    std::size_t alike = 0;
    for (std::size_t p = 0; p < settings.size(); ++p) alike += settings[p] == runs.settings_[p] ? 1U : 0U;
    if (part > 0 && std::pair(part, alike) > most) {
      most = {part, alike};
      best = other;
    }
  }
  if (best == latest_first_.end()) return nullptr;
  const Runs::OfSample& stood = (*best)->samples_.at(sample);
  Runs::OfSample& own = runs.samples_[sample];
  own.resize(stood.size());
  std::copy_n(stood.begin(), most.first + 1, own.begin());
  std::shared_ptr<const Standing> start = stood[most.first];
  if (best != latest_first_.begin()) latest_first_.splice(std::next(latest_first_.begin()), latest_first_, best);
  return start;
}

void KeptStandings::keep(Runs& runs, std::size_t sample, Standing standing) {
  std::size_t size = 0;
  for (const auto& [name, tensor] : standing.tensors) size += tensor.byte_size();
  const std::size_t part = standing.part;
  const std::lock_guard lock(mutex_);
  if (!make_room(size, runs)) return;
  *bytes_ += size;
  std::shared_ptr<const Standing> kept(new Standing(std::move(standing)), [size, all = bytes_](const Standing* gone) {
    *all -= size;
    delete gone;
  });
  Runs::OfSample& own = runs.samples_[sample];
  own.resize(runs.settings_.size());
  own[part] = std::move(kept);
}

/// The latest other runs stay: those of `runs` begin at them.
bool KeptStandings::make_room(std::size_t bytes, const Runs& runs) {
  while (*bytes_ + bytes > most_bytes_) {
    const auto others = std::ranges::count_if(latest_first_, [&](const auto& kept) { return kept.get() != &runs; });
    if (others < 2) return false;
    auto last = std::prev(latest_first_.end());
    if (last->get() == &runs) --last;
    latest_first_.erase(last);
  }
  return true;
}

}  // namespace vernier
