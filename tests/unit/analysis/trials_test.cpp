#include "analysis/trials.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>

#include "../distributed/thread_ranks.h"
#include "analysis/known_trials.h"
#include "analysis/lockstep.h"
#include "plan/scheme.h"
#include "tiny_networks.h"
#include "vernier/format.h"
#include "vernier/requirement.h"

namespace vernier::testing {
namespace {

constexpr Metric kTrialMetrics[] = {Metric::MinSqnrDb, Metric::MaxAbsError, Metric::MaxMse, Metric::MinCosine,
                                    Metric::MinTop1Agreement};

Requirement limit(Metric metric, double value) {
  Requirement requirement;
  requirement.metric = metric;
  requirement.limits = {{value, ""}};
  return requirement;
}

/// Plans of mixed quality.
std::vector<Plan> plans_of(const Subject& subject) {
  return {plan_all(subject, Format::Int8), plan_only(subject, Format::Int8, {"conv1"}),
          plan_only(subject, Format::Int8, {"conv2", "gemm"}), plan_all(subject, Format::BFloat16)};
}

TEST(Trial, EarlyStopNeverChangesAVerdictAndGivesALowerBound) {
  const Samples samples = bell_samples("x", kConvNetInput, 12);
  const Subject subject = subject_of(model_of(kConvNet, conv_net_weights()), samples);
  const Reference reference = run_reference(subject, {});
  RoundedWeights weights;
  std::vector<std::size_t> backwards = all_samples(subject);
  std::reverse(backwards.begin(), backwards.end());
  std::size_t stopped = 0;
  for (const Plan& plan : plans_of(subject)) {
    const TrialResult whole = run_trial(subject, plan, reference, weights, nullptr, all_samples(subject), false);
    for (const Metric metric : kTrialMetrics) {
      const double reached = metric_value(metric, whole.outputs.at("y"));
      for (const double factor : {0.5, 0.9, 1.0, 1.0001, 1.1, 2.0}) {
        const Requirement requirement = limit(
            metric,
            std::min(reached * factor, metric == Metric::MinCosine || metric == Metric::MinTop1Agreement ? 1.0 : 1e9));
        for (const auto& order : {all_samples(subject), backwards}) {
          const TrialResult full = run_trial(subject, plan, reference, weights, &requirement, order, false);
          const TrialResult early = run_trial(subject, plan, reference, weights, &requirement, order, true);
          EXPECT_EQ(full.damage <= 1, early.damage <= 1) << word_of(metric) << " factor " << factor;
          EXPECT_FALSE(full.stopped_early);
          if (early.stopped_early) {
            ++stopped;
            EXPECT_LT(early.samples_run, full.samples_run);
            EXPECT_LE(early.damage, full.damage * (1 + 1e-9)) << word_of(metric) << ": no lower bound";
          } else {
            EXPECT_EQ(early.damage, full.damage);
            EXPECT_EQ(early.metric, full.metric);
          }
        }
      }
    }
  }
  EXPECT_GT(stopped, 20U) << "the test must see early stops";
}

TEST(Trial, DoesNotDependOnThreads) {
  const Samples samples = bell_samples("x", kConvNetInput, 12, 1.1F);
  Subject subject = subject_of(model_of(kConvNet, conv_net_weights()), samples);
  const Reference reference = run_reference(subject, {});
  const Plan plan = plan_all(subject, Format::Int8);
  RoundedWeights weights;
  const Requirement strict = limit(Metric::MinSqnrDb, 60);
  const auto run = [&](const Requirement* requirement, bool early) {
    return run_trial(subject, plan, reference, weights, requirement, all_samples(subject), early);
  };
  const TrialResult one = run(nullptr, false);
  const TrialResult one_early = run(&strict, true);
  subject.threads = 4;
  const TrialResult four = run(nullptr, false);
  const TrialResult four_early = run(&strict, true);
  EXPECT_EQ(one.outputs.at("y").pooled, four.outputs.at("y").pooled);
  EXPECT_TRUE(one_early.stopped_early);
  EXPECT_EQ(one_early.samples_run, four_early.samples_run);
  EXPECT_EQ(one_early.damage, four_early.damage);
}

TEST(Trial, AllHighIsTheReference) {
  const Samples samples = bell_samples("x", kConvNetInput, 3);
  const Subject subject = subject_of(model_of(kConvNet, conv_net_weights()), samples);
  const Reference reference = run_reference(subject, {});
  RoundedWeights weights;
  const Requirement exact = limit(Metric::MaxAbsError, 0);
  const TrialResult result =
      run_trial(subject, plan_only(subject, Format::Int8, {}), reference, weights, &exact, all_samples(subject), true);
  EXPECT_EQ(result.damage, 0);
  EXPECT_EQ(result.metric, 0);
  EXPECT_EQ(result.samples_run, 3U);
}

TEST(Trial, JudgesEachOutputByItsOwnLimit) {
  const Model model = model_of(R"(
    g (float[1,6] x) => (float[1,6] good, float[1,6] bad) {
      [exact] good = Neg(x)
      [dense] bad = MatMul(x, u)
    })",
                               recurrent_net_weights());
  const Samples samples = bell_samples("x", {1, 6}, 3);
  const Subject subject = subject_of(model, samples);
  const Reference reference = run_reference(subject, {});
  const Plan plan = plan_all(subject, Format::Int8);
  RoundedWeights weights;
  Requirement requirement;
  requirement.metric = Metric::MaxAbsError;
  requirement.limits = {{0.5, ""}, {1e-9, "good"}};
  const TrialResult result = run_trial(subject, plan, reference, weights, &requirement, all_samples(subject), false);
  EXPECT_EQ(result.output, "bad");
  EXPECT_EQ(result.damage, std::pow(result.metric / 0.5, 2));
  requirement.limits = {{1e-9, "good"}};
  EXPECT_EQ(run_trial(subject, plan, reference, weights, &requirement, all_samples(subject), false).damage, 0);
}

/// Counts the samples that anybody asks for.
class CountedSamples final : public SampleSource {
 public:
  explicit CountedSamples(const SampleSource& all) : all_(all) {}
  std::size_t size() const override { return all_.size(); }
  Sample at(std::size_t index) const override {
    ++asked;
    return all_.at(index);
  }
  std::string description() const override { return all_.description(); }
  mutable std::atomic<std::size_t> asked = 0;

