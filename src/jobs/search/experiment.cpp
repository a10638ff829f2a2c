#include "jobs/search/experiment.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <unordered_set>
#include <utility>

#include "analysis/beside_known.h"
#include "analysis/compared_run.h"
#include "analysis/known_trials.h"
#include "distributed/ranks.h"
#include "model/graph_edit.h"
#include "plan/can_take.h"
#include "plan/scheme.h"
#include "vernier/format.h"

namespace vernier {

Experiment::Experiment(std::shared_ptr<const Subject> subject, const Requirement* requirement, FloatRuns runs,
                       std::map<std::string, Shape> shapes, Plan all_low, const std::vector<std::string>& candidates)
    : subject_(std::move(subject)),
      requirement_(requirement),
      runs_(std::move(runs)),
      shapes_(std::move(shapes)),
      all_low_plan_(std::move(all_low)),
      hardest_first_(all_samples(*subject_)) {
  const std::unordered_set<std::string> wanted(candidates.begin(), candidates.end());
  const std::map<std::string, const onnx::NodeProto*> nodes = nodes_by_name(subject_->model.proto.graph());
  for (const Layer& layer : subject_->layers) {
    if (!wanted.contains(layer.name)) continue;
    candidates_.push_back(&layer);
    const Format high = all_low_plan_.high;
    high_of_[layer.name] =
        can_take(subject_->model, layer, nodes.at(layer.name), high, all_low_plan_.target) ? high : Format::Float32;
    std::size_t below = kNoItem;
    const auto add_step = [&](Format format) {
      steps_.push_back({candidates_.size() - 1, format, below});
      below = steps_.size() - 1;
    };
    if (const auto rungs = all_low_plan_.rungs.find(layer.name); rungs != all_low_plan_.rungs.end()) {
      for (const Format rung : rungs->second) add_step(rung);
    }
    add_step(high_of_[layer.name]);
  }
}

std::string Experiment::step_name(std::size_t step) const {
  const std::string& name = candidates_[steps_[step].candidate]->name;
  return has_ladder() ? fmt::format("{}:{}", name, format_name(steps_[step].format)) : name;
}

std::map<std::string, Format> Experiment::raised_by(const KeptSet& steps) const {
  std::vector<bool> taken(steps_.size(), false);
  std::map<std::string, Format> raised;
  for (const std::size_t step : steps) {
    taken[step] = steps_[step].needs == kNoItem || taken[steps_[step].needs];
    if (taken[step]) raised[candidates_[steps_[step].candidate]->name] = steps_[step].format;
  }
  return raised;
}

Plan Experiment::plan_of(const KeptSet& steps) const {
  const std::map<std::string, Format> raised = raised_by(steps);
  Plan plan = all_low_plan_;
  for (PlannedLayer& layer : plan.layers) {
    if (const auto format = raised.find(layer.name); format != raised.end()) layer.format = format->second;
  }
  return plan;
}

Plan Experiment::plan_of(const KeptSetReport& kept) const {
  if (!kept.ladder) return plan_keeping(kept.layers);
  Plan plan = all_low_plan_;
  std::map<std::string, Format> raised;
  for (const RaisedLayer& layer : kept.ladder->raised) raised[layer.layer] = layer.format;
  for (PlannedLayer& layer : plan.layers) {
    if (const auto format = raised.find(layer.name); format != raised.end()) layer.format = format->second;
  }
  return plan;
}

std::vector<Plan> Experiment::ends() const {
  std::vector<std::size_t> height(steps_.size(), 1);
  std::size_t highest = 1;
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    if (steps_[step].needs != kNoItem) height[step] = height[steps_[step].needs] + 1;
    highest = std::max(highest, height[step]);
  }
  std::vector<Plan> plans{all_low_plan_};
  for (std::size_t most = 1; most <= highest; ++most) {
    KeptSet steps;
    for (std::size_t step = 0; step < steps_.size(); ++step) {
      if (height[step] <= most) steps.push_back(step);
    }
    plans.push_back(plan_of(steps));
  }
  return plans;
}

bool Experiment::all_high_is_reference() const {
  const auto low = std::count_if(all_low_plan_.layers.begin(), all_low_plan_.layers.end(),
                                 [](const PlannedLayer& layer) { return layer.format != Format::Float32; });
  return all_low_plan_.high == Format::Float32 && !all_low_plan_.arithmetic.tf32 &&
         low == static_cast<std::ptrdiff_t>(candidates_.size());
}

Plan Experiment::plan_keeping(const std::vector<std::string>& layers) const {
  const std::unordered_set<std::string> kept(layers.begin(), layers.end());
  Plan plan = all_low_plan_;
  for (PlannedLayer& layer : plan.layers) {
    if (kept.contains(layer.name)) layer.format = high_of_.at(layer.name);
  }
  return plan;
}

std::vector<std::string> Experiment::candidate_names() const {
  std::vector<std::string> names;
  for (const Layer* layer : candidates_) names.push_back(layer->name);
  return names;
}

std::vector<std::size_t> Experiment::few_hard_samples() const {
  std::vector<std::size_t> few = hardest_first_;
  few.resize(std::min(few.size(), std::max<std::size_t>(4, few.size() / 5)));
  return few;
}

