// What lies at each place along an axis of an output, and the parts that it makes of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/output_part.h"
#include "analysis/output_parts.h"
#include "analysis/part_groups.h"
#include "vernier/tensor.h"

namespace vernier {

inline constexpr std::int64_t kMostPartChannels = 1024;  // that are looked at one by one

/// One axis of one output, and the sums of what lies at each place along it.
struct PartProfile {
  PartAxis axis;
  std::vector<SegmentSums> places = {};
  bool usable = true;
  MaskLimit mask = {};  // left out of the sums

  void add(const Tensor& tensor);
  std::vector<SegmentSums> segments() const;
  bool has_enough() const;
  std::vector<OutputPart> parts(const std::string& name) const;

 private:
  std::vector<OutputPart> of_channels(const std::string& name) const;
  std::vector<OutputPart> of_operands(const std::string& name) const;

  /// The parts of one round in all rounds: each place of a round by its own with a step, or each run of places of each
  /// round, whichever are fewer.
  std::vector<OutputPart> repeated(std::vector<OutputPart> of_round) const;
};

}  // namespace vernier
