// Some samples in the place of all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "analysis/subject.h"
#include "vernier/samples.h"

namespace vernier {

/// So many of them, spread evenly; all where there are no more.
inline std::vector<std::size_t> evenly(const std::vector<std::size_t>& samples, std::size_t wanted) {
  wanted = std::min(wanted, samples.size());
  std::vector<std::size_t> some;
  for (std::size_t k = 0; k < wanted; ++k) some.push_back(samples[k * samples.size() / wanted]);
  return some;
}

/// Those of a source that `index` names. The source must outlive it.
class ChosenSamples : public SampleSource {
 public:
  ChosenSamples(const SampleSource& all, std::vector<std::size_t> index) : all_(all), index_(std::move(index)) {}
  std::size_t size() const override { return index_.size(); }
  Sample at(std::size_t index) const override { return all_.at(index_.at(index)); }
  std::string description() const override { return all_.description(); }
  bool is_random() const override { return all_.is_random(); }

 private:
  const SampleSource& all_;
  std::vector<std::size_t> index_;
};

/// A few samples of the subject's: of `telling` the first, no more than half of them, and the others spread evenly. Of
/// a sequence its beginning. The subject's samples must outlive it.
class FewSamples final : public ChosenSamples {
 public:
  FewSamples(const Subject& subject, std::size_t wanted, std::vector<std::size_t> telling = {})
      : ChosenSamples(*subject.samples, few(subject, wanted, std::move(telling))) {}

 private:
  static std::vector<std::size_t> few(const Subject& subject, std::size_t wanted, std::vector<std::size_t> telling) {
    std::vector<std::size_t> all = all_samples(subject);
    if (!subject.carries.empty()) {
      all.resize(std::min(all.size(), wanted));
      return all;
    }
    telling.resize(std::min({telling.size(), wanted / 2, all.size()}));
    std::erase_if(all, [&](std::size_t sample) { return std::ranges::find(telling, sample) != telling.end(); });
    const std::vector<std::size_t> others = evenly(all, wanted - telling.size());
    telling.insert(telling.end(), others.begin(), others.end());
    std::ranges::sort(telling);
    return telling;
  }
};

}  // namespace vernier