std::vector<std::size_t> Experiment::hard_then_drawn() const {
  std::vector<std::size_t> order = hardest_first_;
  std::mt19937_64 random(1);
  // Not std::shuffle: its draws differ between standard libraries.
  const std::size_t chosen = few_hard_samples().size();
  for (std::size_t i = order.size(); i > chosen + 1; --i) {
    std::swap(order[i - 1], order[chosen + random() % (i - chosen)]);
  }
  return order;
}

PairedSamples Experiment::paired_with_all_low(double confidence) const {
  PairedSamples paired{{}, few_hard_samples().size(), confidence};
  // Lock-step gives logarithms, summed over the judged outputs.
  const double outputs = static_cast<double>(std::max<std::size_t>(subject_->judged.size(), 1));
  for (const double noise : all_low_.sample_noise) paired.noise.push_back(std::exp(noise / outputs));
  return paired;
}

LockstepRun Experiment::lockstep_of_all_low(const std::vector<Match>& matches) {
  return {*subject_, lower_simulated(subject_->model, subject_->layers, all_low_plan_, weights), matches,
          &reference().outputs};
}

Lockstep Experiment::outputs_of_all_low() {
  const std::optional<KnownPlan> before = golden() == nullptr ? known_own(all_low_plan_) : std::nullopt;
  const std::vector<std::size_t> samples = all_samples(*subject_);
  if (before) {
    const std::vector<KnownTrials::Outcomes> outcomes = before->trials.first_of(before->plan, samples);
    ComparedRun run;
    for (std::size_t i = 0; i < outcomes.size(); ++i) run.add(*subject_, samples[i], outcomes[i]);
    if (outcomes.size() == samples.size()) return {{}, std::move(run.outputs), std::move(run.sample_noise)};
  }
  BesideKnown run = run_beside_known(
      *subject_, lower_simulated(subject_->model, subject_->layers, all_low_plan_, weights), reference().outputs);
  return {{}, std::move(run.outputs), std::move(run.sample_noise)};
}

void Experiment::set_all_low(Lockstep measured) {
  all_low_ = std::move(measured);
  if (!subject_->carries.empty()) return;  // a sequence cannot be reordered
  std::stable_sort(hardest_first_.begin(), hardest_first_.end(),
                   [&](std::size_t a, std::size_t b) { return all_low_.sample_noise[a] > all_low_.sample_noise[b]; });
}

TrialResult Experiment::run_keeping(const std::vector<std::string>& layers, const Requirement* requirement,
                                    const std::vector<std::size_t>& order, bool early_stop,
                                    const PairedSamples* paired) {
  const Plan plan = plan_keeping(layers);
  const std::optional<KnownPlan> before = known_own(plan);
  return run_trial(
      *subject_, plan, judged_against(), weights, requirement, order, early_stop, paired, [this] { return switched(); },
      before ? &*before : nullptr);
}

std::string Experiment::plan_digest(const Plan& plan) {
  const std::lock_guard lock(making_digest_);
  if (!digest_) digest_.emplace(*subject_, all_low_plan_);
  return digest_->of(plan);
}

void Experiment::name_float_model(const std::string& file, const std::string& sha256) {
  all_low_plan_.model_file = file;
  all_low_plan_.model_sha256 = sha256;
}

void Experiment::judge_on_unseen(std::vector<JudgedNetwork> networks) {
  unseen_.reset();
  if (networks.empty()) return;
  unseen_ = std::make_unique<UnseenTrials>(std::move(networks), ends(), shapes_);
}

std::map<std::string, OutputStats> Experiment::outputs_on_unseen(const Plan& plan) {
  const std::optional<KnownPlan> before = known(plan);
  return unseen_
      ->run({}, plan, judged_against(), nullptr, hardest_first_, /*early_stop=*/false, /*paired=*/nullptr,
            before ? &*before : nullptr)
      .outputs;
}

const LowStats* Experiment::low_outputs(const Plan& plan) {
  if (golden() || !unseen_ || unseen_->is_end(plan)) return nullptr;
  const std::lock_guard lock(making_low_);
  if (!unseen_low_) unseen_low_ = low_stats(subject(), outputs_on_unseen(all_low_plan_));
  return &*unseen_low_;
}

std::optional<KnownPlan> Experiment::known(const Plan& plan) {
  if (!subject_->carries.empty()) return std::nullopt;
  return KnownPlan{*known_, unseen_ ? unseen_->plan_digest(plan) : plan_digest(plan)};
}

std::optional<KnownPlan> Experiment::known_own(const Plan& plan) {
  if (!subject_->carries.empty()) return std::nullopt;
  return KnownPlan{*known_, plan_digest(plan)};
}

void Experiment::set_known_trials(std::map<std::string, KnownTrials::BySample> trials) {
  known_ = std::make_unique<KnownTrials>(std::move(trials));
}

std::shared_ptr<const SwitchedRuns> Experiment::switched() {
  const std::lock_guard lock(making_switched_);
  if (!switched_) {
    switched_ = SwitchedRuns::of(*subject_, ends(), weights, shapes_);
  }
  return *switched_;
}

void Experiment::forget_switched() {
  if (unseen_) unseen_->forget_switched();
  const std::lock_guard lock(making_switched_);
  weights.clear();  // to round them again takes less than a run, and they take as much memory as the network
  switched_.reset();
  ::malloc_trim(0);  // what the C library keeps would come on top of what is next
}

}  // namespace vernier
