#include "jobs/diagnose/cross_fit.h"

#include <algorithm>
#include <utility>

#include "analysis/some_samples.h"

namespace vernier {
namespace {

OutputStats merged(OutputStats one, const OutputStats& other) {
  one.pooled += other.pooled;
  one.rows += other.rows;
  one.rows_agreed += other.rows_agreed;
  if (one.samples == 0 || (other.samples > 0 && !(other.worst_sqnr_db >= one.worst_sqnr_db))) {
    one.worst_sqnr_db = other.worst_sqnr_db;
    one.worst_sample = other.worst_sample;
  }
  one.samples += other.samples;
  one.each.insert(one.each.end(), other.each.begin(), other.each.end());
  std::ranges::stable_sort(one.each, {}, &SampleSums::sample);
  return one;
}

/// Sums of two parts of the samples, by sample.
std::map<std::string, OutputStats> merged(const std::map<std::string, OutputStats>& one,
                                          const std::map<std::string, OutputStats>& other) {
  std::map<std::string, OutputStats> all = one;
  for (const auto& [output, sums] : other) {
    const auto [known, added] = all.emplace(output, sums);
    if (!added) known->second = merged(std::move(known->second), sums);
  }
  return all;
}

/// The job that made `network` may have ended, and its threads with it.
void move_to_job_of(const Subject& subject, Subject& network) {
  network.runtime = subject.runtime;
  network.samples = subject.samples;
  network.threads = subject.threads;
  network.spare = subject.spare;
  network.one_by_one = subject.one_by_one;
  network.progress = subject.progress;
  network.ranks = subject.ranks;
}

}  // namespace

Plan TaughtHalf::taught(Plan plan) const {
  plan.tensors = tensors;
  plan.constants = constants;
  return plan;
}

CrossFit::CrossFit(const Teacher& teacher, const Subject& subject) {
  const Halves halves = halves_by_lot(teacher.samples().size());
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
    halves_[half].constants = std::move(plan.constants);
  }
}

CrossFit::CrossFit(std::array<TaughtHalf, 2> halves) : halves_(std::move(halves)) {}

std::vector<JudgedNetwork> CrossFit::networks(const Subject& subject, const Plan& plan) {
  std::vector<JudgedNetwork> networks;
  for (TaughtHalf& half : halves_) {
    if (half.rewritten) move_to_job_of(subject, *half.rewritten);
    networks.push_back(
        {half.rewritten ? half.rewritten.get() : &subject, half.taught(plan), half.weights.get(), half.unseen});
  }
  return networks;
}

std::map<std::string, OutputStats> CrossFit::run(const Subject& subject, const Plan& plan, const Reference& reference) {
  std::map<std::string, OutputStats> sums;
  for (const JudgedNetwork& one : networks(subject, plan)) {
    const TrialResult trial =
        run_trial(*one.subject, one.plan, reference, *one.weights, nullptr, one.samples, /*early_stop=*/false);
    sums = merged(sums, trial.outputs);
  }
  return sums;
}

void CrossFit::visit(const Subject& subject, const Plan& plan, const VisitOutputs& visit) {
  for (const JudgedNetwork& one : networks(subject, plan)) {
    run_plan(*one.subject, one.plan, *one.weights, {}, one.samples, visit);
  }
}

}  // namespace vernier
