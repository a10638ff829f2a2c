// Some of a subject's samples in the place of all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "analysis/subject.h"
#include "vernier/samples.h"

namespace vernier {

/// A few samples of the subject's, spread evenly; of a sequence its beginning. The subject's samples must outlive it.
class FewSamples final : public SampleSource {
 public:
  FewSamples(const Subject& subject, std::size_t wanted) : all_(*subject.samples) {
    const std::size_t count = std::min(all_.size(), wanted);
    for (std::size_t k = 0; k < count; ++k) index_.push_back(subject.carries.empty() ? k * all_.size() / count : k);
  }
  std::size_t size() const override { return index_.size(); }
  Sample at(std::size_t index) const override { return all_.at(index_.at(index)); }
  std::string description() const override { return all_.description(); }
  bool is_random() const override { return all_.is_random(); }

 private:
  const SampleSource& all_;
  std::vector<std::size_t> index_;
};

}  // namespace vernier
