#include "analysis/switched_runs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "analysis/trials.h"
#include "plan/one_copy.h"
#include "plan/scheme.h"
#include "tiny_networks.h"
#include "vernier/format.h"
#include "vernier/target.h"

namespace vernier::testing {
namespace {

struct SwitchedNet {
  const char* name;
  const char* text;
  NamedTensors weights;
  Shape input;
  /// The runtime packs the weight of a Gemm ahead where it is a constant, and adds up in another order then.
  bool packs = false;
};

std::vector<SwitchedNet> switched_nets() {
  return {
      {"convolutions", kConvNet, conv_net_weights(), kConvNetInput, /*packs=*/true},
      {"a tensor that several read, a grouped and a transposed convolution",
       R"(net (float[1,3,8,8] x) => (float[1,8,8,8] early, float[1,8,16,16] y) {
            [stem] a = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (x, w1, b1)
            [relu] r = Relu (a)
            [side] early = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (r, w2, b2)
            [deep] c = Conv <kernel_shape = [3,3], pads = [1,1,1,1], group = 8> (r, wd)
            [skip] s = Add (c, r)
            [both] m = Mul (s, s)
            [up] y = ConvTranspose <kernel_shape = [2,2], strides = [2,2]> (m, wt)
          })",
       [] {
         NamedTensors weights = conv_net_weights();
         weights.emplace_back("wd", bell({8, 1, 3, 3}, 21, 0.3F));
         weights.emplace_back("wt", bell({8, 8, 2, 2}, 22, 0.3F));
         return weights;
       }(),
       {1, 3, 8, 8}},
      {"products that share a weight, a softmax, followers with constants",
       R"(net (float[1,6,8] x) => (float[1,12,8] y) {
            [q] a = MatMul (x, w)
            [k] b = MatMul (x, w)
            [t] bt = Transpose <perm = [0,2,1]> (b)
            [qk] s = MatMul (a, bt)
            [soft] p = Softmax (s)
            [pv] o = MatMul (p, x)
            [bias] z = Add (o, c)
            [cat] y = Concat <axis = 1> (z, d)
          })",
       {{"w", bell({8, 8}, 31, 0.4F)}, {"c", bell({8}, 32)}, {"d", bell({1, 6, 8}, 33)}},
       {1, 6, 8}},
      {"products of many terms, whose weights alone may be low",
       R"(net (float[1,4,64] x) => (float[1,4,64] y) {
            [first] a = MatMul (x, w1)
            [relu] r = Relu (a)
            [second] b = MatMul (r, w2)
            [third] y = MatMul (b, w3)
          })",
       {{"w1", bell({64, 64}, 41, 0.2F)}, {"w2", bell({64, 64}, 42, 0.2F)}, {"w3", bell({64, 64}, 43, 0.2F)}},
       {1, 4, 64},
       /*packs=*/true},
  };
}

struct Ends {
  Format low;
  Format high;
  Target target;
};

std::vector<Ends> ends_tried() {
  return {
      {Format::Int8, Format::Float32, Target::TensorRt},     {Format::Int8, Format::Float32, Target::OnnxRuntime},
      {Format::Int8, Format::Float16, Target::TensorRt},     {Format::Float16, Format::Float32, Target::TensorRt},
      {Format::BFloat16, Format::Float32, Target::TensorRt}, {Format::Float8E4M3FN, Format::Float16, Target::TensorRt},
      {Format::Int4, Format::Float32, Target::TensorRt}};
}

std::vector<std::vector<Tensor>> all_outputs(const std::function<void(const VisitOutputs&)>& run) {
  std::vector<std::vector<Tensor>> all;
  run([&](std::size_t, const std::vector<Tensor>& got) {
    all.push_back(got);
    return true;
  });
  return all;
}

/// Largest difference over the largest value.
double largest_difference(const std::vector<std::vector<Tensor>>& a, const std::vector<std::vector<Tensor>>& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  double largest = 0;
  for (std::size_t s = 0; s < a.size(); ++s) {
    for (std::size_t o = 0; o < a[s].size(); ++o) {
      for (std::size_t i = 0; i < a[s][o].floats().size(); ++i) {
        largest = std::max(largest, std::abs(static_cast<double>(a[s][o].floats()[i])));
        most = std::max(most, std::abs(static_cast<double>(a[s][o].floats()[i]) - b[s][o].floats()[i]));
      }
    }
  }
  return most / largest;
}

