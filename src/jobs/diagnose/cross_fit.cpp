#include "jobs/diagnose/cross_fit.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "analysis/alike_samples.h"
#include "analysis/chosen_ranges.h"
#include "analysis/some_samples.h"
#include "plan/calibrate.h"
#include "vernier/format.h"

namespace vernier {
namespace {

/// What repairs want to know the ranges of: what calibration does, and in narrow floats every tensor that a
/// layer reads.
std::set<std::string> tensors_of_interest(const Subject& subject, const Plan& plan) {
  std::set<std::string> observed = tensors_to_observe(subject);
  observed.merge(tensors_to_calibrate(subject.model, subject.layers, plan));
  for (const Layer& layer : subject.layers) {
    const Format format = plan.format_of(layer.name);
    const bool narrow = format == Format::Float16 || format == Format::BFloat16;
    if (narrow) observed.insert(layer.inputs.begin(), layer.inputs.end());
  }
  return observed;
}

}  // namespace

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

Reference Teacher::run(const Subject& subject, const Plan& plan, bool for_repairs) const {
  const auto tensors = formats_to_calibrate(subject.model, subject.layers, plan);
  std::set<std::string> counted = to_count(precision_.calibration, tensors);
  if (for_repairs) {
    for (const auto& [tensor, format] : tensors) counted.insert(tensor);
  }
  return run_reference(subject, tensors_of_interest(subject, plan), counted);
}

AssignedFormats Teacher::unscaled(const Subject& subject) const {
  return assign_formats(subject.model, subject.layers, precision_);
}

void Teacher::set_scales(Plan& plan, const Subject& subject, Reference& seen) const {
  if (cached_ != nullptr) {
    fill_scales(plan, subject.model, subject.layers, precision_, *cached_);
  } else {
    const auto tensors = formats_to_calibrate(subject.model, subject.layers, plan);
    const LearnedRanges learned = learn_ranges(subject, plan, tensors, precision_.calibration, seen, nullptr);
    calibrate_plan(plan, subject.model, subject.layers, learned.chosen.ranges);
  }
}

void Teacher::keep_given_scales(Plan& plan, const Subject& subject) const {
  keep_scales(typed_source_, subject.model, plan);
}

bool Teacher::learns_ranges(const Subject& subject, const Plan& plan) const {
  return cached_ == nullptr && !formats_to_calibrate(subject.model, subject.layers, plan).empty();
}

}  // namespace vernier
