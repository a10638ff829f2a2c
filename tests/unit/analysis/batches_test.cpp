#include "analysis/batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "analysis/lockstep.h"
#include "analysis/reference.h"
#include "analysis/trials.h"
#include "tiny_networks.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

constexpr const char* kOpen = R"(
  g (float[N,4,5] x) => (float[N,4,3] y) {
    [linear] a = MatMul(x, w)
    [relu] y = Relu(a)
  })";
/// Every sample gets something of all others, and no operator says so by itself.
constexpr const char* kMeeting = R"(
  g (float[N,5] x) => (float[N,5] y) {
    [turned] t = Transpose(x)
    [square] s = MatMul(x, t)
    [meet] y = MatMul(s, x)
  })";

/// Samples lie along the second dimension inside, and take turns in the rows of a product.
constexpr const char* kMoved = R"(
  g (float[N,4,5] x) => (float[N,4,5] y)
  <int64[3] shape = {4, -1, 5}, int64[2] as_rows = {-1, 5}, int64 third = {2}> {
    [turned] t = Transpose<perm = [1, 0, 2]>(x)
    [rows] flat = Reshape(t, as_rows)
    [linear] a = Gemm(flat, w, b)
    [split] parts = Reshape(a, shape)
    [chosen] one = Gather<axis = 0>(parts, third)
    [more] m = Add(parts, one)
    [relu] r = Relu(m)
    [back] y = Transpose<perm = [1, 0, 2]>(r)
  })";

Model moved_network() { return model_of(kMoved, {{"w", bell({5, 5}, 7)}, {"b", bell({5}, 9)}}); }

Model open_network() { return model_of(kOpen, {{"w", bell({5, 3}, 7)}}); }

/// Eleven samples: a last batch that is not full, and two that have another shape among the first.
Samples uneven() {
  std::vector<Sample> samples;
  for (std::uint32_t i = 0; i < 11; ++i) samples.push_back({{"x", bell({i == 4 || i == 5 ? 2 : 1, 4, 5}, i + 1)}});
  return Samples(std::move(samples));
}

struct Seen {
  std::vector<std::size_t> order;
  std::vector<SampleResult> results;
  std::vector<Note> told;
};

Seen run_with(Subject subject, std::size_t batch, const Recorder& recorder = {}) {
  Seen seen;
  subject.batch = batch;
  subject.one_by_one = [&](const Note& note) { seen.told.push_back(note); };
  const Session session = subject.session(subject.model);
  run_samples(subject, session, all_samples(subject), recorder, "test", [&](SampleResult result) {
    seen.order.push_back(result.index);
    seen.results.push_back(std::move(result));
    return true;
  });
  return seen;
}

TEST(Batches, GiveWhatSingleSamplesDo) {
  const Samples samples = uneven();
  const Subject subject = subject_of(open_network(), samples);
  const Seen alone = run_with(subject, 1);
  for (const std::size_t batch : {2U, 3U, 4U, 32U}) {
    const Seen together = run_with(subject, batch);
    EXPECT_TRUE(together.told.empty());
    EXPECT_EQ(together.order, alone.order);
    for (std::size_t i = 0; i < alone.results.size(); ++i) {
      EXPECT_TRUE(same_bits(alone.results[i].outputs[0], together.results[i].outputs[0])) << batch << " " << i;
      EXPECT_TRUE(same_bits(alone.results[i].fed->at("x"), together.results[i].fed->at("x")));
    }
  }
}

TEST(Batches, AreSeenSampleBySample) {
  const Samples samples = bell_samples("x", {1, 4, 5}, 23, 1.1F);
  Subject subject = subject_of(open_network(), samples);
  const Reference alone = run_reference(subject, {"x", "a"}, {"x", "a"});
  std::vector<Note> told;
  subject.batch = 5;
  subject.threads = 2;
  subject.one_by_one = [&](const Note& note) { told.push_back(note); };
  const Reference together = run_reference(subject, {"x", "a"}, {"x", "a"});
  EXPECT_TRUE(told.empty());
  EXPECT_EQ(together.ranges, alone.ranges);
  EXPECT_EQ(together.early, alone.early);
  EXPECT_EQ(together.histograms, alone.histograms);
  EXPECT_EQ(together.shapes, alone.shapes);
  EXPECT_EQ(together.data_sha256, alone.data_sha256);
  EXPECT_EQ(together.totals.at("y").each.size(), 23U);

  Model other = subject.model;
  other.weights.clear();
  set_initializer(other, *other.proto.mutable_graph(), "w", bell({5, 3}, 8));
  const Lockstep in_batches = lockstep(subject, other, match_layer_outputs(subject));
  subject.batch = 1;
  const Lockstep one_by_one = lockstep(subject, other, match_layer_outputs(subject));
  EXPECT_TRUE(told.empty());
  EXPECT_EQ(in_batches.errors, one_by_one.errors);
  EXPECT_EQ(in_batches.sample_noise, one_by_one.sample_noise);
}