/// Every plan between the ends, or some of them, in the one session and in a session of its own. False: no layer can be
/// low.
bool expect_same_as_own_sessions(const SwitchedNet& net, const Ends& how, bool optimize, double tolerance,
                                 std::size_t most_kept = kOneCopyAbove) {
  const Samples samples = bell_samples("x", net.input, 3);
  Subject subject = subject_of(model_of(net.text, net.weights), samples);
  subject.optimize = optimize;
  Plan low = plan_all(subject, how.low, how.target);
  low.high = how.high;
  const auto with_high = [&](std::uint64_t kept) {
    Plan plan = low;
    for (std::size_t i = 0; i < plan.layers.size(); ++i) {
      if ((kept >> i & 1U) != 0 && plan.layers[i].format != Format::Float32) plan.layers[i].format = how.high;
    }
    return plan;
  };
  const auto is_low = [](const PlannedLayer& layer) { return layer.format != Format::Float32; };
  if (std::ranges::none_of(low.layers, is_low)) return false;
  const Reference reference = run_reference(subject, tensors_to_observe(subject));
  RoundedWeights weights(/*exact=*/false, most_kept);
  const auto switched =
      SwitchedRuns::of(subject, {low, with_high(~std::uint64_t{0})}, weights, reference.shapes, /*part_bytes=*/64);
  if (switched == nullptr) {
    ADD_FAILURE() << net.name << ": no session serves all plans";
    return true;
  }
  EXPECT_GT(switched->session().parts(), 2U) << "runs begin where others stood";
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 24; ++trial) {
    const Plan plan = with_high(trial == 0 ? 0 : trial == 1 ? ~std::uint64_t{0} : random());
    bool served = false;
    const auto once = all_outputs([&](const VisitOutputs& visit) {
      served = switched->run(subject, plan, weights, all_samples(subject), visit);
    });
    EXPECT_TRUE(served) << net.name;
    const auto own = all_outputs([&](const VisitOutputs& visit) {
      run_outputs(subject, lower_simulated(subject.model, subject.layers, plan, weights), all_samples(subject), visit);
    });
    EXPECT_LE(largest_difference(own, once), tolerance) << net.name << ", trial " << trial;
  }
  return true;
}

TEST(SwitchedRuns, GiveWhatSessionsOfTheirOwnGive) {
  for (const Ends& how : ends_tried()) {
    SCOPED_TRACE(std::string(format_name(how.low)) + " under " + std::string(format_name(how.high)));
    bool any = false;
    for (const SwitchedNet& net : switched_nets()) {
      any = expect_same_as_own_sessions(net, how, /*optimize=*/false, net.packs ? 1e-6 : 0) || any;
      expect_same_as_own_sessions(net, how, /*optimize=*/true, 1e-5);
    }
    EXPECT_TRUE(any);
  }
}

/// As of large networks, no rounded weights are kept.
TEST(SwitchedRuns, RoundWeightsInEachRun) {
  for (const Ends& how : ends_tried()) {
    SCOPED_TRACE(std::string(format_name(how.low)) + " under " + std::string(format_name(how.high)));
    for (const SwitchedNet& net : switched_nets()) {
      expect_same_as_own_sessions(net, how, /*optimize=*/false, net.packs ? 1e-6 : 0, /*most_kept=*/0);
    }
  }
}

/// Of a large network, a repaired weight is another constant, and each run rounds it like the others.
TEST(SwitchedRuns, RoundRepairedWeightsInEachRun) {
  const Samples samples = bell_samples("x", kConvNetInput, 2);
  Subject subject = subject_of(model_of(kConvNet, conv_net_weights()), samples);
  subject.optimize = false;
  Plan low = plan_all(subject, Format::Int8);
  for (const PlannedLayer& layer : low.layers) {
    const auto node = std::ranges::find(subject.model.proto.graph().node(), layer.name, &onnx::NodeProto::name);
    if (layer.format != Format::Int8 || node->op_type() != "Conv") continue;
    const Tensor weight = initializer(subject.model, node->input(1)).value();
    std::vector<float> values(weight.floats().begin(), weight.floats().end());
    std::ranges::reverse(values);
    low.constants[node->input(1)] = {layer.name, Tensor::of(weight.shape(), values)};
  }
  ASSERT_GE(low.constants.size(), 2U);
  const auto with_low = [&](const std::string& only) {
    Plan plan = low;
    for (PlannedLayer& layer : plan.layers) {
      if (!only.empty() && layer.name != only) layer.format = Format::Float32;
    }
    return plan;
  };
  RoundedWeights weights(/*exact=*/false, /*most_kept=*/0);
  const Reference reference = run_reference(subject, tensors_to_observe(subject));
  const auto switched = SwitchedRuns::of(subject, {low, with_low("none")}, weights, reference.shapes);
  ASSERT_NE(switched, nullptr);
  std::vector<std::string> only{"", "none"};
  for (const auto& [name, constant] : low.constants) only.push_back(constant.layer);
  for (const std::string& layer : only) {
    SCOPED_TRACE(layer);
    const Plan plan = with_low(layer);
    bool served = false;
    const auto once = all_outputs([&](const VisitOutputs& visit) {
      served = switched->run(subject, plan, weights, all_samples(subject), visit);
    });
    EXPECT_TRUE(served);
    const auto own = all_outputs([&](const VisitOutputs& visit) {
      run_outputs(subject, lower_simulated(subject.model, subject.layers, plan, weights), all_samples(subject), visit);
    });
    EXPECT_LE(largest_difference(own, once), 1e-6);
  }
}

