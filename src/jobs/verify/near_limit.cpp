#include "jobs/verify/near_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "analysis/beside_known.h"
#include "analysis/figures.h"
#include "report/text/figures.h"

namespace vernier {
namespace {

// Of the allowance: 3 dB. No engine was seen to sum that far from another (docs/records/within-a-layer.md).
constexpr double kNear = 0.5;
constexpr double kSpread = 0.1;
// Of outputs that differ by no more than float32 sums do: another order may lose what one order happens to repeat.
constexpr double kFloatSumsDb = 100;

constexpr double kFarBelowDb = 80;  // a limit that no such difference misses

bool differs_by_sums_alone(const RunFigures& figures, const Requirement& requirement) {
  return std::ranges::any_of(figures.outputs, [&](const OutputFigure& one) {
    const bool loose =
        requirement.metric == Metric::MinSqnrDb && requirement.limit_for(one.name).value_or(0) < kFarBelowDb;
    return !loose && one.sqnr_db > kFloatSumsDb;
  });
}

/// Whether another order of summation may give another verdict. `exact`: nothing but the order of sums is left of the
/// error, whose damage is then no guide.
bool order_may_decide(double damage, bool exact) { return damage <= 1 / kNear && (exact || damage >= kNear); }

}  // namespace

RunFigures figures_of_file(const Subject& subject, const Model& typed, const Requirement* requirement,
                           const OutputStore* known) {
  std::optional<OutputStore> own;
  if (known == nullptr) known = &own.emplace(outputs_of_float(subject));
  return figures_of(subject, run_beside_known(subject, typed, *known).outputs, requirement);
}

std::optional<BothOrders> measure_other_order(const Subject& subject, const Model& typed, const RunFigures& figures,
                                              const Requirement* requirement, const OutputStore* known) {
  if (requirement == nullptr || !figures.damage || !subject.optimizes()) return {};
  if (!order_may_decide(*figures.damage, differs_by_sums_alone(figures, *requirement))) return {};
  std::optional<OutputStore> own;  // in the order that it always has
  if (known == nullptr) known = &own.emplace(outputs_of_float(subject));
  Subject plain = subject;
  plain.optimize = false;
  const RunFigures other = figures_of_file(plain, typed, requirement, known);
  const bool other_is_worse = !(*other.damage <= *figures.damage);
  BothOrders both{other_is_worse ? other : figures, other.passed != figures.passed, std::nullopt};
  const std::string one = figure_text(figures, *requirement), another = figure_text(other, *requirement);
  if (both.doubtful) {
    both.note =
        Note{"near-the-limit", {{"one", one}, {"another", another}, {"required", required_text(other, *requirement)}}};
  } else if (std::abs(*other.damage - *figures.damage) > kSpread) {
    both.note = Note{"orders-differ", {{"one", one}, {"another", another}}};
  }
  return both;
}

TestRow test_in_both_orders(const Subject& subject, const std::function<TestRow(const Subject&)>& test,
                            std::optional<Note>& doubt) {
  const TestRow row = test(subject);
  if (!subject.optimizes() || !order_may_decide(row.damage, /*exact=*/row.damage == 0)) return row;
  Subject plain = subject;
  plain.optimize = false;
  TestRow other = test(plain);
  if (other.verdict != row.verdict) {
    doubt = Note{"test-near-the-limit",
                 {{"one", fmt::format("{:.4g}", row.metric)}, {"another", fmt::format("{:.4g}", other.metric)}}};
  }
  return other.damage > row.damage ? other : row;
}

}  // namespace vernier
