#include "jobs/diagnose/cross_fit.h"

#include <algorithm>
#include <utility>

#include "analysis/alike_samples.h"
#include "analysis/some_samples.h"

namespace vernier {

CrossFit::CrossFit(const Teacher& teacher, const Subject& subject) {
  const Halves halves = halves_by_lot(first_alike(teacher.samples()));
  for (std::size_t half = 0; half < halves.size(); ++half) {
    const ChosenSamples samples(teacher.samples(), evenly(halves[half], kMostToTeach));
    Subject own = subject;
    own.samples = &samples;
    Plan plan = teacher.unscaled(subject).plan;
    Reference seen = teacher.run(own, plan, /*for_repairs=*/false);
    teacher.set_scales(plan, own, seen);
    teacher.keep_given_scales(plan, own);
    halves_[half].unseen = halves[1 - half];
    halves_[half].tensors = std::move(plan.tensors);
    halves_[half].other_grids = std::move(plan.other_grids);
    halves_[half].constants = std::move(plan.constants);
  }
}

CrossFit::CrossFit(std::array<TaughtHalf, 2> halves) : halves_(std::move(halves)) {}

std::vector<JudgedNetwork> CrossFit::networks(const Subject& subject, const Plan& plan) {
  std::vector<JudgedNetwork> networks;
  for (TaughtHalf& half : halves_) {
    if (half.rewritten) move_to_job_of(subject, *half.rewritten);
    Plan taught = plan;
    taught.tensors = half.tensors;
    taught.other_grids = half.other_grids;
    taught.constants = half.constants;
    networks.push_back(
        {half.rewritten ? half.rewritten.get() : &subject, std::move(taught), half.weights.get(), half.unseen});
  }
  return networks;
}

}  // namespace vernier