TEST(SwitchedRuns, ServeNetworksOfLargeWeights) {
  const Model model = model_of("g (float[1,4500] x) => (float[1,4096] y) { [a] y = MatMul (x, w) }",
                               {{"w", Tensor(Dtype::Float32, {4500, 4096})}}, 21);
  const Samples samples = bell_samples("x", {1, 4500}, 1);
  const Subject subject = subject_of(model, samples);
  ASSERT_FALSE(small_enough_to_optimize(model));
  RoundedWeights weights;
  const auto switched =
      SwitchedRuns::of(subject, {plan_all(subject, Format::Int8), plan_only(subject, Format::Int8, {})}, weights, {});
  ASSERT_NE(switched, nullptr);
  EXPECT_EQ(bytes_beside(switched->model()), bytes_beside(model)) << "one copy of the weights is held";
}

TEST(SwitchedRuns, LeaveAPlanBeyondTheirEndsToASessionOfItsOwn) {
  const Samples samples = bell_samples("x", kConvNetInput, 2);
  const Subject subject = subject_of(model_of(kConvNet, conv_net_weights()), samples);
  RoundedWeights weights;
  const auto switched =
      SwitchedRuns::of(subject, {plan_all(subject, Format::Int8), plan_only(subject, Format::Int8, {})}, weights, {});
  ASSERT_NE(switched, nullptr);
  const auto serves = [&](const Plan& plan) {
    std::size_t visits = 0;
    const bool served = switched->run(subject, plan, weights, all_samples(subject), [&](std::size_t, const auto&) {
      ++visits;
      return true;
    });
    EXPECT_EQ(visits, served ? 2U : 0U);
    return served;
  };
  EXPECT_TRUE(serves(plan_only(subject, Format::Int8, {"conv2"})));
  EXPECT_FALSE(serves(plan_all(subject, Format::BFloat16)));
}

TEST(SwitchedRuns, NoticeWhenTheyGiveSomethingElse) {
  const Samples samples = bell_samples("x", kConvNetInput, 2);
  const Subject subject = subject_of(model_of(kConvNet, conv_net_weights()), samples);
  for (const Format format : {Format::Int8, Format::Float16}) {
    RoundedWeights weights;
    const Plan low = plan_all(subject, format);
    const Plan high = plan_only(subject, format, {});
    const auto switched = SwitchedRuns::of(subject, {low, high}, weights, {});
    ASSERT_NE(switched, nullptr);
    EXPECT_TRUE(switched->gives_plain_results(subject, low, high, weights));
    NamedTensors other = conv_net_weights();
    for (float& weight : other.front().second.mutable_floats()) weight *= 1.1F;
    const Subject wrong = subject_of(model_of(kConvNet, other), samples);
    RoundedWeights weights_of_wrong;
    EXPECT_FALSE(switched->gives_plain_results(wrong, low, high, weights_of_wrong));
  }
}

TEST(SwitchedRuns, AreNotMadeOfLayersInsideBodies) {
  const Samples samples = bell_samples("x", {4, 20}, 2);
  const Subject subject = subject_of(if_net(), samples);
  RoundedWeights weights;
  EXPECT_EQ(SwitchedRuns::of(subject, {plan_all(subject, Format::Float16)}, weights, {}), nullptr);
}

}  // namespace
}  // namespace vernier::testing
