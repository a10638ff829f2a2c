#include "analysis/part_profile.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace vernier {
namespace {

constexpr double kEnoughValues = 64;  // of each segment

}  // namespace

void PartProfile::add(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  const auto at = static_cast<std::size_t>(axis.axis);
  usable = usable && at < shape.size();
  if (!usable) return;
  const std::int64_t length = shape[at];
  if (places.empty()) places.resize(static_cast<std::size_t>(length));
  usable = length > 1 && static_cast<std::size_t>(length) == places.size() &&
           (axis.ends.empty()  ? length <= kMostPartChannels
            : axis.rounds == 0 ? axis.ends.back() == length
                               : axis.last - axis.first == axis.rounds * axis.ends.back() && axis.last <= length);
  if (!usable) return;
  std::size_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i < at) outer *= static_cast<std::size_t>(shape[i]);
    if (i > at) inner *= static_cast<std::size_t>(shape[i]);
  }
  const float* value = tensor.floats().data();
  for (std::size_t o = 0; o < outer; ++o) {
    for (SegmentSums& place : places) {
      for (std::size_t i = 0; i < inner; ++i, ++value) {
        if (!std::isfinite(*value) || (mask.exists() && mask.masks(*value))) continue;
        place.energy += static_cast<double>(*value) * *value;
        place.count += 1;
      }
    }
  }
}

std::vector<SegmentSums> PartProfile::segments() const {
  if (axis.ends.empty()) return places;
  std::vector<SegmentSums> sums(axis.ends.size());
  for (std::int64_t round = 0; round < std::max<std::int64_t>(axis.rounds, 1); ++round) {
    auto place = static_cast<std::size_t>(axis.first + round * axis.ends.back());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const std::int64_t length = axis.ends[i] - (i == 0 ? 0 : axis.ends[i - 1]);
      for (std::int64_t k = 0; k < length; ++k, ++place) {
        sums[i].energy += places[place].energy;
        sums[i].count += places[place].count;
      }
    }
  }
  return sums;
}

bool PartProfile::has_enough() const {
  const std::vector<SegmentSums> sums = segments();
  return !usable || std::ranges::all_of(sums, [](const SegmentSums& sum) { return sum.count >= kEnoughValues; });
}

std::vector<OutputPart> PartProfile::parts(const std::string& name) const {
  if (!usable || places.empty()) return {};
  std::vector<OutputPart> found = axis.ends.empty() ? of_channels(name) : of_operands(name);
  if (axis.rounds > 0 && !found.empty()) found = repeated(std::move(found));
  for (OutputPart& part : found) {
    part.mask = mask;
    part.name = part_name(part);
  }
  return found;
}

std::vector<OutputPart> PartProfile::of_channels(const std::string& name) const {
  std::vector<OutputPart> found;
  for (std::vector<std::size_t>& group : channel_groups(places)) {
    OutputPart& part = found.emplace_back(OutputPart{{}, name, axis.axis, 0, std::nullopt});
    if (group.back() - group.front() + 1 == group.size()) {
      part.begin = static_cast<std::int64_t>(group.front());
      if (group.back() + 1 < places.size()) part.end = static_cast<std::int64_t>(group.back()) + 1;
    } else {
      part.places.assign(group.begin(), group.end());
    }
  }
  return found;
}

std::vector<OutputPart> PartProfile::of_operands(const std::string& name) const {
  std::vector<OutputPart> found;
  std::int64_t begin = 0;
  for (const std::size_t start : part_starts(segments())) {
    const std::int64_t end = axis.ends[start - 1];
    found.push_back({{}, name, axis.axis, begin, end});
    begin = end;
  }
  if (!found.empty()) found.push_back({{}, name, axis.axis, begin, std::nullopt});
  return found;
}

std::vector<OutputPart> PartProfile::repeated(std::vector<OutputPart> of_round) const {
  const std::int64_t length = axis.ends.back();
  const auto to_end = [&](std::int64_t end) {
    return end == static_cast<std::int64_t>(places.size()) ? std::nullopt : std::optional(end);
  };
  std::vector<OutputPart> found;
  if (length <= axis.rounds * static_cast<std::int64_t>(of_round.size())) {
    for (std::int64_t place = 0; place < length; ++place) {
      OutputPart& part = found.emplace_back(of_round.front());
      part.begin = axis.first + place;
      part.end = to_end(axis.last);
      part.step = length;
    }
    return found;
  }
  for (std::int64_t round = 0; round < axis.rounds; ++round) {
    const std::int64_t start = axis.first + round * length;
    for (const OutputPart& run : of_round) {
      OutputPart& part = found.emplace_back(run);
      part.begin = start + run.begin;
      part.end = to_end(start + run.end.value_or(length));
    }
  }
  return found;
}

}  // namespace vernier
