#include "analysis/reference.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/partial_runs.h"
#include "numerics/distribution.h"
#include "tiny_networks.h"
#include "vernier/error.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

/// x -> double -> shift -> y, all exact in whole numbers.
Model double_and_shift() {
  return model_of(R"(
    g (float[1,3] x) => (float[1,3] y) <float[1,3] two = {2, 2, 2}, float[1,3] minus_five = {-5, -5, -5}> {
      [double] d = Mul(x, two)
      [shift] s = Add(d, minus_five)
      [out] y = Neg(s)
    })");
}

Samples whole_numbers() {
  std::vector<Sample> samples;
  for (const std::vector<float>& values : {std::vector<float>{1, 2, 3}, {-4, 0, 9}, {7, 7, 7}}) {
    samples.push_back({{"x", Tensor::of({1, 3}, values)}});
  }
  return Samples(std::move(samples));
}

TEST(Reference, RangesAreThoseComputedByHand) {
  const Samples samples = whole_numbers();
  const Subject subject = subject_of(double_and_shift(), samples);
  const Reference reference = run_reference(subject, {"d", "s"});
  const RangeStats& doubled = reference.ranges.at("d");
  EXPECT_EQ(doubled.min, -8);
  EXPECT_EQ(doubled.max, 18);
  EXPECT_EQ(doubled.count, 9);
  EXPECT_EQ(reference.ranges.at("s").min, -13);
  EXPECT_EQ(reference.ranges.at("s").max, 13);
  EXPECT_EQ(reference.ranges.at("x").min, -4);
  EXPECT_EQ(reference.ranges.at("x").max, 9);
  EXPECT_EQ(reference.shapes.at("d"), (Shape{1, 3}));
  EXPECT_EQ(reference.shapes.at("x"), (Shape{1, 3}));
}

/// Counts how often the session gives a sample, which is what progress tells.
struct Told {
  std::size_t least = SIZE_MAX;
  std::size_t cut_at = SIZE_MAX;
  Progress progress() {
    return [this](const std::string& phase, std::size_t done, std::size_t) {
      if (phase != "float model") return;
      least = std::min(least, done);
      if (done >= cut_at) throw Error(ErrorKind::Interrupted, "interrupted");
    };
  }
};

void expect_same(const Reference& got, const Reference& expected) {
  EXPECT_EQ(got.ranges, expected.ranges);
  EXPECT_EQ(got.early, expected.early);
  EXPECT_EQ(got.histograms, expected.histograms);
  EXPECT_EQ(got.shapes, expected.shapes);
  EXPECT_EQ(got.data_sha256, expected.data_sha256);
  ASSERT_EQ(got.totals.size(), expected.totals.size());
  EXPECT_EQ(got.totals.at("y").pooled, expected.totals.at("y").pooled);
  EXPECT_EQ(got.inputs.at("x").most, expected.inputs.at("x").most);
}

class PartialReference : public ::testing::Test {
 protected:
  const Samples samples_ = bell_samples("x", {1, 3}, 900, 1.0F);
  const std::set<std::string> counted_{"x", "d", "s"};
  const TempFolder folder_;
  Subject subject_ = subject_of(double_and_shift(), samples_);

  Reference run(PartialRuns* partial, Told& told, Counting counting = Counting::All) {
    subject_.progress = told.progress();
    return run_reference(subject_, counted_, counted_, counting, partial);
  }
  void cut_short(Counting counting = Counting::All) {
    PartialRuns partial(folder_.path(), std::chrono::milliseconds(0));
    Told cut{.cut_at = 600};
    EXPECT_THROW(run(&partial, cut, counting), Error);
  }
  std::size_t files() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) count += entry.exists() ? 1 : 0;
    return count;
  }
};

TEST_F(PartialReference, GoesOnFromWhereItWasCutAndSaysTheSame) {
  for (const Counting counting : {Counting::All, Counting::Ends}) {
    Told told;
    const Reference expected = run(nullptr, told, counting);
    cut_short(counting);
    PartialRuns partial(folder_.path());
    Told again;
    const Reference got = run(&partial, again, counting);
    expect_same(got, expected);
    EXPECT_GT(again.least, 1U) << "samples that an earlier run had are not run again";
    EXPECT_NE(partial.resumed_at().find("of 900"), std::string::npos) << partial.resumed_at();
    partial.done();
    EXPECT_EQ(files(), 0U);
  }
}

