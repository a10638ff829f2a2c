// Experiments on two networks of one job: each has its own network, and both are judged against one run.
#include "jobs/search/experiment.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "analysis/lockstep.h"
#include "numerics/metrics.h"
#include "tiny_networks.h"
#include "vernier/format.h"

namespace vernier {
namespace {

using testing::bell;

Subject network(const SampleSource& samples, unsigned seed) {
  constexpr const char* kText = "net (float[1,8] x) => (float[1,8] y) { [mul] y = MatMul (x, w) }";
  return testing::subject_of(testing::model_of(kText, {{"w", bell({8, 8}, seed)}}), samples);
}

TEST(Experiment, OfARepairedNetworkLeavesThatOfThePlainOneAsItWas) {
  const testing::Samples samples = testing::bell_samples("x", {1, 8}, 4);
  const auto subject = std::make_shared<const Subject>(network(samples, 1));
  const FloatRuns runs{std::make_shared<const Reference>(run_reference(*subject, tensors_to_observe(*subject)))};
  Experiment plain(subject, nullptr, runs, runs.reference->shapes, testing::plan_all(*subject, Format::Float16),
                   {"mul"});
  plain.run_all_low({});
  const std::vector<double> noise = plain.all_low().sample_noise;
  const std::vector<std::size_t> hardest = plain.hardest_first();

  const auto other = std::make_shared<const Subject>(network(samples, 2));
  Experiment repaired(other, nullptr, runs, runs.reference->shapes, testing::plan_all(*other, Format::Float16),
                      {"mul"});
  repaired.run_all_low({});
  EXPECT_NE(repaired.all_low().sample_noise, noise) << "other weights";
  EXPECT_EQ(&repaired.reference(), &plain.reference()) << "the float model is run once";
  EXPECT_EQ(plain.all_low().sample_noise, noise);
  EXPECT_EQ(plain.hardest_first(), hardest);
  EXPECT_EQ(plain.candidates().front(), &subject->layers.front());
}

TEST(Experiment, OfARepairedNetworkIsJudgedAgainstTheFloatModelInLockstepToo) {
  const testing::Samples samples = testing::bell_samples("x", {1, 8}, 4);
  const auto subject = std::make_shared<const Subject>(network(samples, 1));
  const FloatRuns runs{std::make_shared<const Reference>(run_reference(*subject, tensors_to_observe(*subject)))};
  const auto other = std::make_shared<const Subject>(network(samples, 2));
  Experiment repaired(other, nullptr, runs, runs.reference->shapes, testing::plan_all(*other, Format::Float16),
                      {"mul"});
  repaired.run_all_low(match_layer_outputs(*other));
  EXPECT_GT(noise_to_signal(repaired.all_low().outputs.at("y").pooled), 0.1) << "outputs of the float model";
  EXPECT_LT(noise_to_signal(repaired.all_low().errors.front()), 1e-5) << "layers of its own";
}

}  // namespace
}  // namespace vernier
