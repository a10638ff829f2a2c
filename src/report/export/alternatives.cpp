// Which of the measured options is best, and which one a report is about.
#include "vernier/report/alternatives.h"

#include <algorithm>

#include "vernier/format.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/kept_set.h"
#include "vernier/search_options.h"

namespace vernier {
namespace {

/// Bits that a multiply-accumulate has, on average.
double bits_of_work(const Alternative& row, Format high) {
  const auto narrowest = std::ranges::min_element(row.low, {}, bits_of);
  const double low_bits = narrowest == row.low.end() ? bits_of(high) : bits_of(*narrowest);
  const double kept = row.total_macs > 0 ? static_cast<double>(row.kept_macs) / static_cast<double>(row.total_macs) : 0;
  return kept * bits_of(high) + (1 - kept) * low_bits;
}

bool cheaper(const Alternative& one, const Alternative& other, const DiagnoseReport& report) {
  const CostUnit unit = report.kept ? report.kept->cost_unit : CostUnit::Layers;
  // Another engine, or another format, has other layers, and other costs.
  const bool comparable = one.target == other.target && one.low == other.low;
  if (unit != CostUnit::Layers && comparable) return one.cost < other.cost;
  const double one_bits = bits_of_work(one, report.high);
  const double other_bits = bits_of_work(other, report.high);
  if (one_bits != other_bits) return one_bits < other_bits;
  return comparable && one.kept < other.kept;
}

}  // namespace

bool meets(const Alternative& row) { return row.end == AlternativeEnd::Met || row.end == AlternativeEnd::Unfinished; }

const Alternative* best_alternative(const DiagnoseReport& report) {
  const Alternative* best = nullptr;
  for (const Alternative& row : report.alternatives) {
    if (meets(row) && (best == nullptr || cheaper(row, *best, report))) best = &row;
  }
  return best;
}

const Alternative* answer_of_alternatives(const DiagnoseReport& report) {
  if (report.alternatives.empty()) return nullptr;
  const auto adopted = std::ranges::find_if(report.alternatives, &Alternative::adopted);
  return adopted == report.alternatives.end() ? &report.alternatives.front() : &*adopted;
}

}  // namespace vernier
