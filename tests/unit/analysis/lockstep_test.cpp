#include "analysis/lockstep.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>

#include "analysis/beside_known.h"
#include "analysis/reference.h"
#include "analysis/trials.h"
#include "plan/lower_simulated.h"
#include "tiny_networks.h"
#include "vernier/format.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

/// The model with all layer outputs among its graph outputs.
Model all_visible(Model model, const std::vector<Match>& matches) {
  std::set<std::string> have;
  for (const InputInfo& output : model_outputs(model)) have.insert(output.name);
  for (const Match& match : matches) {
    if (have.insert(match.ref).second) add_output(model, match.ref, Dtype::Float32);
  }
  return model;
}

TEST(Lockstep, EqualsTwoSeparateRuns) {
  const Samples samples = bell_samples("x", kConvNetInput, 6, 1.5F);
  for (const Format format : {Format::Int8, Format::Float16}) {
    const Subject subject = subject_of(model_of(kConvNet, conv_net_weights()), samples);
    RoundedWeights weights;
    const Model low = lower_simulated(subject.model, subject.layers, plan_all(subject, format), weights);
    const std::vector<Match> matches = match_layer_outputs(subject);
    const Lockstep together = lockstep(subject, low, matches);

    const Session ref_session = subject.session(all_visible(subject.model, matches));
    const Session low_session = subject.session(all_visible(low, matches));
    std::vector<ErrorStats> errors(matches.size());
    OutputStats outputs;
    for (std::size_t s = 0; s < samples.size(); ++s) {
      const std::vector<Tensor> ref = ref_session.run(samples.at(s));
      const std::vector<Tensor> got = low_session.run(samples.at(s));
      std::map<std::string, std::size_t> place;
      for (std::size_t i = 0; i < ref.size(); ++i) place[ref_session.output_names()[i]] = i;
      for (std::size_t i = 0; i < matches.size(); ++i) {
        ErrorStats one;
        const std::size_t at = place.at(matches[i].ref);
        accumulate_error(ref[at].floats(), got[at].floats(), one);
        errors[i] += one;
      }
      outputs.add_sample(s, ref[place.at("y")], got[place.at("y")]);
    }
    EXPECT_EQ(together.errors, errors) << format_name(format);
    EXPECT_EQ(together.outputs.at("y").pooled, outputs.pooled);
    EXPECT_EQ(together.outputs.at("y").worst_sample, outputs.worst_sample);
    EXPECT_EQ(together.outputs.at("y").rows_agreed, outputs.rows_agreed);
  }
}

TEST(BesideKnown, SeesTheOutputsThatLockstepSees) {
  const Samples samples = bell_samples("x", kConvNetInput, 6, 1.5F);
  const Subject subject = subject_of(model_of(kConvNet, conv_net_weights()), samples);
  RoundedWeights weights;
  const Model low = lower_simulated(subject.model, subject.layers, plan_all(subject, Format::Int8), weights);
  const std::vector<Match> matches = match_layer_outputs(subject);
  std::set<std::string> layers;
  for (const Match& match : matches) layers.insert(match.low);
  const BesideKnown beside = run_beside_known(subject, low, outputs_of_float(subject), layers);
  const OutputStats together = lockstep(subject, low, matches).outputs.at("y");
  EXPECT_TRUE(beside.finite);
  EXPECT_EQ(beside.outputs.at("y").pooled, together.pooled);
  EXPECT_EQ(beside.outputs.at("y").worst_sample, together.worst_sample);
}

TEST(BesideKnown, GivesTheOutputsThatItCompared) {
  const Samples samples = bell_samples("x", kConvNetInput, 3, 1.5F);
  const Subject subject = subject_of(model_of(kConvNet, conv_net_weights()), samples);
  RoundedWeights weights;
  const Model low = lower_simulated(subject.model, subject.layers, plan_all(subject, Format::Int8), weights);
  OutputStore given;
  run_beside_known(subject, low, outputs_of_float(subject), {}, 0, &given);
  std::size_t seen = 0;
  run_outputs(subject, low, all_samples(subject), [&](std::size_t sample, const std::vector<Tensor>& outputs) {
    const std::vector<Tensor> stored = given.get(sample);
    EXPECT_TRUE(std::ranges::equal(stored.at(0).floats(), outputs.at(0).floats()));
    return ++seen > 0;
  });
  EXPECT_EQ(seen, 3U);
}

TEST(BesideKnown, TellsThatSomethingInsideIsNotFinite) {
  // 3e4 times 4 is beyond float16, and is 1 again behind the Clip.
  const Model model = model_of(R"(
    g (float[2,3] x) => (float[2,3] y) <float[1] four = {4}, float least = {0}, float most = {1}> {
      [scale] inside = Mul(x, four)
      [limit] y = Clip(inside, least, most)
    })");
  std::vector<Sample> rows{{{"x", Tensor::of({2, 3}, std::vector<float>(6, 3e4F))}}};
  const Samples samples(std::move(rows));
  const Subject subject = subject_of(model, samples);
  const OutputStore known = outputs_of_float(subject);
  EXPECT_TRUE(run_beside_known(subject, subject.model, known, {"inside"}).finite);
  RoundedWeights weights;
  const Model low = lower_simulated(subject.model, subject.layers, plan_all(subject, Format::Float16), weights);
  const BesideKnown beside = run_beside_known(subject, low, known, {"inside"});
  EXPECT_FALSE(beside.finite);
  EXPECT_EQ(beside.outputs.at("y").pooled.error_energy, 0);
}

