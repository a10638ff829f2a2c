// Cutting and joining graphs leaves every bit as it was, with optimizations off.
#include "analysis/surgery.h"

#include <cstddef>
#include <cstdint>

#include "analysis/segment_starts.h"
#include "analysis/sensitivity.h"
#include "engines/onnxruntime/operators.h"
#include "plan/lower_simulated.h"
#include "tiny_networks.h"
#include "vernier/format.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

struct Case {
  std::string name;
  Model model;
  Samples samples;
  std::vector<Carry> carries;
};

Samples steps() {
  std::vector<Sample> samples;
  for (std::uint32_t i = 0; i < 5; ++i) {
    samples.push_back({{"x", bell({1, 4}, 30 + i)}, {"h", Tensor(Dtype::Float32, {1, 6})}});
  }
  return Samples(std::move(samples));
}

std::vector<Case> cases() {
  std::vector<Case> all;
  all.push_back({"convolutions", model_of(kConvNet, conv_net_weights()), bell_samples("x", kConvNetInput, 4), {}});
  all.push_back({"bodies", if_net(), bell_samples("x", {4, 20}, 6), {}});
  all.push_back({"state", model_of(kRecurrentNet, recurrent_net_weights()), steps(), {{"h2", "h"}}});
  return all;
}

/// Outputs of all samples.
std::vector<std::vector<Tensor>> outputs_of(const Subject& subject, const Model& model, Recorder* total = nullptr) {
  std::vector<std::vector<Tensor>> outputs;
  const Session session = subject.session(model);
  run_samples(subject, session, all_samples(subject), total == nullptr ? Recorder{} : *total, "test",
              [&](SampleResult result) {
                outputs.push_back(result.outputs);
                return true;
              });
  return outputs;
}

std::set<std::string> main_outputs(const Model& model) {
  std::set<std::string> names;
  for (const onnx::NodeProto& node : model.proto.graph().node())
    names.insert(node.output().begin(), node.output().end());
  return names;
}

TEST(Tap, ChangesNoBitOfTheOutputs) {
  for (const Case& one : cases()) {
    const Subject subject = subject_of(one.model, one.samples, one.carries);
    const auto plain = outputs_of(subject, subject.model);
    Model tapped = subject.model;
    std::set<std::string> floats;
    for (const auto& [name, type] : infer_types(tapped)) {
      if (type.dtype == Dtype::Float32 && main_outputs(tapped).contains(name)) floats.insert(name);
    }
    ASSERT_GT(floats.size(), 3U);
    tap(*tapped.proto.mutable_graph(), floats,
        [](const std::string& raw, const std::string& tensor) { return observe_node(raw, tensor, 0); });
    const auto got = outputs_of(subject, tapped);
    for (std::size_t s = 0; s < plain.size(); ++s) {
      for (std::size_t o = 0; o < plain[s].size(); ++o) EXPECT_TRUE(same_bits(got[s][o], plain[s][o])) << one.name;
    }
  }
}

TEST(Tap, PutsOneNodeBehindAnother) {
  const Samples samples = bell_samples("x", kConvNetInput, 2);
  const Subject subject = subject_of(model_of(kConvNet, conv_net_weights()), samples);
  Model tapped = subject.model;
  const std::string tensor = tapped.proto.graph().node(0).output(0);
  for (std::int64_t slot = 0; slot < 3; ++slot) {
    tap(*tapped.proto.mutable_graph(), {tensor},
        [&](const std::string& raw, const std::string& name) { return observe_node(raw, name, slot); });
  }
  Recorder recorder(0, 3, 0);
  Session(subject.runtime, tapped).run(samples.at(0), &recorder);
  EXPECT_GT(recorder.ranges[0].count, 0);
  EXPECT_EQ(recorder.ranges[1], recorder.ranges[0]);
  EXPECT_EQ(recorder.ranges[2], recorder.ranges[0]);
}

TEST(Tap, LeavesGraphInputsAndUnknownTensorsAlone) {
  Model model = model_of(kConvNet, conv_net_weights());
  const std::string before = model.proto.SerializeAsString();
  tap(*model.proto.mutable_graph(), {"x", "w1", "no such tensor"},
      [](const std::string& raw, const std::string& tensor) { return observe_node(raw, tensor, 0); });
  EXPECT_EQ(model.proto.SerializeAsString(), before);
}