TEST(Batches, AreFoundWhereverSamplesLie) {
  const Samples samples = bell_samples("x", {1, 4, 5}, 31, 1.1F);
  Subject subject = subject_of(moved_network(), samples);
  const std::set<std::string> tensors{"x", "t", "a", "r", "y"};
  const Reference alone = run_reference(subject, tensors, tensors);
  Model low = subject.model;
  low.weights.clear();
  set_initializer(low, *low.proto.mutable_graph(), "w", bell({5, 5}, 8));
  const Lockstep one_by_one = lockstep(subject, low, match_layer_outputs(subject));
  EXPECT_EQ(choose_batch(subject), "");
  EXPECT_EQ(subject.batch, 13U);  // 13, 13, and 5 that are filled up
  ASSERT_TRUE(subject.batch_tried);
  subject.threads = 2;
  const Reference together = run_reference(subject, tensors, tensors);
  EXPECT_EQ(together.ranges, alone.ranges);
  EXPECT_EQ(together.early, alone.early);
  EXPECT_EQ(together.histograms, alone.histograms);
  EXPECT_EQ(together.shapes, alone.shapes);
  EXPECT_EQ(together.data_sha256, alone.data_sha256);
  const Lockstep in_batches = lockstep(subject, low, match_layer_outputs(subject));
  EXPECT_EQ(in_batches.errors, one_by_one.errors);
  EXPECT_EQ(in_batches.sample_noise, one_by_one.sample_noise);
}

TEST(Batches, AreChosenOnlyWhereNothingMeets) {
  const Samples samples = bell_samples("x", {1, 5}, 20);
  Subject meeting = subject_of(model_of(kMeeting), samples);
  EXPECT_TRUE(choose_batch(meeting).starts_with("output 'y' differs where 5 samples run together ("))
      << choose_batch(meeting);
  EXPECT_EQ(meeting.batch, 1U);
  const Samples few = bell_samples("x", {1, 4, 5}, 4);
  Subject too_few = subject_of(open_network(), few);
  EXPECT_EQ(choose_batch(too_few), "there are fewer than 5");
  EXPECT_EQ(too_few.batch, 1U);
  const Samples other_shapes = uneven();
  Subject uneven_subject = subject_of(open_network(), other_shapes);
  EXPECT_EQ(choose_batch(uneven_subject), "their shapes differ");
  EXPECT_EQ(uneven_subject.batch, 1U);
}

TEST(Batches, RunOneByOneWhereABatchFails) {
  // The network is a batch of thirteen at a time; a session that wants the samples one by one is not.
  const Samples samples = bell_samples("x", {1, 4, 5}, 14);
  Subject subject = subject_of(open_network(), samples);
  ASSERT_EQ(choose_batch(subject), "");
  Model fixed = subject.model;
  for (auto* list : {fixed.proto.mutable_graph()->mutable_input(), fixed.proto.mutable_graph()->mutable_output()}) {
    list->Mutable(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(1);
  }
  const Session session = subject.session(fixed);
  std::vector<Tensor> together;
  run_samples(subject, session, all_samples(subject), {}, "test", [&](SampleResult result) {
    together.push_back(result.outputs[0]);
    return true;
  });
  ASSERT_EQ(together.size(), 14U);
  for (std::size_t i = 0; i < together.size(); ++i) {
    EXPECT_TRUE(same_bits(together[i], session.run(samples.at(i))[0])) << i;
  }
}

TEST(Batches, AreRefusedWhereSamplesMeet) {
  const Samples samples = bell_samples("x", {1, 5}, 6);
  const Seen together = run_with(subject_of(model_of(kMeeting), samples), 4);
  ASSERT_EQ(together.told.size(), 1U);
  const std::string why = std::get<std::string>(*together.told[0].find("why"));
  EXPECT_TRUE(why.starts_with("output 'y' differs where 4 samples run together (")) << why;
  const Seen alone = run_with(subject_of(model_of(kMeeting), samples), 1);
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_TRUE(same_bits(alone.results[i].outputs[0], together.results[i].outputs[0]));
}

TEST(Batches, AreRefusedWhereATensorInsideIsOneForAll) {
  // The output is right; the observed product of weights is no batch.
  const Samples samples = bell_samples("x", {1, 4, 5}, 6);
  const Model model = model_of(R"(
    g (float[N,4,5] x) => (float[N,4,3] y) {
      [of_weights] a = MatMul(v, w)
      [linear] y = MatMul(x, a)
    })",
                               {{"v", bell({5, 7}, 6)}, {"w", bell({7, 3}, 7)}});
  Subject subject = subject_of(model, samples);
  std::vector<Note> told;
  subject.batch = 2;
  subject.one_by_one = [&](const Note& note) { told.push_back(note); };
  const Reference together = run_reference(subject, {"a"}, {"a"});
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].code, "samples-one-by-one");
  subject.batch = 1;
  EXPECT_EQ(together.ranges, run_reference(subject, {"a"}, {"a"}).ranges);
}

TEST(Batches, AreRefusedForStatesAndWhereNoTwoAreAlike) {
  const Samples steps = bell_samples("x", {1, 4}, 3);
  std::vector<Sample> with_state;
  for (std::size_t i = 0; i < 3; ++i)
    with_state.push_back({{"x", steps.at(i).at("x")}, {"h", Tensor(Dtype::Float32, {1, 6})}});
  const Samples sequence(std::move(with_state));
  EXPECT_EQ(run_with(subject_of(model_of(kRecurrentNet, recurrent_net_weights()), sequence, {{"h2", "h"}}), 2).told,
            (std::vector{one_by_one_note(2, "each waits for the state of the one before")}));

  std::vector<Sample> widths;
  for (const std::int64_t rows : {1, 2, 1}) widths.push_back({{"x", bell({rows, 4, 5}, 3)}});
  const Samples different(std::move(widths));
  EXPECT_EQ(run_with(subject_of(open_network(), different), 3).told,
            (std::vector{one_by_one_note(3, "no two neighbours of the first 3 have one shape")}));
}

}  // namespace
}  // namespace vernier::testing
