// Parts of outputs: how they are written, and which outputs have some.
#include "analysis/output_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/hiding_pairs.h"
#include "analysis/judged_views.h"
#include "analysis/output_part.h"
#include "analysis/part_groups.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "plan/simulate_typed.h"
#include "tiny_networks.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using testing::bell;
using testing::model_of;
using testing::NamedTensors;

std::vector<std::string> parts_of(const std::string& graph, const Sample& sample, const NamedTensors& weights = {}) {
  const testing::Samples samples({sample, sample});
  Subject subject = testing::subject_of(model_of(graph, weights), samples);
  subject.class_axes = class_axes(subject.model, subject.judged);
  std::vector<std::string> names;
  for (const OutputPart& part : find_output_parts(subject).parts) names.push_back(part.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(OutputPart, IsWrittenAsNumPyWritesIt) {
  const OutputPart part = parse_part("boxes/out[:, 4:]").value();
  EXPECT_EQ(part.output, "boxes/out");
  EXPECT_EQ(part.axis, 1);
  EXPECT_EQ(part.begin, 4);
  EXPECT_FALSE(part.end);
  EXPECT_EQ(part_name(part), "boxes/out[:,4:]");
  EXPECT_EQ(part_name(parse_part("y[:,:,:4]").value()), "y[:,:,:4]");
  EXPECT_EQ(parse_part("y[:,3]")->end, 4);
  EXPECT_EQ(parse_part("y[:,-1]")->begin, -1);
  EXPECT_EQ(parse_part("y[...,2:5]")->axis, -1);
  EXPECT_FALSE(parse_part("y"));
  EXPECT_FALSE(parse_part("y[0]"));  // a name that exporters make
  EXPECT_FALSE(parse_part("y[a:b]"));
  EXPECT_EQ(part_name(parse_part("y[:, 7::3]").value()), "y[:,7::3]");
  EXPECT_EQ(parse_part("y[:,1:9:2]")->step, 2);
  EXPECT_EQ(parse_part("y[:,1:9:2]")->end, 9);
  EXPECT_THROW(parse_part("y[:,1:9:0]"), Error);
  EXPECT_THROW(parse_part("y[:,::-1]"), Error);
  EXPECT_THROW(parse_part("y[1:,1:]"), Error);
  EXPECT_THROW(parse_part("y[:,:]"), Error);
}

TEST(OutputPart, MayBePlacesThatAreNoSlice) {
  const OutputPart part = parse_part("y[:, [0, 3:6, 9]]").value();
  EXPECT_EQ(part.output, "y");
  EXPECT_EQ(part.axis, 1);
  EXPECT_EQ(part.places, (std::vector<std::int64_t>{0, 3, 4, 5, 9}));
  EXPECT_EQ(part_name(part), "y[:,[0,3:6,9]]");
  EXPECT_EQ(parse_part("y[...,[1,2],:]")->axis, -2);
  EXPECT_EQ(part_name(parse_part("y[[0,2]]").value()), "y[[0,2]]");
  EXPECT_EQ(parse_part("a[:,1:][:,[2]]")->output, "a[:,1:]");
  for (const char* text : {"y[:,[3,1]]", "y[:,[1,1]]", "y[:,[4:2]]", "y[:,[1,]]"}) {
    EXPECT_THROW(parse_part(text), Error) << text;
  }
  EXPECT_FALSE(parse_part("y[:,[-1]]"));
  EXPECT_FALSE(parse_part("y]]"));
  EXPECT_THROW(settled(part, {1, 9}), Error);
  EXPECT_EQ(places_of(settled(part, {1, 10}), 10), 5);
}

TEST(OutputPart, MayLeaveOutAMask) {
  const OutputPart part = parse_part("y[abs<120]").value();
  EXPECT_EQ(part.output, "y");
  EXPECT_EQ(part.mask.size, 120);
  EXPECT_TRUE(part.all_places());
  EXPECT_EQ(part_name(part), "y[abs<120]");
  const OutputPart sliced = parse_part("y[:,4:][abs<1e+06]").value();
  EXPECT_EQ(sliced.output, "y");
  EXPECT_EQ(sliced.begin, 4);
  EXPECT_EQ(part_name(sliced), "y[:,4:][abs<1e+06]");
  for (const char* text : {"y[abs<]", "y[abs<-1]", "y[abs<0]", "y[abs<1x]", "[abs<1]"}) {
    EXPECT_FALSE(parse_part(text)) << text;
  }
  EXPECT_EQ(settled(part, {}).mask.size, 120) << "of a scalar, too";
  const Tensor values = Tensor::of({4}, std::vector<float>{-9, -1, 1, 9});
  const auto kept = [&](const char* text) {
    const Tensor rest = slice_of(values, parse_part(text).value());
    return std::vector<float>(rest.floats().begin(), rest.floats().end());
  };
  EXPECT_EQ(kept("y[abs<5]"), (std::vector<float>{0, -1, 1, 0}));
  EXPECT_EQ(kept("y[>-5]"), (std::vector<float>{0, -1, 1, 9}));
  EXPECT_EQ(kept("y[<5]"), (std::vector<float>{-9, -1, 1, 0}));
  EXPECT_EQ(part_name(parse_part("y[:,4:][>-5]").value()), "y[:,4:][>-5]");
}

TEST(OutputPart, IsSettledByTheShape) {
  const Shape shape{1, 3, 85};
  EXPECT_EQ(settled(parse_part("y[...,-81:]").value(), shape).begin, 4);
  EXPECT_EQ(settled(parse_part("y[...,-81:]").value(), shape).axis, 2);
  EXPECT_FALSE(settled(parse_part("y[:,:,4:85]").value(), shape).end);
  EXPECT_THROW(settled(parse_part("y[:,3:]").value(), shape), Error);
  EXPECT_THROW(settled(parse_part("y[:,:,:,1:]").value(), shape), Error);
}

TEST(OutputPart, HoldsTheElementsOfItsSlice) {
  const Tensor whole = Tensor::of({2, 3, 2}, std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const Tensor part = slice_of(whole, parse_part("y[:,1:]").value());
  EXPECT_EQ(part.shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(std::vector<float>(part.floats().begin(), part.floats().end()),
            (std::vector<float>{2, 3, 4, 5, 8, 9, 10, 11}));
  const Tensor places = slice_of(whole, parse_part("y[:,[0,2]][abs<10]").value());
  EXPECT_EQ(places.shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(std::vector<float>(places.floats().begin(), places.floats().end()),
            (std::vector<float>{0, 1, 4, 5, 6, 7, 0, 0}));
}

TEST(OutputPart, IsGivenOutAndTakenBack) {
  for (const int opset : {9, 17}) {
    for (const char* text : {"y[:,4:]", "y[:,[0,2:4,5]]", "y[abs<0.5]", "y[:,:4][abs<0.5]", "y[:,[1,3]][abs<0.5]",
                             "y[>-0.5]", "y[<0.5]"}) {
      const std::string graph = "g (float[1,6,4] x) => (float[1,6,4] y) { y = Relu (x) }";
      Model model = model_of(graph, {}, opset);
      const std::string before = model.proto.SerializeAsString();
      const std::vector<JudgedView> views = judge_parts(model, {parse_part(text).value()});
      EXPECT_EQ(measured_layers(model).size(), 1U) << text;
      const Tensor x = bell({1, 6, 4}, 3);
      const std::vector<Tensor> got = evaluate_exactly(Runtime::load(), model, {{"x", x}});
      ASSERT_EQ(got.size(), 2U);
      const Tensor wanted = slice_of(got[0], parse_part(text).value());
      EXPECT_EQ(got[1].shape(), wanted.shape()) << text;
      EXPECT_TRUE(std::ranges::equal(got[1].floats(), wanted.floats())) << text;
      Model other = model_of(graph, {}, opset);
      judge_alike(other, views);
      EXPECT_EQ(other.proto.graph().output(1).name(), text);
      give_back_outputs(model, views);
      EXPECT_EQ(model.proto.SerializeAsString(), before) << text;
    }
  }
}

const Tensor kLarge = bell({1, 4, 8}, 1, 300), kSmall = bell({1, 5, 8}, 2, 0.3F);

TEST(OutputParts, AreTheOperandsOfTheLastConcat) {
  const Sample sample{{"a", kLarge}, {"b", kSmall}};
  EXPECT_EQ(parts_of("g (float[1,4,8] a, float[1,5,8] b) => (float[1,9,8] y)"
                     "{ r = Relu (a) s = Sigmoid (b) y = Concat <axis = 1> (r, s) }",
                     sample),
            (Names{"y[:,:4]", "y[:,4:]"}));
  // Behind what moves them or computes in place.
  EXPECT_EQ(
      parts_of("g (float[1,4,8] a, float[1,5,8] b) => (float[1,1,8,9] y) <int64[4] f = {1, 1, 8, 9}>"
               "{ c = Concat <axis = 1> (a, b) m = Abs (c) t = Transpose <perm = [0,2,1]> (m) y = Reshape (t, f) }",
               sample),
      (Names{"y[:,:,:,:4]", "y[:,:,:,4:]"}));
  // Behind a Flatten the parts are runs of places.
  EXPECT_EQ(parts_of("g (float[1,4,8] a, float[1,5,8] b) => (float[1,72] y)"
                     "{ c = Concat <axis = 1> (a, b) y = Flatten (c) }",
                     sample),
            (Names{"y[:,:32]", "y[:,32:]"}));
  EXPECT_EQ(parts_of("g (float[1,4,8] a, float[1,4,8] b) => (float[1,64] y)"
                     "{ c = Concat <axis = 2> (a, b) y = Flatten (c) }",
                     {{"a", kLarge}, {"b", bell({1, 4, 8}, 2, 0.3F)}}),
            (Names{"y[:,:8]", "y[:,8:16]", "y[:,16:24]", "y[:,24:32]", "y[:,32:40]", "y[:,40:48]", "y[:,48:56]",
                   "y[:,56:]"}));
  // A Concat of levels in front of it, and neighbours of one scale.
  EXPECT_EQ(parts_of("g (float[1,4,8] a, float[1,5,8] b) => (float[1,19,16] y)"
                     "{ c = Concat <axis = 1> (a, b, b, b) d = Concat <axis = 1> (a, b, b, b)"
                     "  y = Concat <axis = 2> (c, d) }",
                     sample),
            (Names{"y[:,:4]", "y[:,4:]"}));
}

TEST(OutputParts, AreEveryThirdPlaceOfKeypoints) {
  // x, y and a score of five points behind boxes and classes, as heads for poses have them.
  const Sample sample{{"boxes", bell({1, 4, 16}, 1, 300)},
                      {"classes", bell({1, 1, 16}, 2, 0.3F)},
                      {"places", bell({1, 5, 2, 16}, 3, 300)},
                      {"scores", bell({1, 5, 1, 16}, 4, 0.3F)}};
  const std::string points = "c = Concat <axis = 2> (places, scores) r = Reshape (c, f)";
  EXPECT_EQ(parts_of("g (float[1,5,2,16] places, float[1,5,1,16] scores) => (float[1,15,16] y)"
                     "<int64[3] f = {1, 15, 16}> { " +
                         points + " y = Identity (r) }",
                     {{"places", sample.at("places")}, {"scores", sample.at("scores")}}),
            (Names{"y[:,::3]", "y[:,1::3]", "y[:,2::3]"}));
  EXPECT_EQ(parts_of("g (float[1,4,16] boxes, float[1,1,16] classes, float[1,5,2,16] places, float[1,5,1,16] scores)"
                     "=> (float[1,20,16] y) <int64[3] f = {1, 15, 16}> { " +
                         points + " y = Concat <axis = 1> (boxes, classes, r) }",
                     sample),
            (Names{"y[:,:4]", "y[:,4:5]", "y[:,5:]", "y[:,5::3]", "y[:,6::3]", "y[:,7::3]"}));
}

TEST(OutputParts, AreWhatASequenceHolds) {
  EXPECT_EQ(parts_of("g (float[1,4,8] a, float[1,5,8] b) => (float[1,9,8] y)"
                     "{ s = SequenceConstruct (a, b) y = ConcatFromSequence <axis = 1> (s) }",
                     {{"a", kLarge}, {"b", kSmall}}),
            (Names{"y[:,:4]", "y[:,4:]"}));
}

TEST(OutputParts, AreChannelsOfOneLayerThatDifferMuch) {
  Tensor weight = bell({9, 3, 1, 1}, 5, 0.1F);
  for (std::int64_t channel = 0; channel < 4; ++channel) weight = testing::scaled_slice(weight, 0, channel, 1000);
  const std::string graph = "g (float[1,3,8,8] x) => (float[1,9,8,8] y) { y = Conv (x, w) }";
  const Sample sample{{"x", bell({1, 3, 8, 8}, 4)}};
  EXPECT_EQ(parts_of(graph, sample, {{"w", weight}}), (Names{"y[:,:4]", "y[:,4:]"}));
  // One channel of another scale among others belongs to nothing.
  const Tensor odd = testing::scaled_slice(bell({9, 3, 1, 1}, 5, 0.1F), 0, 4, 1000);
  EXPECT_EQ(parts_of(graph, sample, {{"w", odd}}), Names{});
  Tensor mixed = bell({9, 3, 1, 1}, 5, 0.1F);
  for (const std::int64_t channel : {1, 2, 4}) mixed = testing::scaled_slice(mixed, 0, channel, 1000);
  EXPECT_EQ(parts_of(graph, sample, {{"w", mixed}}), (Names{"y[:,[0,3,5:9]]", "y[:,[1:3,4]]"}));
  EXPECT_EQ(parts_of(graph, sample, {{"w", bell({9, 3, 1, 1}, 5, 0.1F)}}), Names{});
}

TEST(OutputParts, AreWhatAScatterWrites) {
  // y[:, :4] = a
  std::vector<std::int64_t> channels, places;
  for (std::int64_t i = 0; i < 32; ++i) {
    channels.push_back(i / 8);
    places.insert(places.end(), {0, i / 8, i % 8});
  }
  const std::vector<std::int64_t> four_in_front{0, 4, 0, 0, 0, 0};
  for (const char* scatter : {"ScatterElements <axis = 1> (d, channels, a)", "ScatterND (d, places, a)"}) {
    EXPECT_EQ(parts_of("g (float[1,4,8] a, float[1,5,8] b) => (float[1,9,8] y) { d = Pad (b, pads) c = " +
                           std::string(scatter) + " y = Abs (c) }",
                       {{"a", kLarge}, {"b", kSmall}},
                       {{"channels", Tensor::of_int64({1, 4, 8}, channels)},
                        {"places", Tensor::of_int64({1, 4, 8, 3}, places)},
                        {"pads", Tensor::of_int64({6}, four_in_front)}}),
              (Names{"y[:,:4]", "y[:,4:]"}))
        << scatter;
  }
}

TEST(OutputParts, AreNoneOfAWholeOrOfOneScale) {
  const Sample alike{{"a", bell({1, 4, 8}, 1)}, {"b", bell({1, 5, 8}, 2)}};
  const Sample apart{{"a", kLarge}, {"b", kSmall}};
  const std::string joined = "g (float[1,4,8] a, float[1,5,8] b) => (float[1,9,8] y) { y = Concat <axis = 1> (a, b) }";
  EXPECT_EQ(parts_of(joined, alike), Names{});
  // Shares of one sum.
  EXPECT_EQ(parts_of("g (float[1,4,8] a, float[1,5,8] b) => (float[1,9,8] y)"
                     "{ c = Concat <axis = 1> (a, b) y = Softmax <axis = 1> (c) }",
                     apart),
            Names{});
  EXPECT_EQ(parts_of("g (float[1,4,8] a, float[1,5,8] b) => (float[1,9,8] y, int64[1,8] i)"
                     "{ y = Concat <axis = 1> (a, b) i = ArgMax <axis = 1, keepdims = 0> (y) }",
                     apart),
            Names{});
  // Nothing at all is no part.
  EXPECT_EQ(parts_of(joined, {{"a", kLarge}, {"b", Tensor(Dtype::Float32, {1, 5, 8})}}), Names{});
  EXPECT_EQ(parts_of("g (float[1,4,8] a, float[1,4,8] b) => (float[2,4,8] y) { y = Concat <axis = 0> (a, b) }",
                     {{"a", kLarge}, {"b", bell({1, 4, 8}, 2, 0.3F)}}),
            (Names{"y[:1]", "y[1:]"}))
      << "joined samples are parts, too";
}

TEST(OutputParts, AreWhatAMaskLeaves) {
  const Sample sample{{"x", bell({1, 9, 8}, 1)}};
  const NamedTensors mask{{"m", Tensor::of({9, 1}, std::vector<float>{0, -1e4F, 0, 0, 0, 0, 0, 0, -1e4F})}};
  const std::string network = "g (float[1,9,8] x) => (float[1,9,8] y) ";
  EXPECT_EQ(parts_of(network + "{ y = Add (x, m) }", sample, mask).size(), 1U);
  EXPECT_TRUE(parts_of(network + "{ y = Add (x, m) }", sample, mask).front().starts_with("y[>-"));
  // A Softmax, or a layer with weights, lets nothing of a mask through.
  EXPECT_EQ(parts_of(network + "{ a = Add (x, m) y = Softmax (a) }", sample, mask), Names{});
  // Constants of another use, and large values that are no constant.
  EXPECT_EQ(parts_of(network + "<float s = {640}> { g = Sigmoid (x) y = Mul (g, s) }", sample), Names{});
  EXPECT_EQ(parts_of(network + "<float s = {9}> { y = Add (x, s) }", sample), Names{});
  // A percentage of which most are 100.
  EXPECT_EQ(parts_of(network + "<float s = {100}, float k = {900}> { l = Mul (x, k) g = Softmax (l) y = Mul (g, s) }",
                     sample),
            Names{});
  EXPECT_EQ(parts_of(network + "{ y = Mul (x, s) }", sample,
                     {{"s", Tensor::of({9, 1}, std::vector<float>{1, 1, 1, 1, 1, 1, 20000, 1, 1})}}),
            Names{});
  // Large values that the network computes.
  Tensor rates = bell({1, 9, 8}, 1);
  rates.mutable_floats()[3] = 20;
  rates.mutable_floats()[10] = 12.5F;
  Tensor same(Dtype::Float32, {8, 8});
  for (std::size_t i = 0; i < 8; ++i) same.mutable_floats()[9 * i] = 1;
  for (const std::string& part : parts_of(network + "<float s = {50}> { h = MatMul (x, w) e = Exp (h) y = Mul (e, s) }",
                                          {{"x", rates}}, {{"w", same}})) {
    EXPECT_EQ(part.find_first_of("<>"), std::string::npos) << part;
  }
  // Parts beside it are found as they would be without it.
  const std::vector<std::string> both = parts_of(
      "g (float[1,4,8] a, float[1,5,8] b) => (float[1,9,8] y)"
      "{ k = Add (b, m) y = Concat <axis = 1> (a, k) }",
      {{"a", bell({1, 4, 8}, 1, 300)}, {"b", bell({1, 5, 8}, 2, 0.3F)}},
      {{"m", Tensor::of({5, 1}, std::vector<float>{0, -1e9F, 0, 0, 0})}});
  ASSERT_EQ(both.size(), 3U);
  EXPECT_TRUE(both[0].starts_with("y[:,:4][>-")) << both[0];
  EXPECT_TRUE(both[1].starts_with("y[:,4:][>-")) << both[1];
}

TEST(OutputParts, AreNoStatesOfARecurrentLayer) {
  EXPECT_EQ(parts_of("g (float[3,1,4] x) => (float[1,2,2] y)"
                     "{ s, h, c = LSTM <hidden_size = 2> (x, w, r) d = Mul (c, k) y = Concat <axis = 1> (h, c) }",
                     {{"x", bell({3, 1, 4}, 1)}},
                     {{"w", bell({1, 8, 4}, 2, 9)}, {"r", bell({1, 8, 2}, 3)}, {"k", bell({1}, 4)}}),
            Names{});
}

std::vector<SegmentSums> sums_of(const std::vector<double>& rms) {
  std::vector<SegmentSums> sums;
  for (const double value : rms) sums.push_back({value * value * 100, 100});
  return sums;
}

TEST(PartStarts, MergeNeighboursOfOneScale) {
  const auto starts = [](const std::vector<double>& rms) { return part_starts(sums_of(rms)); };
  using Starts = std::vector<std::size_t>;
  EXPECT_EQ(starts({300, 200, 1, 0.5}), (Starts{2}));
  EXPECT_EQ(starts({300, 50}), Starts{});
  EXPECT_EQ(starts({300, 50, 10, 2}), (Starts{1, 2, 3}));
  EXPECT_EQ(starts({300, 0, 1}), (Starts{2}));
  EXPECT_EQ(starts({300, 1e-9}), (Starts{1}));  // distances next to probabilities
  std::vector<double> turns;
  for (int i = 0; i < 40; ++i) turns.push_back(i % 2 == 0 ? 1 : 30);
  EXPECT_EQ(starts({turns.begin(), turns.begin() + 12}).size(), 11U);
  EXPECT_LE(starts(turns).size(), 31U);
}

TEST(ChannelGroups, AreOfOneScaleAndNotNarrow) {
  const auto groups = [](const std::vector<double>& rms) { return channel_groups(sums_of(rms)); };
  using Groups = std::vector<std::vector<std::size_t>>;
  EXPECT_EQ(groups({300, 1e-9}), Groups{});
  EXPECT_EQ(groups({300, 200, 10, 0.001, 9}), (Groups{{0, 1}, {2, 3, 4}}));
  EXPECT_EQ(groups({1, 300, 1, 300, 1, 300}), (Groups{{0, 2, 4}, {1, 3, 5}}));
  EXPECT_EQ(groups({300, 1, 0.01, 300, 1, 0.01}), (Groups{{0, 3}, {1, 4}, {2, 5}}));
  EXPECT_EQ(groups({5, 5, 0.1, 5, 5, 5}), Groups{}) << "one alone";
  EXPECT_EQ(groups({5, 5, 0.1, 0, 5, 0, 5}), Groups{}) << "one alone, and what is never used";
  EXPECT_EQ(groups({1000, 250, 62, 16, 4, 1}), (Groups{{0, 1}, {2, 3}, {4, 5}})) << "a ladder";
  EXPECT_EQ(groups({4, 1000, 62, 1, 250, 16, 0.9}), (Groups{{0, 3, 6}, {1, 4}, {2, 5}}));
  EXPECT_EQ(groups({90, 30, 10, 3, 1}), Groups{}) << "a short one";
  EXPECT_EQ(groups({60, 1000, 20, 7, 2, 0.7}), Groups{}) << "one alone";
  std::vector<double> rare;
  for (int i = 0; i < 20; ++i) rare.push_back(std::pow(2, -i));
  EXPECT_EQ(groups(rare), Groups{}) << "classes that are hardly used";
  std::vector<double> wide(64, 5);
  for (const std::size_t dead : {3, 9, 20, 33, 50, 51, 60}) wide[dead] = 0.01;
  EXPECT_EQ(groups(wide), Groups{}) << "seven of 64 are hardly used";
}

const Tensor kScores = bell({1, 5, 8}, 1, 0.2F);

ErrorStats error_of(const Tensor& got) {
  ErrorStats sums;
  accumulate_error(kScores.floats(), got.floats(), sums);
  return sums;
}

const ErrorStats kDead = error_of(Tensor(Dtype::Float32, {1, 5, 8}));

TEST(HidingPairs, AreThoseOnTheWayOfThePart) {
  const Model file = model_of(
      "g (float[1,4,8] a, float[1,5,8] b) => (float[1,9,8] y)"
      "<float qs = {2.5}, int8 qz = {0}, float os = {0.01}>"
      "{ s = Sigmoid (b) aq = QuantizeLinear (a, qs, qz) ad = DequantizeLinear (aq, qs, qz)"
      "  sq = QuantizeLinear (s, os, qz) sd = DequantizeLinear (sq, os, qz)"
      "  c = Concat <axis = 1> (ad, sd) cq = QuantizeLinear (c, qs, qz) y = DequantizeLinear (cq, qs, qz) }");
  const SimulatedFile simulated = simulate_typed(file);
  const std::vector<HidingPair> hiding = pairs_hiding(simulated, parse_part("y[:,4:]").value(), kDead);
  ASSERT_EQ(hiding.size(), 1U);
  EXPECT_EQ(hiding[0].pair->tensor, "c");
  EXPECT_NEAR(hiding[0].step, 2.5, 1e-6);
  EXPECT_EQ(hiding[0].levels, 1);
  EXPECT_TRUE(pairs_hiding(simulated, parse_part("y[:,4:]").value(), error_of(kScores)).empty());
}

TEST(HidingPairs, AreFoundInFrontOfRoundsAndOfWhatKeepsSizes) {
  const std::string pair = "cq = QuantizeLinear (c, qs, qz) d = DequantizeLinear (cq, qs, qz)";
  const std::string constants = "<float qs = {2.5}, int8 qz = {0}, int64[3] f = {1, 15, 8}, float[3] s = {1, 1, 2}>";
  const auto tensors = [&](const std::string& graph, const std::string& part) {
    std::vector<std::string> names;
    const SimulatedFile file = simulate_typed(model_of(graph));
    for (const HidingPair& hiding : pairs_hiding(file, parse_part(part).value(), kDead)) {
      names.push_back(hiding.pair->tensor);
    }
    return names;
  };
  const std::string points = "(float[1,5,2,8] a, float[1,5,1,8] b) => (float[1,15,8] y)";
  EXPECT_EQ(tensors("g " + points + constants + "{ c = Concat <axis = 2> (a, b) " + pair + " y = Reshape (d, f) }",
                    "y[:,2::3]"),
            (Names{"c"}));
  const std::string joined = "{ c = Concat <axis = 1> (a, b) " + pair;
  const std::string inputs = "g (float[1,4,8] a, float[1,5,8] b) => (float[1,9,";
  EXPECT_EQ(tensors(inputs + "16] y)" + constants + joined + " y = Resize (d, , s) }", "y[:,4:]"), (Names{"c"}));
  EXPECT_EQ(tensors(inputs + "7] y)" + constants + joined + " y = MaxPool <kernel_shape = [2]> (d) }", "y[:,4:]"),
            (Names{"c"}));
  EXPECT_EQ(tensors("g (float[1,4,8] a, float[1,5,8] b) => (float[1,9,8] y)" + constants +
                        "{ l = SequenceConstruct (a, b) c = ConcatFromSequence <axis = 1> (l) " + pair +
                        " y = Identity (d) }",
                    "y[:,4:]"),
            (Names{"c"}));
}

TEST(HidingPairs, AreFoundInFrontOfAFlatten) {
  const Model file = model_of(
      "g (float[1,4,8] a, float[1,5,8] b) => (float[1,72] y)"
      "<float qs = {2.5}, int8 qz = {0}>"
      "{ c = Concat <axis = 1> (a, b) cq = QuantizeLinear (c, qs, qz) d = DequantizeLinear (cq, qs, qz)"
      "  y = Flatten (d) }");
  const SimulatedFile simulated = simulate_typed(file);
  const std::vector<HidingPair> hiding = pairs_hiding(simulated, parse_part("y[:,32:]").value(), kDead);
  ASSERT_EQ(hiding.size(), 1U);
  EXPECT_EQ(hiding[0].pair->tensor, "c");
}

}  // namespace
}  // namespace vernier