TEST(Join, GivesBothHalvesTheBitsOfSeparateRuns) {
  for (const Case& one : cases()) {
    const Subject subject = subject_of(one.model, one.samples, one.carries);
    RoundedWeights weights;
    const Model low = lower_simulated(subject.model, subject.layers, plan_all(subject, Format::Int8), weights);
    std::vector<Match> matches;
    for (const Layer& layer : subject.layers) {
      if (layer.graph.empty()) matches.push_back({layer.outputs.front(), layer.outputs.front()});
    }
    const Model twin = join(subject.model, low, matches, subject.judged, subject.carries);
    const auto ref = outputs_of(subject, subject.model);
    const auto got = outputs_of(subject, low);
    const auto both = outputs_of(subject, twin);
    const std::size_t half = both.front().size() / 2;
    ASSERT_GE(half, subject.judged.size());
    bool differ = false;
    for (std::size_t s = 0; s < both.size(); ++s) {
      for (std::size_t o = 0; o < subject.judged.size(); ++o) {
        EXPECT_TRUE(same_bits(both[s][o], ref[s][o])) << one.name << " sample " << s;
        EXPECT_TRUE(same_bits(both[s][half + o], got[s][o])) << one.name << " sample " << s;
        differ = differ || !same_bits(ref[s][o], got[s][o]);
      }
    }
    EXPECT_TRUE(differ) << one.name << ": the low model should not be the reference";
  }
}

TEST(Join, SharesWeightsThatBothHalvesRead) {
  const Samples samples = bell_samples("x", kConvNetInput, 1);
  const Subject subject = subject_of(model_of(kConvNet, conv_net_weights()), samples);
  RoundedWeights weights;
  const Plan plan = plan_only(subject, Format::Float16, {"conv2"});
  const Model low = lower_simulated(subject.model, subject.layers, plan, weights);
  const Model twin = join(subject.model, low, {}, subject.judged, {});
  std::set<std::string> names;
  for (const onnx::TensorProto& tensor : twin.proto.graph().initializer()) names.insert(tensor.name());
  EXPECT_TRUE(names.contains("w3"));
  EXPECT_FALSE(names.contains("low/w3")) << "the same bytes twice";
  EXPECT_TRUE(names.contains("low/w2/float16"));
  ASSERT_TRUE(twin.weights.contains("w3"));
  EXPECT_EQ(twin.weights.at("w3").bytes().data(), subject.model.weights.at("w3").bytes().data());
}

TEST(Slice, PiecesInARowEqualTheWhole) {
  for (const Case& one : cases()) {
    if (!one.carries.empty()) continue;  // slices are taken of stateless networks
    const Subject subject = subject_of(one.model, one.samples);
    const auto whole = outputs_of(subject, subject.model);
    const onnx::GraphProto& graph = subject.model.proto.graph();
    std::map<std::string, Dtype> types;
    for (const auto& [name, type] : infer_types(subject.model)) types[name] = type.dtype;
    for (int at = 1; at < graph.node_size(); ++at) {
      std::map<std::string, Dtype> border;
      for (const std::string& name : live_at(graph, at)) {
        if (!is_initializer(subject.model, name)) border[name] = types.at(name);
      }
      const std::map<std::string, Dtype> input{{"x", Dtype::Float32}};
      const std::map<std::string, Dtype> output{{"y", Dtype::Float32}};
      std::map<std::string, Dtype> made = border;
      made.erase("x");
      const Session first = subject.session(slice(subject.model, 0, at, input, made));
      const Session second = subject.session(slice(subject.model, at, graph.node_size(), border, output));
      for (std::size_t s = 0; s < whole.size(); ++s) {
        Sample values = one.samples.at(s);
        const std::vector<Tensor> middle = first.run(values);
        for (std::size_t i = 0; i < middle.size(); ++i) values[first.output_names()[i]] = middle[i];
        EXPECT_TRUE(same_bits(second.run(values).front(), whole[s].front())) << one.name << " cut at " << at;
      }
    }
  }
}

TEST(Slice, TakesOnlyWhatItsOutputsNeed) {
  const Model model = model_of(kConvNet, conv_net_weights());
  const Model piece = slice(model, 2, 6, {{"r1", Dtype::Float32}, {"x", Dtype::Float32}}, {{"c2", Dtype::Float32}});
  ASSERT_EQ(piece.proto.graph().node_size(), 1);
  EXPECT_EQ(piece.proto.graph().node(0).name(), "conv2");
  ASSERT_EQ(piece.proto.graph().input_size(), 1);
  EXPECT_EQ(piece.proto.graph().input(0).name(), "r1");
  std::set<std::string> initializers;
  for (const onnx::TensorProto& tensor : piece.proto.graph().initializer()) initializers.insert(tensor.name());
  EXPECT_EQ(initializers, (std::set<std::string>{"w2", "b2"}));
}

TEST(LiveAt, NamesWhatCrossesTheCut) {
  const Model model = model_of(R"(
    g (float[2] x) => (float[2] early, float[2] y) {
      early = Relu(x)
      a = Neg(early)
      b = Abs(x)
      y = Add(a, b)
    })");
  EXPECT_EQ(live_at(model.proto.graph(), 0), (std::set<std::string>{"x"}));
  EXPECT_EQ(live_at(model.proto.graph(), 2), (std::set<std::string>{"a", "early", "x"}));
  EXPECT_EQ(live_at(model.proto.graph(), 3), (std::set<std::string>{"a", "b", "early"}));
}

}  // namespace
}  // namespace vernier::testing