 private:
  const SampleSource& all_;
};

TEST(Trial, RunsNoSampleOfAPlanTwice) {
  const Samples samples = bell_samples("x", kConvNetInput, 12);
  const CountedSamples counted(samples);
  Subject subject = subject_of(model_of(kConvNet, conv_net_weights()), samples);
  const Reference reference = run_reference(subject, {});
  subject.samples = &counted;
  RoundedWeights weights;
  const std::vector<Plan> plans = plans_of(subject);
  KnownTrials trials;
  std::size_t ran = 0;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const KnownPlan known{trials, std::to_string(i)};
    const auto run = [&](const Requirement* requirement, std::size_t samples_asked, const KnownPlan* before) {
      std::vector<std::size_t> order = all_samples(subject);
      order.resize(samples_asked);
      counted.asked = 0;
      TrialResult result = run_trial(subject, plans[i], reference, weights, requirement, order, requirement != nullptr,
                                     nullptr, nullptr, before);
      ran = counted.asked;
      return result;
    };
    run(nullptr, 4, &known);
    EXPECT_EQ(ran, 4U);
    const TrialResult all = run(nullptr, 12, &known);
    EXPECT_EQ(ran, 8U) << "four were known";
    const TrialResult anew = run(nullptr, 12, nullptr);
    EXPECT_EQ(all.outputs.at("y").pooled, anew.outputs.at("y").pooled);
    EXPECT_EQ(all.sample_log_noise, anew.sample_log_noise);
    EXPECT_EQ(all.outputs.at("y").rows_agreed, anew.outputs.at("y").rows_agreed);
    EXPECT_EQ(all.outputs.at("y").worst_sample, anew.outputs.at("y").worst_sample);
    for (const Metric metric : kTrialMetrics) {
      const double reached = metric_value(metric, anew.outputs.at("y"));
      const Requirement strict =
          limit(metric, metric == Metric::MinCosine ? std::min(1.0, reached * 1.01) : reached * 2);
      const TrialResult judged = run(&strict, 12, &known);
      EXPECT_EQ(ran, 0U);
      const TrialResult other = run(&strict, 12, nullptr);
      EXPECT_EQ(judged.damage, other.damage) << word_of(metric);
      EXPECT_EQ(judged.samples_run, other.samples_run) << word_of(metric);
      EXPECT_EQ(judged.stopped_early, other.stopped_early) << word_of(metric);
    }
  }
}

TEST(Trial, RanksGoOnFromWhatAllOfThemKnow) {
  const Samples samples = bell_samples("x", kConvNetInput, 12);
  const Subject subject = subject_of(model_of(kConvNet, conv_net_weights()), samples);
  const Reference reference = run_reference(subject, {});
  const Plan plan = plans_of(subject).front();
  RoundedWeights weights;
  const auto run = [&](const Subject& by, std::size_t count, KnownTrials* known) {
    std::vector<std::size_t> order = all_samples(by);
    order.resize(count);
    const std::optional<KnownPlan> before = known ? std::optional<KnownPlan>({*known, "plan"}) : std::nullopt;
    return run_trial(by, plan, reference, weights, nullptr, order, false, nullptr, nullptr,
                     before ? &*before : nullptr);
  };
  const TrialResult anew = run(subject, 12, nullptr);
  on_ranks(3, [&](Ranks& ranks) {
    KnownTrials known;
    run(subject, 2 + 3 * ranks.rank(), &known);
    Subject shared = subject;
    shared.ranks = &ranks;
    const TrialResult all = run(shared, 12, &known);
    EXPECT_EQ(all.outputs.at("y").pooled, anew.outputs.at("y").pooled);
    EXPECT_EQ(all.sample_log_noise, anew.sample_log_noise);
    EXPECT_EQ(known.of("plan").size(), 12U);
    EXPECT_TRUE(known.of("another").empty());
  });
}

TEST(KnownTrials, HoldNoMoreThanTheirShareOfMemory) {
  KnownTrials trials;
  for (std::size_t sample = 0; sample < KnownTrials::kMost + 10; ++sample) trials.add("plan", sample, {{}});
  EXPECT_EQ(trials.by_plan().at("plan").size(), KnownTrials::kMost);
  trials.add("another", 0, {{}});
  EXPECT_TRUE(trials.first_of("another", {0}).empty());
  const KnownTrials again(trials.by_plan());
  EXPECT_EQ(again.first_of("plan", {0, 1, KnownTrials::kMost, 2}).size(), 2U) << "up to the first that is not known";
}

}  // namespace
}  // namespace vernier::testing
