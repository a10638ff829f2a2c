#include "analysis/chosen_ranges.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/text.h"
#include "numerics/distribution.h"
#include "numerics/range_methods.h"
#include "vernier/calibration.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"

namespace vernier {
namespace {

struct Choice {
  RangeStats range;
  std::optional<Mask> mask;
};

ValueHistogram values_of(const HalvedHistogram& counted, std::optional<std::size_t> half) {
  if (half && !counted.at(*half).range().empty()) return counted.at(*half);
  ValueHistogram all = counted.at(0);
  all += counted.at(1);
  return all;
}

ValueRange own_range(const RangeMethod& method, const SeenValues& seen) {
  const auto [low, high] = method.choose(seen);
  const bool nothing = low == 0 && high == 0 && (seen.min != 0 || seen.max != 0);
  if (std::isfinite(low) && std::isfinite(high) && low <= high && !nothing) return {low, high};
  throw Error(ErrorCode::BadValue, fmt::format("{}: [{}, {}] is not a range for '{}'", printable(method.name), low,
                                               high, printable(seen.tensor)));
}

Choice choose(const CalibrationChoice& choice, const std::string& tensor, Format format, const RangeStats& seen,
              const HalvedHistogram* counted, std::optional<std::size_t> half) {
  Choice chosen{seen, {}};
  if (counted == nullptr || seen.empty()) return chosen;
  Distribution values = distribution_of(values_of(*counted, half));
  chosen.mask = take_mask(values);
  CalibrationChoice method = choice;
  if (choice.method == CalibrationMethod::Automatic) method.method = CalibrationMethod::MinMax;
  const ValueRange range =
      choice.own ? own_range(*choice.own, seen_values(tensor, format, values)) : range_by(method, values, format);
  chosen.range.min = range.low;
  chosen.range.max = range.high;
  return chosen;
}

}  // namespace

std::set<std::string> to_count(const CalibrationChoice& choice, const std::map<std::string, Format>& tensors) {
  std::set<std::string> counted;
  if (choice.method == CalibrationMethod::MinMax) return counted;
  for (const auto& [tensor, format] : tensors) counted.insert(tensor);
  return counted;
}

std::set<std::string> maybe_masked(const std::map<std::string, Format>& tensors,
                                   const std::map<std::string, RangeStats>& ranges) {
  std::set<std::string> suspects;
  for (const auto& [tensor, format] : tensors) {
    const auto range = ranges.find(tensor);
    if (range != ranges.end() && range->second.absmax() >= kNoMask) suspects.insert(tensor);
  }
  return suspects;
}

void check_method(const CalibrationChoice& choice, const std::map<std::string, Format>& tensors) {
  for (const auto& [tensor, format] : tensors) require_levels_for(choice, format);
}

ChosenRanges choose_ranges(const CalibrationChoice& choice, const std::map<std::string, Format>& tensors,
                           const Reference& reference, std::size_t threads, std::optional<std::size_t> half) {
  const std::vector<std::pair<std::string, Format>> list(tensors.begin(), tensors.end());
  ChosenRanges chosen;
  parallel_ordered(
      list.size(), threads,
      [&](std::size_t i) -> std::optional<Choice> {
        const auto seen = reference.ranges.find(list[i].first);
        if (seen == reference.ranges.end()) return std::nullopt;
        const auto counted = reference.histograms.find(list[i].first);
        return choose(choice, list[i].first, list[i].second, seen->second,
                      counted == reference.histograms.end() ? nullptr : &counted->second, half);
      },
      [&](std::size_t i, const std::optional<Choice>& choice_of) {
        if (!choice_of) return true;
        chosen.ranges[list[i].first] = choice_of->range;
        if (choice_of->mask) chosen.masks[list[i].first] = *choice_of->mask;
        return true;
      });
  return chosen;
}

}  // namespace vernier
