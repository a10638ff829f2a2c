#include "jobs/search/unseen_trials.h"

#include <malloc.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace vernier {
namespace {

/// Samples that are run between two looks at the verdict, where chance may end a trial.
constexpr std::size_t kBetweenLooks = 8;

std::vector<std::size_t> chosen(const std::vector<std::size_t>& order, const std::set<std::size_t>& samples) {
  std::vector<std::size_t> own;
  std::ranges::copy_if(order, std::back_inserter(own), [&](std::size_t sample) { return samples.contains(sample); });
  return own;
}

}  // namespace

Plan JudgedNetwork::taught(Plan other) const {
  other.tensors = plan.tensors;
  other.other_grids = plan.other_grids;
  other.constants = plan.constants;
  return other;
}

UnseenTrials::UnseenTrials(std::vector<JudgedNetwork> networks, std::vector<Plan> ends,
                           std::map<std::string, Shape> shapes)
    : ends_(std::move(ends)), shapes_(std::move(shapes)) {
  for (JudgedNetwork& network : networks) {
    Part& part = parts_.emplace_back();
    part.samples.insert(network.samples.begin(), network.samples.end());
    part.network = std::move(network);
  }
}

std::shared_ptr<const SwitchedRuns> UnseenTrials::switched(Part& part) {
  const std::lock_guard lock(making_);
  if (!part.switched) {
    const JudgedNetwork& network = part.network;
    std::vector<Plan> taught;
    for (const Plan& end : ends_) taught.push_back(network.taught(end));
    part.switched = SwitchedRuns::of(*network.subject, taught, *network.weights, shapes_);
  }
  return *part.switched;
}

std::vector<std::shared_ptr<const Subject>> UnseenTrials::subjects_for(const Subject& job, const Subject& whole) const {
  std::vector<std::shared_ptr<const Subject>> subjects;
  for (const Part& part : parts_) {
    if (part.network.subject == &whole) {
      subjects.emplace_back(std::shared_ptr<const Subject>(), &job);
      continue;
    }
    const auto own = std::make_shared<Subject>(*part.network.subject);
    move_to_job_of(job, *own);
    subjects.push_back(own);
  }
  return subjects;
}

TrialResult UnseenTrials::run(const std::vector<std::shared_ptr<const Subject>>& subjects, const Plan& plan,
                              const Reference& reference, const Requirement* requirement,
                              const std::vector<std::size_t>& order, bool early_stop, const PairedSamples* paired,
                              const KnownPlan* known) {
  OpenTrial trial(*parts_.front().network.subject, reference, requirement, order, early_stop, paired);
  const auto run_some = [&](const std::vector<std::size_t>& some, const TakeOutcomes& take) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      Part& part = parts_[i];
      const std::vector<std::size_t> own = chosen(some, part.samples);
      if (own.empty()) continue;
      const Subject& subject = subjects.empty() ? *part.network.subject : *subjects[i];
      if (!run_outcomes(
              subject, part.network.taught(plan), reference, *part.network.weights, own, [&] { return switched(part); },
              known, take))
        return false;
    }
    return true;
  };
  if (paired == nullptr) {
    run_some(order, [&](std::size_t sample, const auto& outcomes) { return trial.add(sample, outcomes); });
    return std::move(trial).result();
  }
  // Chance counts samples as they were drawn, not network by network.
  bool open = true;
  for (std::size_t from = 0; open && from < order.size();) {
    const std::size_t to =
        std::min(order.size(), from == 0 ? std::max(paired->chosen, kBetweenLooks) : from + kBetweenLooks);
    const std::vector<std::size_t> some(order.begin() + static_cast<std::ptrdiff_t>(from),
                                        order.begin() + static_cast<std::ptrdiff_t>(to));
    std::map<std::size_t, std::vector<SampleOutcome>> seen;
    run_some(some, [&](std::size_t sample, const auto& outcomes) {
      seen[sample] = outcomes;
      return true;
    });
    for (const std::size_t sample : some) open = open && trial.add(sample, seen.at(sample));
    from = to;
  }
  return std::move(trial).result();
}

void UnseenTrials::visit(const Plan& plan, const std::vector<std::size_t>& order, const VisitOutputs& visit) {
  bool more = true;
  for (Part& part : parts_) {
    if (!more) return;
    run_plan(
        *part.network.subject, part.network.taught(plan), *part.network.weights, [&] { return switched(part); },
        chosen(order, part.samples),
        [&](std::size_t sample, const std::vector<Tensor>& got) { return more = visit(sample, got); });
  }
}

bool UnseenTrials::is_end(const Plan& plan) const {
  return std::ranges::any_of(ends_, [&](const Plan& end) { return end.layers == plan.layers; });
}

std::string UnseenTrials::plan_digest(const Plan& plan) {
  const std::lock_guard lock(making_);
  std::string digest = "unseen";
  for (Part& part : parts_) {
    if (!part.digest) part.digest.emplace(*part.network.subject, part.network.plan);
    digest += " " + part.digest->of(plan);
  }
  return digest;
}

void UnseenTrials::forget_switched() {
  const std::lock_guard lock(making_);
  for (Part& part : parts_) {
    part.switched.reset();
    part.network.weights->clear();
  }
  ::malloc_trim(0);  // what the C library keeps would come on top of what is next
}

}  // namespace vernier
