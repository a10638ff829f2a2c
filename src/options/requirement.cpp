#include "vernier/requirement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <exception>
#include <limits>
#include <set>
#include <string>

#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

struct MetricRow {
  Metric metric;
  std::string_view word;
  std::string_view unit;
  double least, most;
};

constexpr double kLargestLimit = std::numeric_limits<double>::max();

constexpr std::array<MetricRow, 5> kMetrics{{
    {Metric::MinSqnrDb, "min-sqnr", "dB", -kLargestLimit, kLargestLimit},
    {Metric::MaxAbsError, "max-abs-error", "", 0, kLargestLimit},
    {Metric::MaxMse, "max-mse", "", 0, kLargestLimit},
    {Metric::MinCosine, "min-cosine", "", -1, 1},
    {Metric::MinTop1Agreement, "min-top1-agreement", "", 0, 1},
}};

/// "output0" of the slice "output0[:,4:]"; empty: it names no slice.
std::string sliced_output(const std::string& name) {
  const std::size_t open = name.rfind('[');
  if (open == std::string::npos || !name.ends_with(']') || name.find(':', open) == std::string::npos) return {};
  return name.substr(0, open);
}

const MetricRow& row_of(Metric metric) {
  return *std::find_if(kMetrics.begin(), kMetrics.end(), [&](const MetricRow& row) { return row.metric == metric; });
}

}  // namespace

std::optional<double> Requirement::limit_for(const std::string& output) const {
  const std::string whole = sliced_output(output);
  std::optional<double> of_whole, general;
  for (const Limit& limit : limits) {
    if (limit.output == output) return limit.value;
    if (!whole.empty() && limit.output == whole) of_whole = limit.value;
    if (limit.output.empty()) general = limit.value;
  }
  return of_whole ? of_whole : general;
}

const std::vector<Metric>& all_metrics() {
  static const std::vector<Metric> metrics = [] {
    std::vector<Metric> listed;
    for (const MetricRow& row : kMetrics) listed.push_back(row.metric);
    return listed;
  }();
  return metrics;
}

std::string_view metric_unit(Metric metric) { return row_of(metric).unit; }

std::span<const std::string_view> words_of(Metric /*which*/) {
  static constexpr auto kWords = [] {
    std::array<std::string_view, kMetrics.size()> words;
    for (const MetricRow& row : kMetrics) words[static_cast<std::size_t>(row.metric)] = row.word;
    return words;
  }();
  return kWords;
}

void require_confidence(double confidence) {
  if (confidence >= 0.5 && confidence < 1) return;
  throw Error(ErrorCode::BadValue, fmt::format("‹claim-confidence›: {} is not from 0.5 to below 1", confidence),
              "‹claim-confidence› 0.9");
}

void require_valid(const Requirement& requirement) {
  const MetricRow& row = row_of(requirement.metric);
  const auto refuse = [&row](const std::string& why, const std::string& hint = {}) {
    throw Error(ErrorCode::BadValue, fmt::format("‹{}›: {}", row.word, why), hint);
  };
  if (requirement.limits.empty()) refuse("no limit");
  require_confidence(requirement.confidence);
  std::set<std::string> seen;
  for (const Limit& limit : requirement.limits) {
    if (!(limit.value >= row.least && limit.value <= row.most)) {
      const bool percent = row.most == 1 && row.least == 0 && limit.value > 1 && limit.value <= 100;
      refuse(!std::isfinite(limit.value) ? fmt::format("{} is not a number", limit.value)
             : row.most == kLargestLimit ? fmt::format("{} is below {}", limit.value, row.least)
                                         : fmt::format("{} is not in [{}, {}]", limit.value, row.least, row.most),
             percent ? fmt::format("shares are from 0 to 1: ‹{}› {:g}", row.word, limit.value / 100) : std::string());
    }
    if (!seen.insert(limit.output).second) {
      refuse(limit.output.empty() ? std::string("two limits for all outputs")
                                  : fmt::format("two limits for output '{}'", printable(limit.output)));
    }
  }
}

Requirement with_margin(Requirement requirement, double db) {
  if (!(db >= 0) || !std::isfinite(db)) {
    throw Error(ErrorCode::BadValue, fmt::format("‹margin›: {} is not a number of decibels, 0 or more", db),
                "‹margin› 0.5");
  }
  const double power = std::pow(10.0, -db / 10);
  // Four digits, and rather less: nobody reads more in an answer.
  const auto short_of = [](double value) {
    if (!(value > 0) || !std::isfinite(value)) return value;
    const double unit = std::pow(10.0, std::floor(std::log10(value)) - 3);
    return std::floor(value / unit * (1 + 1e-12)) * unit;
  };
  for (Limit& limit : requirement.limits) {
    switch (requirement.metric) {
      case Metric::MinSqnrDb:
        limit.value += db;
        break;
      case Metric::MaxAbsError:
        limit.value = db > 0 ? short_of(limit.value * std::sqrt(power)) : limit.value;
        break;
      case Metric::MaxMse:
        limit.value = db > 0 ? short_of(limit.value * power) : limit.value;
        break;
      case Metric::MinCosine:
        limit.value = 1 - (1 - limit.value) * power;
        break;
      case Metric::MinTop1Agreement:
        throw Error(ErrorCode::WithoutEffect, "‹margin›: agreement has no decibels", "a higher ‹min-top1-agreement›");
    }
  }
  requirement.margin_db += db;
  return requirement;
}

Limit parse_limit(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  Limit limit;
  if (colon != std::string::npos) limit.output = text.substr(0, colon);
  const std::string number = colon == std::string::npos ? text : text.substr(colon + 1);
  std::size_t used = 0;
  try {
    limit.value = std::stod(number, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != number.size() || !std::isfinite(limit.value)) {
    throw Error(ErrorCode::BadValue,
                fmt::format("'{}' is not a limit: expected a number, such as 20, or OUTPUT:number", text));
  }
  return limit;
}

}  // namespace vernier
