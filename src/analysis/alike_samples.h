// Samples that repeat others, as frames of a video or a file that was given twice: they teach nothing new, and a figure
// on new samples rests on the distinct ones alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "vernier/samples.h"

namespace vernier {

/// Hands samples on, and compares those that pass. Two are alike if values of other types than float32 are equal, and
/// the float32 ones differ by at most 1e-6 of the larger one's energy (60 dB), as eight random projections say (W. B.
/// Johnson and J. Lindenstrauss, "Extensions of Lipschitz mappings into a Hilbert space", 1984).
class AlikeSamples final : public SampleSource {
 public:
  explicit AlikeSamples(std::shared_ptr<const SampleSource> samples);
  std::size_t size() const override { return samples_->size(); }
  Sample at(std::size_t index) const override;
  std::string description() const override { return samples_->description(); }
  bool is_random() const override { return samples_->is_random(); }
  bool reads_images() const override { return samples_->reads_images(); }
  std::vector<std::string> skipped_images() const override { return samples_->skipped_images(); }

  /// For each sample the first one that it is like, itself where it is like none before it. Reads the samples that did
  /// not pass yet. Cost: O(n log n) where few are alike, once.
  const std::vector<std::size_t>& first_alike() const;
  /// The same, or null as long as samples would have to be read for it.
  const std::vector<std::size_t>* known_first_alike() const;

 private:
  static constexpr std::size_t kProjections = 8;
  struct Print {
    std::uint64_t others = 0;  // names, types and shapes, and all values but those of float32
    double energy = 0;
    double projections[kProjections] = {};
  };
  static Print print_of(const Sample& sample);
  static bool alike(const Print& one, const Print& other);
  std::vector<std::size_t> compared() const;

  std::shared_ptr<const SampleSource> samples_;
  mutable std::mutex mutex_;
  mutable std::vector<std::optional<Print>> prints_;
  mutable std::size_t passed_ = 0;  // samples that have a print
  mutable std::vector<std::size_t> first_;
};

/// first_alike() of samples that were compared, else each sample itself.
std::vector<std::size_t> first_alike(const SampleSource& samples);
/// How many of them are unlike all before them.
std::size_t count_distinct(const SampleSource& samples);

}  // namespace vernier
