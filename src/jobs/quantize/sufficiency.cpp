#include "jobs/quantize/sufficiency.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "base/text.h"
#include "numerics/grid.h"
#include "numerics/range_methods.h"
#include "vernier/format.h"

namespace vernier {
namespace {

/// What a grid covers of a range: as much on both sides where it is symmetric.
ValueRange covered(Format format, ValueRange range) {
  if (is_unsigned(format)) return {std::min(range.low, 0.0F), std::max(range.high, 0.0F)};
  const float bound = std::max(std::abs(range.low), std::abs(range.high));
  return {-bound, bound};
}

double width(const ValueRange& range) { return static_cast<double>(range.high) - range.low; }

/// Widths of two ranges, the larger over the smaller, less 1. Edges: 0 when both are empty, +inf when one is.
double differ(const ValueRange& a, const ValueRange& b) {
  const double small = std::min(width(a), width(b));
  const double large = std::max(width(a), width(b));
  if (large == 0) return 0;
  return small == 0 ? std::numeric_limits<double>::infinity() : large / small - 1;
}

}  // namespace

void fill_sufficiency(RangeRow& row, const Reference& reference) {
  const auto counted = reference.histograms.find(row.tensor);
  if (counted == reference.histograms.end()) return;
  const auto clean = [](const ValueHistogram& histogram) {
    Distribution values = distribution_of(histogram);
    take_mask(values);
    return values;
  };
  ValueHistogram whole = counted->second[0];
  whole += counted->second[1];
  const Distribution all = clean(whole);
  const ValueRange range = covered(row.format, {static_cast<float>(row.min), static_cast<float>(row.max)});
  row.clipped = share_beyond(all, range.low, range.high);

  const std::array halves{clean(counted->second[0]), clean(counted->second[1])};
  const auto choice = parse_calibration_method(row.method);
  if (!halves[0].empty() && !halves[1].empty() && choice && has_levels_for(*choice, row.format)) {
    std::array<ValueRange, 2> learned;
    for (const std::size_t h : {0U, 1U}) learned[h] = covered(row.format, range_by(*choice, halves[h], row.format));
    row.halves_differ = differ(learned[0], learned[1]);
    double uncovered = 0;
    for (const std::size_t h : {0U, 1U}) {
      const double intended = share_beyond(halves[h], learned[h].low, learned[h].high);
      uncovered = std::max(uncovered, share_beyond(halves[1 - h], learned[h].low, learned[h].high) - intended);
    }
    row.uncovered = uncovered;
  }
  const auto early = reference.early.find(row.tensor);
  // A mask is no growth: with one, the ends that were seen say nothing.
  if (early == reference.early.end() || early->second.empty() || row.mask) return;
  const ValueRange before = covered(row.format, {early->second.min, early->second.max});
  const ValueRange after = covered(row.format, {all.min, all.max});
  row.growth = width(after) == 0 ? 0 : 1 - width(before) / width(after);
}

Sufficiency sufficiency_of(const std::vector<RangeRow>& rows, std::size_t samples, std::size_t distinct,
                           bool random_data) {
  constexpr std::size_t kFewest = 5;      // of which a fifth is one
  constexpr std::size_t kFewRepeat = 10;  // up to a tenth may repeat: a black frame, a photograph taken twice
  Sufficiency result;
  const RangeRow* worst = nullptr;
  for (const RangeRow& row : rows) {
    if (!row.quantized) continue;
    ++result.tensors;
    result.differ += row.halves_differ.value_or(0) > kHalvesDiffer;
    result.grow += row.growth.value_or(0) > kStillGrows;
    result.uncovered += row.uncovered.value_or(0) > kUncovered;
    if (row.halves_differ && (worst == nullptr || *row.halves_differ > *worst->halves_differ)) worst = &row;
  }
  if (random_data) {
    result.text = "the samples are random numbers: they say nothing about the ranges of real data";
    return result;
  }
  // Halves that hold the same samples agree, whatever the ranges of others would be.
  if (distinct == 1 && samples > 1) {
    result.text = fmt::format(
        "not known whether the samples are enough: all {} samples are the same, and say no more than one does; give "
        "different ones",
        samples);
    return result;
  }
  if (distinct + samples / kFewRepeat < samples) {
    result.text = fmt::format(
        "not known whether the samples are enough: {} of {} samples are the same as an earlier one, so that halves of "
        "them agree by themselves; give "
        "different ones",
        samples - distinct, samples);
    return result;
  }
  if (samples < kFewest) {
    result.text =
        fmt::format("not known whether the samples are enough: {} cannot be held against each other; give {} or more",
                    plural(samples, "sample"), kFewest);
    return result;
  }
  result.enough = result.differ == 0 && result.grow == 0 && result.uncovered == 0;
  const std::size_t fifth = samples / 5;
  if (result.enough) {
    result.text = fmt::format(
        "enough samples: all {} ranges agree within {:g} % between two halves of the samples, none grew by "
        "more than {:g} % in the last {}, and each half covers the other",
        result.tensors, kHalvesDiffer * 100, kStillGrows * 100, plural(fifth, "sample"));
    return result;
  }
  std::vector<std::string> findings;
  if (result.grow > 0) {
    findings.push_back(fmt::format("{} of {} ranges still grow (by over {:g} % in the last {})", result.grow,
                                   result.tensors, kStillGrows * 100, plural(fifth, "sample")));
  }
  if (result.differ > 0) {
    findings.push_back(
        fmt::format("{} of {}{} differ by over {:g} % between two halves of the samples (most: '{}', {:.0f} %)",
                    result.differ, result.tensors, findings.empty() ? " ranges" : "", kHalvesDiffer * 100,
                    printable(worst->tensor), *worst->halves_differ * 100));
  }
  if (result.uncovered > 0) {
    findings.push_back(
        fmt::format("{} leave over {:g} % of the values of the other half out", result.uncovered, kUncovered * 100));
  }
  for (const std::string& finding : findings) result.text += (result.text.empty() ? "" : "; ") + finding;
  result.text += ": add samples";
  return result;
}

}  // namespace vernier
