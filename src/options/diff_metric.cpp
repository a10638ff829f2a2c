#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "vernier/report/data_diff.h"

namespace vernier {
namespace {

struct DiffMetricRow {
  DiffMetric metric;
  std::string_view name;
  double DiffRow::*value;
  bool larger_is_better;
};

// A metric is one line here and one member of DiffRow.
constexpr std::array<DiffMetricRow, 6> kDiffMetrics{{
    {DiffMetric::Sqnr, "sqnr", &DiffRow::sqnr_db, true},
    {DiffMetric::MaxAbs, "max_abs", &DiffRow::max_abs, false},
    {DiffMetric::MeanAbs, "mean_abs", &DiffRow::mean_abs, false},
    {DiffMetric::MaxRel, "max_rel", &DiffRow::max_rel, false},
    {DiffMetric::Cosine, "cosine", &DiffRow::cosine, true},
    {DiffMetric::Mse, "mse", &DiffRow::mse, false},
}};

const DiffMetricRow& row_of(DiffMetric metric) {
  return *std::find_if(kDiffMetrics.begin(), kDiffMetrics.end(),
                       [&](const DiffMetricRow& row) { return row.metric == metric; });
}

}  // namespace

std::span<const std::string_view> words_of(DiffMetric /*which*/) {
  static constexpr auto kWords = [] {
    std::array<std::string_view, kDiffMetrics.size()> words;
    for (const DiffMetricRow& row : kDiffMetrics) words[static_cast<std::size_t>(row.metric)] = row.name;
    return words;
  }();
  return kWords;
}

bool larger_is_better(DiffMetric metric) { return row_of(metric).larger_is_better; }
double DiffRow::value(DiffMetric metric) const { return this->*(row_of(metric).value); }

const std::vector<DiffMetric>& all_diff_metrics() {
  static const std::vector<DiffMetric> metrics = [] {
    std::vector<DiffMetric> all;
    for (const DiffMetricRow& row : kDiffMetrics) all.push_back(row.metric);
    return all;
  }();
  return metrics;
}

}  // namespace vernier
