#include "analysis/sensitivity.h"

#include "../distributed/thread_ranks.h"
#include "analysis/reached_outputs.h"
#include "analysis/segment_starts.h"
#include "analysis/switched_runs.h"
#include "analysis/trials.h"
#include "plan/scheme.h"
#include "tiny_networks.h"
#include "vernier/format.h"

namespace vernier::testing {
namespace {

/// Branches, an early output, and a layer whose result only the early output needs.
Model forked_net() {
  return model_of(R"(
    forked (float[1,3,8,8] x) => (float[1,8,8,8] early, float[1,8] y) {
      [stem] a = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (x, w1, b1)
      [relu] r = Relu (a)
      [side] early = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (r, w2, b2)
      [main] c = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (r, w3, b3)
      [skip] s = Add (c, r)
      [pool] p = GlobalAveragePool (s)
      [flat] y = Flatten (p)
    })",
                  conv_net_weights());
}

std::vector<std::string> low_layers(const Subject& subject, const Plan& plan) {
  std::vector<std::string> names;
  for (const Layer& layer : subject.layers) {
    if (layer.graph.empty() && plan.format_of(layer.name) != Format::Float32) names.push_back(layer.name);
  }
  return names;
}

std::map<std::string, std::map<std::string, OutputStats>> by_layer(const Sensitivities& sensitivities) {
  std::map<std::string, std::map<std::string, OutputStats>> found;
  for (const LayerSensitivity& sensitivity : sensitivities.layers) found[sensitivity.layer] = sensitivity.outputs;
  return found;
}

void expect_equal_to_full_runs(const Subject& subject, Format format, std::size_t segments,
                               Target target = Target::TensorRt) {
  const Plan plan = plan_all(subject, format, target);
  const Reference reference = run_reference(subject, tensors_to_observe(subject));
  RoundedWeights weights;
  const std::vector<std::string> names = low_layers(subject, plan);
  const std::vector<std::size_t> some{2, 0};
  const auto sensitivities = by_layer(
      measure_sensitivities(subject, plan, names, reference.outputs, reference.shapes, weights, {some, segments}));
  ASSERT_EQ(sensitivities.size(), names.size());
  for (const std::string& name : names) {
    const Plan alone = plan_only(subject, format, {name}, target);
    RoundedWeights own_weights;
    const TrialResult full = run_trial(subject, alone, reference, own_weights, nullptr, some, false);
    for (const std::string& output : subject.judged) {
      if (!sensitivities.at(name).contains(output)) {
        EXPECT_EQ(full.outputs.at(output).pooled.error_energy, 0) << name << " cannot change " << output;
        continue;
      }
      const OutputStats& sensitivity = sensitivities.at(name).at(output);
      EXPECT_EQ(sensitivity.pooled, full.outputs.at(output).pooled)
          << format_name(format) << " " << name << " -> " << output << ", " << segments << " segments";
      EXPECT_EQ(sensitivity.worst_sample, full.outputs.at(output).worst_sample);
    }
  }

  const auto switched = SwitchedRuns::of(subject, {plan}, weights, reference.shapes, /*part_bytes=*/64);
  if (switched == nullptr) return;
  const auto in_one_session = by_layer(measure_sensitivities(subject, plan, names, reference.outputs, reference.shapes,
                                                             weights, {some, segments}, switched.get()));
  ASSERT_EQ(in_one_session.size(), names.size());
  for (const std::string& name : names) {
    ASSERT_EQ(in_one_session.at(name).size(), sensitivities.at(name).size()) << name;
    for (const auto& [output, stats] : in_one_session.at(name)) {
      // A Gemm whose weight is an input adds up in another order.
      EXPECT_NEAR(log_noise(stats.pooled), log_noise(sensitivities.at(name).at(output).pooled), 5e-3)
          << format_name(format) << " " << name << " -> " << output << ", " << segments << " segments, switched";
    }
  }
}

TEST(Sensitivities, EqualFullRunsBitForBitWithoutOptimizations) {
  const Samples samples = bell_samples("x", kConvNetInput, 4, 1.4F);
  for (const std::size_t segments : {std::size_t{1}, std::size_t{3}, std::size_t{8}}) {
    for (const Format format : {Format::Int8, Format::Float16}) {
      expect_equal_to_full_runs(subject_of(model_of(kConvNet, conv_net_weights()), samples), format, segments);
      expect_equal_to_full_runs(subject_of(forked_net(), samples), format, segments);
    }
  }
}

TEST(Sensitivities, OfLayersOnIntegerKernelsEqualFullRunsWhereverTheNetworkIsCut) {
  const Samples samples = bell_samples("x", kConvNetInput, 4, 1.4F);
  for (const std::size_t segments : {std::size_t{1}, std::size_t{3}, std::size_t{9}}) {
    expect_equal_to_full_runs(subject_of(model_of(kConvNet, conv_net_weights()), samples), Format::Int8, segments,
                              Target::OnnxRuntime);
    expect_equal_to_full_runs(subject_of(forked_net(), samples), Format::Int8, segments, Target::OnnxRuntime);
  }
}

TEST(Sensitivities, PassThroughBodiesBitForBit) {
  const Samples samples = bell_samples("x", {4, 20}, 4);
  expect_equal_to_full_runs(subject_of(if_net(), samples), Format::Float16, 3);
}

TEST(Sensitivities, StayWithinAFewHundredthsOfADecibelWithOptimizations) {
  const Samples samples = bell_samples("x", kConvNetInput, 4);
  Subject subject = subject_of(model_of(kConvNet, conv_net_weights()), samples);
  subject.optimize = true;
  const Plan plan = plan_all(subject, Format::Int8);
  const Reference reference = run_reference(subject, tensors_to_observe(subject));
  RoundedWeights weights;
  const std::vector<std::string> names = low_layers(subject, plan);
  const auto sensitivities = by_layer(measure_sensitivities(subject, plan, names, reference.outputs, reference.shapes,
                                                            weights, {all_samples(subject), 3}));
  for (const std::string& name : names) {
    const TrialResult full = run_trial(subject, plan_only(subject, Format::Int8, {name}), reference, weights, nullptr,
                                       all_samples(subject), false);
    // A fused kernel moves the last bit of float32, which a rounding step of int8 magnifies now and then.
    EXPECT_NEAR(sqnr_db(sensitivities.at(name).at("y").pooled), sqnr_db(full.outputs.at("y").pooled), 0.05) << name;
  }
}

void expect_same(const Sensitivities& some, const Sensitivities& others) {
  ASSERT_EQ(some.layers.size(), others.layers.size());
  EXPECT_EQ(some.mean_suffix_share, others.mean_suffix_share);
  for (std::size_t i = 0; i < some.layers.size(); ++i) {
    EXPECT_EQ(some.layers[i].layer, others.layers[i].layer);
    ASSERT_EQ(some.layers[i].outputs.size(), others.layers[i].outputs.size());
    for (const auto& [output, stats] : some.layers[i].outputs) {
      const OutputStats& other = others.layers[i].outputs.at(output);
      EXPECT_EQ(stats.pooled, other.pooled);
      EXPECT_EQ(stats.worst_sample, other.worst_sample);
      ASSERT_EQ(stats.each.size(), other.each.size());
      for (std::size_t s = 0; s < stats.each.size(); ++s) {
        EXPECT_EQ(stats.each[s].error_energy, other.each[s].error_energy);
        EXPECT_EQ(stats.each[s].sample, other.each[s].sample);
      }
    }
  }
}

TEST(Sensitivities, DoNotDependOnThreadsAndRanks) {
  const Samples samples = bell_samples("x", kConvNetInput, 5, 1.2F);
  Subject subject = subject_of(forked_net(), samples);
  const Plan plan = plan_all(subject, Format::Int8);
  const Reference reference = run_reference(subject, tensors_to_observe(subject));
  const auto measured = [&](const Subject& by) {
    RoundedWeights weights;
    std::size_t told = 0;
    const Sensitivities found = measure_sensitivities(
        by, plan, low_layers(by, plan), reference.outputs, reference.shapes, weights,
        {{4, 0, 3, 1, 2}, 4, [&](const std::vector<LayerSensitivity>& layers) { told += layers.size(); }});
    EXPECT_EQ(told, found.layers.size());
    return found;
  };
  const Sensitivities one = measured(subject);
  subject.threads = 4;
  expect_same(one, measured(subject));
  for (const std::size_t ranks : {std::size_t{2}, std::size_t{3}, std::size_t{16}}) {
    on_ranks(ranks, [&](Ranks& mine) {
      Subject of_rank = subject;
      of_rank.threads = ranks == 2 ? 2 : 1;
      of_rank.ranks = &mine;
      expect_same(one, measured(of_rank));
    });
  }
}

TEST(Sensitivities, OfALayerBehindAnOutputLeaveThatOutputAlone) {
  const Samples samples = bell_samples("x", kConvNetInput, 2);
  const Subject subject = subject_of(forked_net(), samples);
  const Plan plan = plan_all(subject, Format::Int8);
  const Reference reference = run_reference(subject, tensors_to_observe(subject));
  RoundedWeights weights;
  const auto sensitivities = by_layer(measure_sensitivities(subject, plan, {"stem", "side", "main"}, reference.outputs,
                                                            reference.shapes, weights, {{0, 1}, 4}));
  EXPECT_FALSE(sensitivities.at("main").contains("early"));
  EXPECT_GT(sensitivities.at("main").at("y").pooled.error_energy, 0);
  EXPECT_FALSE(sensitivities.at("side").contains("y"));
  EXPECT_GT(sensitivities.at("side").at("early").pooled.error_energy, 0);
  EXPECT_GT(sensitivities.at("stem").at("y").pooled.error_energy, 0);
}

TEST(Sensitivities, CostLessThanFullRuns) {
  const Samples samples = bell_samples("x", kConvNetInput, 2);
  const Subject subject = subject_of(model_of(kConvNet, conv_net_weights()), samples);
  const Plan plan = plan_all(subject, Format::Int8);
  const Reference reference = run_reference(subject, tensors_to_observe(subject));
  RoundedWeights weights;
  const Sensitivities sensitivities = measure_sensitivities(subject, plan, low_layers(subject, plan), reference.outputs,
                                                            reference.shapes, weights, {{0}, 9});
  // Nine nodes, a segment each: suffixes of conv1, conv2, conv3 and gemm run 9, 7, 5 and 1 of them.
  EXPECT_DOUBLE_EQ(sensitivities.mean_suffix_share, (9 + 7 + 5 + 1) / 4.0 / 9);
}

TEST(Sensitivities, OfSeparateHeadsShareARun) {
  const Samples samples = bell_samples("x", {1, 8}, 2);
  const Subject subject =
      subject_of(model_of("g (float[1,8] x) => (float[1,8] p, float[1,8] q, float[1,8] r) {"
                          " [a] p = MatMul(x, v) [b] q = MatMul(x, w) [c] t = MatMul(x, u) [d] r = MatMul(t, w) }",
                          {{"u", bell({8, 8}, 1)}, {"v", bell({8, 8}, 2)}, {"w", bell({8, 8}, 3)}}),
                 samples);
  expect_equal_to_full_runs(subject_of(subject.model, bell_samples("x", {1, 8}, 3)), Format::Int8, 1);
  const Plan plan = plan_all(subject, Format::Int8);
  const Reference reference = run_reference(subject, tensors_to_observe(subject));
  RoundedWeights weights;
  const Sensitivities measured = measure_sensitivities(subject, plan, {"a", "b", "c", "d"}, reference.outputs,
                                                       reference.shapes, weights, {{0, 1}, 1});
  EXPECT_EQ(measured.layers.size(), 4U);
  EXPECT_DOUBLE_EQ(measured.mean_suffix_share, 2.0 / 4) << "one run of a, b and c, one of d";
}

TEST(ReachedOutputs, AreThoseThatLieBehind) {
  const Model model = model_of(
      "g (float[2] x, bool c) => (float[2] p, float[2] q) { s = Neg(x) p = Abs(s) t = Neg(x)"
      " q = If(c) <then_branch = yes () => (float[2] a) { a = Neg(t) },"
      " else_branch = no () => (float[2] b) { b = Abs(x) }> }");
  const ReachedOutputs reached(model.proto.graph(), {"p", "q"});
  const auto from = [&](const std::string& tensor) {
    return std::pair(reached.from(tensor).contains(0), reached.from(tensor).contains(1));
  };
  EXPECT_EQ(from("x"), std::pair(true, true));
  EXPECT_EQ(from("s"), std::pair(true, false));
  EXPECT_EQ(from("t"), std::pair(false, true));
  EXPECT_EQ(from("p"), std::pair(true, false));
  EXPECT_EQ(from("nothing"), std::pair(false, false));
  const std::vector<OutputSet> sets{reached.from("s"), reached.from("x"), reached.from("t"), reached.from("p")};
  EXPECT_EQ(groups_that_never_meet(sets, 2), (std::vector<std::vector<std::size_t>>{{0, 2}, {1}, {3}}));
}

Model with_thin_waist() {
  return model_of(R"(
    g (float[8] x) => (float[8] y) {
      wide1 = Neg(x)
      wide2 = Abs(wide1)
      thin = ReduceMax <axes = [0]> (wide2)
      wide3 = Add(thin, thin)
      wide4 = Neg(wide3)
      y = Abs(wide4)
    })");
}

TEST(SegmentStarts, CutWhereFewBytesAreAlive) {
  const Model model = with_thin_waist();
  const std::map<std::string, std::size_t> bytes{{"x", 3200},     {"wide1", 3200}, {"wide2", 3200}, {"thin", 4},
                                                 {"wide3", 3200}, {"wide4", 3200}, {"y", 3200}};
  EXPECT_EQ(segment_starts(model.proto.graph(), bytes, 2), (std::vector<int>{0, 3}));
  EXPECT_EQ(segment_starts(model.proto.graph(), bytes, 1), std::vector<int>{0});
  const std::vector<int> many = segment_starts(model.proto.graph(), bytes, 100);
  EXPECT_EQ(many, (std::vector<int>{0, 1, 2, 3, 4, 5})) << "never more than nodes";
}

TEST(SegmentStarts, SpareMostWorkForWhatIsKept) {
  const Model model = with_thin_waist();
  const std::map<std::string, std::size_t> bytes{{"x", 32000},     {"wide1", 32000}, {"wide2", 32000}, {"thin", 4},
                                                 {"wide3", 32000}, {"wide4", 32000}, {"y", 32000}};
  const std::vector<int> all{0, 1, 2, 3, 4, 5};
  const auto starts = [&](const std::vector<int>& places, std::size_t most, std::size_t most_bytes) {
    return sparing_starts(model.proto.graph(), bytes, places, most, most_bytes);
  };
  EXPECT_EQ(starts(all, 2, 1000), (std::vector<int>{0, 3}));
  EXPECT_EQ(starts(all, 9, 1000), (std::vector<int>{0, 3})) << "all others keep too much";
  EXPECT_EQ(starts(all, 9, 1'000'000), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(starts({0, 1, 2}, 9, 1000), std::vector<int>{0}) << "no run begins behind it";
  EXPECT_EQ(starts(all, 1, 1000), std::vector<int>{0});
}

TEST(SegmentStarts, WorkIsThatOfProductsToo) {
  const Model model = model_of(R"(
    g (float[1, 256] x, float[256, 4096] w, float[4096, 4096] v) => (float[1, 4096] y) {
      small = MatMul(x, w)
      large = MatMul(small, v)
      y = Relu(large)
    })");
  const TensorBytes bytes{{"x", 1024}, {"small", 16384}, {"large", 16384}, {"y", 16384}};
  const std::vector<double> work = work_from(model.proto.graph(), bytes);
  ASSERT_EQ(work.size(), 3U);
  EXPECT_EQ(work[0], 1);
  EXPECT_GT(work[1], 0.9) << "the second product has sixteen times the terms";
  EXPECT_LT(work[2], 0.05);
}

}  // namespace
}  // namespace vernier::testing