TEST_F(PartialReference, BeginsAnewOnOtherSamples) {
  cut_short();
  std::vector<Sample> others;
  for (std::size_t i = 0; i < samples_.size(); ++i) others.push_back(samples_.at(i));
  others.front()["x"] = Tensor::of({1, 3}, std::vector<float>{1, 2, 3});
  const Samples changed(others);
  subject_.samples = &changed;
  Told told;
  const Reference expected = run(nullptr, told);
  PartialRuns partial(folder_.path());
  Told again;
  expect_same(run(&partial, again), expected);
  EXPECT_EQ(again.least, 1U);
  EXPECT_EQ(partial.resumed_at(), "");
}

TEST_F(PartialReference, BeginsAnewWhereTheFileIsBroken) {
  cut_short();
  ASSERT_EQ(files(), 1U);
  const std::filesystem::path file = std::filesystem::directory_iterator(folder_.path())->path();
  for (const std::uintmax_t size : {std::filesystem::file_size(file) - 1, std::uintmax_t{3}, std::uintmax_t{0}}) {
    std::filesystem::resize_file(file, size);
    PartialRuns partial(folder_.path(), std::chrono::hours(1));
    Told again;
    run(&partial, again);
    EXPECT_EQ(again.least, 1U) << size;
  }
}

class Ends : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Samples, Ends, ::testing::Values(4, 20, 900));

TEST_P(Ends, AloneTellTheSameOfThem) {
  const Samples samples = bell_samples("x", {1, 300}, GetParam(), 1.0F);
  const Subject subject = subject_of(model_of(R"(
    g (float[1,300] x) => (float[1,300] y) <float[1] two = {2}, float[1] minus_five = {-5}> {
      [double] d = Mul(x, two)
      [shift] s = Add(d, minus_five)
      [out] y = Neg(s)
    })"),
                                     samples);
  const std::set<std::string> counted{"x", "d", "s"};
  const Reference all = run_reference(subject, counted, counted);
  const Reference ends = run_reference(subject, counted, counted, Counting::Ends);
  EXPECT_EQ(ends.ranges, all.ranges);
  EXPECT_EQ(ends.early, all.early);
  for (const std::string& tensor : counted) {
    for (const std::size_t half : {0U, 1U}) {
      const Distribution few = distribution_of(ends.histograms.at(tensor).at(half));
      const Distribution whole = distribution_of(all.histograms.at(tensor).at(half));
      const RangeStats& other = all.histograms.at(tensor).at(1 - half).range();
      EXPECT_LT(few.bins.size(), whole.bins.size() / 2) << tensor;
      EXPECT_EQ(share_beyond(few, other.min, other.max), share_beyond(whole, other.min, other.max)) << tensor;
      EXPECT_EQ(few.count, whole.count);
    }
  }
}

TEST(Reference, WhatMayHoldAMaskIsCountedWholeOrNotAtAll) {
  std::vector<Sample> masked;
  for (std::uint32_t i = 0; i < 400; ++i) masked.push_back({{"x", bell({1, 3}, i + 1)}});
  masked[300]["x"] = Tensor::of({1, 3}, std::vector<float>{1, -1e9F, 2});
  const Samples late(masked);
  const Reference none = run_reference(subject_of(double_and_shift(), late), {"d"}, {"d"}, Counting::Ends);
  EXPECT_FALSE(none.histograms.contains("d"));
  masked[0]["x"] = masked[300]["x"];
  const Samples early(masked);
  const Subject subject = subject_of(double_and_shift(), early);
  EXPECT_EQ(run_reference(subject, {"d"}, {"d"}, Counting::Ends).histograms,
            run_reference(subject, {"d"}, {"d"}).histograms);
}

TEST(Reference, StoresOutputsAndTheirTotals) {
  const Samples samples = whole_numbers();
  const Subject subject = subject_of(double_and_shift(), samples);
  const Reference reference = run_reference(subject, {});
  EXPECT_TRUE(same_bits(reference.outputs.get(1).front(), Tensor::of({1, 3}, std::vector<float>{13, 5, -13})));
  const OutputStats& total = reference.totals.at("y");
  EXPECT_EQ(total.pooled.ref_energy, 9 + 1 + 1 + 169 + 25 + 169 + 81 + 81 + 81);
  EXPECT_EQ(total.pooled.count, 9);
  EXPECT_EQ(total.rows, 3);
  EXPECT_EQ(total.rows_agreed, 3);
  EXPECT_EQ(total.pooled.error_energy, 0);
}

