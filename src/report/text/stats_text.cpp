#include "report/text/stats_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/text.h"

namespace vernier {
namespace {

constexpr std::int64_t kBarWidth = 40;

}  // namespace

std::string not_finite_text(const ValueStats& stats) {
  std::vector<std::string> kinds;
  const auto name = [&](std::int64_t count, const char* kind) {
    if (count > 0) kinds.push_back(fmt::format("{} {}", count, kind));
  };
  name(stats.nan, "NaN");
  name(stats.positive_infinite, "inf");
  name(stats.negative_infinite, "-inf");
  if (kinds.empty()) return {};
  const std::int64_t count = stats.nan + stats.positive_infinite + stats.negative_infinite;
  return fmt::format("{} of {} values {} not finite ({})", count, stats.count, count == 1 ? "is" : "are",
                     fmt::join(kinds, ", "));
}

std::string stats_to_text(const ValueStats& stats, const Shape& shape, bool percentiles) {
  if (stats.count == 0) return "no elements";
  const std::string left_out = not_finite_text(stats);
  if (stats.nan + stats.positive_infinite + stats.negative_infinite == stats.count) {
    return fmt::format("no finite values: {}", left_out);
  }
  std::string text = fmt::format(
      "mean={:.5g}, std-dev={:.5g}, var={:.5g}, median={:.5g}, min={:.5g} at {}, max={:.5g} at {}, "
      "avg-magnitude={:.5g}",
      stats.mean, stats.standard_deviation, stats.variance, stats.median, stats.min, place_text(stats.min_at, shape),
      stats.max, place_text(stats.max_at, shape), stats.average_magnitude);
  if (percentiles) text += fmt::format(", p90={:.5g}, p95={:.5g}, p99={:.5g}", stats.p90, stats.p95, stats.p99);
  if (!left_out.empty()) text += fmt::format(" | {}: left out", left_out);
  return text;
}

std::string histogram_to_text(const Histogram& histogram) {
  const std::int64_t most =
      histogram.bins.empty() ? 0 : *std::max_element(histogram.bins.begin(), histogram.bins.end());
  if (most == 0) return {};
  std::vector<std::string> edges;
  const auto bins = static_cast<double>(histogram.bins.size());
  for (std::size_t i = 0; i <= histogram.bins.size(); ++i) {
    const double edge = histogram.low + (histogram.high - histogram.low) * static_cast<double>(i) / bins;
    edges.push_back(fmt::format("{:.3g}", edge));
  }
  const auto longer = [](const std::string& a, const std::string& b) { return a.size() < b.size(); };
  const std::size_t start = std::max_element(edges.begin(), edges.end(), longer)->size();
  const std::size_t end = std::max_element(edges.begin() + 1, edges.end(), longer)->size();
  std::string text =
      fmt::format("---- Histogram ----\n{:<{}}|  Num Elems | Visualization\n", "Bin Range", start + end + 5);
  for (std::size_t i = 0; i < histogram.bins.size(); ++i) {
    const auto width =
        static_cast<std::size_t>(static_cast<double>(kBarWidth * histogram.bins[i]) / static_cast<double>(most));
    text += fmt::format("({:<{}}, {:<{}}) | {:10} | {}\n", edges[i], start, edges[i + 1], end, histogram.bins[i],
                        std::string(width, '#'));
  }
  return text;
}

}  // namespace vernier
