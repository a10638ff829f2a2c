// Samples shared out, so that what is claimed is measured on samples that nothing was chosen by.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vernier/measure.h"
#include "vernier/samples.h"

namespace vernier {

/// Fewer samples than this are not shared out: each part would say too little.
inline constexpr std::size_t kFewestToSplit = 60;

/// Indices of samples, each in one part, in their order.
struct SampleParts {
  std::vector<std::size_t> calibration, search, judgement;
  bool operator==(const SampleParts&) const = default;
};

/// A third each, drawn without replacement from a fixed seed; without Split::CalibrationAndJudgement the search has
/// what calibration would have had, and the other way round. Calibration has at most 512, which ranges do not gain from
/// exceeding. nullopt: Split::None, or too few.
std::optional<SampleParts> parts_of(std::size_t samples, Split split);

/// Some of a source's samples; `index` names them.
class ChosenSamples final : public SampleSource {
 public:
  ChosenSamples(std::shared_ptr<const SampleSource> all, std::vector<std::size_t> index);
  std::size_t size() const override { return index_.size(); }
  Sample at(std::size_t index) const override { return all_->at(index_.at(index)); }
  std::string description() const override { return all_->description(); }
  std::size_t number(std::size_t index) const override { return all_->number(index_.at(index)); }
  bool is_random() const override { return all_->is_random(); }

 private:
  std::shared_ptr<const SampleSource> all_;
  std::vector<std::size_t> index_;
};

/// The number of each sample among all that there are.
std::vector<std::size_t> numbers_of(const SampleSource& samples);

}  // namespace vernier