TEST(Lockstep, TellsWhichSamplesAreHard) {
  // Sample i is three times as large as the one before, and bfloat16's error grows with the values.
  const Samples samples = bell_samples("x", kConvNetInput, 5, 3.0F);
  const Subject subject = subject_of(model_of(kConvNet, conv_net_weights()), samples);
  RoundedWeights weights;
  const Model low = lower_simulated(subject.model, subject.layers, plan_all(subject, Format::BFloat16), weights);
  const Lockstep result = lockstep(subject, low, match_layer_outputs(subject));
  ASSERT_EQ(result.sample_noise.size(), 5U);
  double sum = 0;
  for (const double noise : result.sample_noise) sum += noise;
  EXPECT_NEAR(sum, result.outputs.at("y").pooled.error_energy, 1e-12 * sum);
  EXPECT_GT(result.sample_noise[4], result.sample_noise[0]);
}

TEST(Lockstep, ComparesAModelWithItselfAsEqual) {
  const Samples samples = bell_samples("x", {4, 20}, 6);
  const Subject subject = subject_of(if_net(), samples);
  const Lockstep result = lockstep(subject, subject.model, match_layer_outputs(subject));
  for (const ErrorStats& error : result.errors) {
    EXPECT_EQ(error.error_energy, 0);
    EXPECT_EQ(error.count, 6 * 80);
  }
  EXPECT_EQ(result.sample_noise, std::vector<double>(6, 0.0));
}

TEST(Lockstep, CarriesAStateOnEachSide) {
  std::vector<Sample> steps;
  for (std::uint32_t i = 0; i < 12; ++i) {
    steps.push_back({{"x", bell({1, 4}, 30 + i)}, {"h", Tensor(Dtype::Float32, {1, 6})}});
  }
  const Samples samples(std::move(steps));
  const Subject subject = subject_of(model_of(kRecurrentNet, recurrent_net_weights()), samples, {{"h2", "h"}});
  ASSERT_EQ(subject.judged, std::vector<std::string>{"y"});
  const Plan plan = plan_all(subject, Format::Int8);
  RoundedWeights weights;
  const Model low = lower_simulated(subject.model, subject.layers, plan, weights);
  const Lockstep together = lockstep(subject, low, match_layer_outputs(subject));
  const Reference reference = run_reference(subject, {});
  const TrialResult apart = run_trial(subject, plan, reference, weights, nullptr, all_samples(subject), false);
  EXPECT_EQ(together.outputs.at("y").pooled, apart.outputs.at("y").pooled);

  // By hand: a state kept on each side.
  Tensor ref_state(Dtype::Float32, {1, 6});
  Tensor low_state(Dtype::Float32, {1, 6});
  const Session ref_session = subject.session(subject.model);
  const Session low_session = subject.session(low);
  OutputStats by_hand;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const auto ref = ref_session.run({{"x", samples.at(s).at("x")}, {"h", ref_state}});
    const auto got = low_session.run({{"x", samples.at(s).at("x")}, {"h", low_state}});
    by_hand.add_sample(s, ref[0], got[0]);
    ref_state = ref[1];
    low_state = got[1];
  }
  EXPECT_EQ(together.outputs.at("y").pooled, by_hand.pooled);
}

TEST(Lockstep, DoesNotDependOnThreads) {
  const Samples samples = bell_samples("x", kConvNetInput, 9, 1.2F);
  Subject subject = subject_of(model_of(kConvNet, conv_net_weights()), samples);
  RoundedWeights weights;
  const Model low = lower_simulated(subject.model, subject.layers, plan_all(subject, Format::Int8), weights);
  const std::vector<Match> matches = match_layer_outputs(subject);
  const Lockstep one = lockstep(subject, low, matches);
  subject.threads = 4;
  const Lockstep four = lockstep(subject, low, matches);
  EXPECT_EQ(one.errors, four.errors);
  EXPECT_EQ(one.sample_noise, four.sample_noise);
  EXPECT_EQ(one.outputs.at("y").pooled, four.outputs.at("y").pooled);
}

TEST(Lockstep, OverflowMakesASampleInfinitelyHard) {
  const Samples samples({{{"x", Tensor::of({1, 2}, std::vector<float>{1, 2})}},
                         {{"x", Tensor::of({1, 2}, std::vector<float>{300, 2})}},
                         {{"x", Tensor::of({1, 2}, std::vector<float>{3, 2.001F})}}});
  const Subject subject =
      subject_of(model_of("g (float[1,2] x) => (float[1,2] y) { [square] y = Mul(x, x) }"), samples);
  RoundedWeights weights;
  const Model low = lower_simulated(subject.model, subject.layers, plan_all(subject, Format::Float16), weights);
  const Lockstep result = lockstep(subject, low, match_layer_outputs(subject));
  EXPECT_EQ(result.sample_noise[0], 0);
  EXPECT_EQ(result.sample_noise[1], std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isfinite(result.sample_noise[2])) << "a sample is not hard because another one was";
}

}  // namespace
}  // namespace vernier::testing
