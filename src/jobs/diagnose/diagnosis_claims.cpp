// What a diagnosis claims of samples that taught nothing.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analysis/figures.h"
#include "analysis/sampling_interval.h"
#include "analysis/trials.h"
#include "jobs/diagnose/cross_fit.h"
#include "jobs/diagnose/diagnosis.h"
#include "jobs/diagnose/teach.h"
#include "jobs/search/judge.h"
#include "vernier/format.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"

namespace vernier {

bool Diagnosis::cross_fits() const {
  const SearchOptions& search = options_.search;
  // A script is shown the samples without their numbers, and may know what belongs to them by their order.
  const bool others_decide = search.task.function || search.task.metric || search.check || search.compare;
  const bool halved = options_.measure.cross_fit && loaded_.samples->size() >= kFewestToHalve &&
                      !loaded_.samples->is_random() && !loaded_.calibration && subject().carries.empty();
  const bool learns = teacher_->learns_ranges(subject(), all_low_plan()) ||
                      (repairs_ != nullptr && std::ranges::any_of(options_.precision.low, needs_scale));
  return halved && !others_decide && learns;
}

RunFigures Diagnosis::on_unseen(const Plan& plan) {
  return figures_of(subject(), halves_->run(subject(), plan, experiment_->judged_against()), requirement());
}

void Diagnosis::judge_unseen(TestRow& test, const std::vector<std::string>& kept) {
  const Plan plan = experiment_->plan_keeping(kept);
  Judge judge(*experiment_, objective_.get(), /*early_stop=*/false);
  const Trial trial =
      judge.of_outputs([&](const auto&, const VisitOutputs& visit) { halves_->visit(subject(), plan, visit); });
  test.verdict = trial.verdict == Verdict::Good ? Verdict::Good : Verdict::Bad;
  test.metric = trial.metric;
  test.damage = trial.damage;
  test.needs = trial.why;
  if (test.interval) test.interval = share_interval(test.metric, test.samples);
}

void Diagnosis::claim_unseen() {
  report_.in_sample = report_.final_figures;
  RunFigures unseen = on_unseen(final_plan());
  unseen.nonfinite_inside = report_.in_sample->nonfinite_inside;
  // The written file has the last word on its own samples too: the halves are simulated from plans.
  if (unseen.damage && report_.in_sample->damage > unseen.damage) {
    unseen.damage = report_.in_sample->damage;
    unseen.passed = *unseen.damage <= 1;
  }
  report_.final_figures = std::move(unseen);
}

}  // namespace vernier