TEST(Reference, DoesNotDependOnThreads) {
  const Samples samples = bell_samples("x", kConvNetInput, 9, 1.3F);
  Subject subject = subject_of(model_of(kConvNet, conv_net_weights()), samples);
  const std::set<std::string> observed = tensors_to_observe(subject);
  EXPECT_EQ(observed, (std::set<std::string>{"x", "c1", "r1", "c2", "r2", "c3", "f", "y"}));
  const Reference one = run_reference(subject, observed);
  subject.threads = 4;
  const Reference four = run_reference(subject, observed);
  EXPECT_EQ(one.ranges, four.ranges);
  EXPECT_EQ(one.shapes, four.shapes);
  EXPECT_EQ(one.totals.at("y").pooled, four.totals.at("y").pooled);
  for (std::size_t s = 0; s < samples.size(); ++s) {
    EXPECT_TRUE(same_bits(one.outputs.get(s).front(), four.outputs.get(s).front())) << s;
  }
}

TEST(Reference, SeesTheCarriedStateAsItGrows) {
  // h2 = h + x, so that after the steps 1 2 3 4 the state read is 0 1 3 6.
  std::vector<Sample> steps;
  for (const float x : {1.0F, 2.0F, 3.0F, 4.0F}) {
    steps.push_back({{"x", Tensor::of({1, 1}, std::vector<float>{x})}, {"h", Tensor(Dtype::Float32, {1, 1})}});
  }
  const Samples samples(std::move(steps));
  const Subject subject = subject_of(
      model_of("g (float[1,1] x, float[1,1] h) => (float[1,1] y, float[1,1] h2) { h2 = Add(h, x) y = Neg(h) }"),
      samples, {{"h2", "h"}});
  const Reference reference = run_reference(subject, {"h", "h2"});
  EXPECT_EQ(reference.ranges.at("h2").max, 10);
  EXPECT_EQ(reference.outputs.get(3).front().floats()[0], -6);
  EXPECT_EQ(reference.ranges.at("h").min, 0);
  EXPECT_EQ(reference.ranges.at("h").max, 6) << "calibrating on the initial zeros alone would clip every later state";
}

TEST(Reference, TellsHowManyValuesOfTheReferenceAreNotFinite) {
  const Samples samples({{{"x", Tensor::of({1, 3}, std::vector<float>{1, 0, 4})}}});
  const Subject subject = subject_of(model_of("g (float[1,3] x) => (float[1,3] y) { y = Reciprocal(x) }"), samples);
  const Reference reference = run_reference(subject, {"y"});
  EXPECT_EQ(reference.totals.at("y").pooled.ref_nonfinite, 1);
  EXPECT_EQ(reference.ranges.at("y").nonfinite, 1);
  EXPECT_EQ(reference.ranges.at("y").max, 1);
}

TEST(Reference, HashesTheSamplesItRead) {
  const Samples samples({{{"x", Tensor::of({1, 3}, std::vector<float>{1, 0, 4})}}});
  const Subject subject = subject_of(model_of("g (float[1,3] x) => (float[1,3] y) { y = Neg(x) }"), samples);
  // Python: sha256(b"x float32 1x3\n" + struct.pack("<3f", 1, 0, 4))
  EXPECT_EQ(run_reference(subject, {}).data_sha256, "1e150a8d6785c010564f76b8c31086961790ff4e3b6a4291529d36592416ee3e");
}

TEST(RunSamples, NamesPhaseAndSampleOfAFailure) {
  const Samples samples({{{"x", bell({1, 3}, 1)}}, {{"x", bell({1, 4}, 1)}}});
  const Subject subject = subject_of(double_and_shift(), samples);
  const Error error = error_of([&] { run_reference(subject, {}); });
  EXPECT_EQ(error.kind(), ErrorKind::Backend);
  EXPECT_EQ(std::string(error.what()).rfind("float model, sample 1: ", 0), 0U) << error.what();
}

}  // namespace
}  // namespace vernier::testing
