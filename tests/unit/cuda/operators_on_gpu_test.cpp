// Each operator on a GPU against the CPU: equal bits of what it passes on, equal figures of what it sees. Skipped where
// there is no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engines/cuda/gpu.h"
#include "engines/onnxruntime/operators.h"
#include "engines/onnxruntime/recorder.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "numerics/tensor_grid.h"
#include "plan/round_node.h"
#include "tiny_networks.h"
#include "vernier/device.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

constexpr std::int64_t kChannels = 5;
const Shape kShape{2, kChannels, 71, 83};  // odd, so that blocks and lanes have remainders

/// Every bit pattern is as likely as any other.
Tensor any_floats(std::uint32_t seed) {
  std::mt19937 random(seed);
  Tensor tensor(Dtype::Float32, kShape);
  for (float& value : tensor.mutable_floats()) value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  return tensor;
}

QuantParams params_of(Format format, std::vector<float> scale = {}, int axis = -1,
                      std::vector<std::int32_t> zero = {}) {
  QuantParams params;
  params.format = format;
  params.scale = std::move(scale);
  params.axis = axis;
  params.zero_point = std::move(zero);
  return params;
}

std::vector<QuantParams> all_params() {
  const std::vector<float> one{0.07F}, several{0.07F, 0.5F, 0.01F, 2.0F, 3e-5F};
  std::vector<QuantParams> all;
  for (const Format format : {Format::Float32, Format::Float16, Format::BFloat16}) all.push_back(params_of(format));
  for (const Format format : {Format::Float8E4M3FN, Format::Float8E5M2, Format::Int8, Format::Int4, Format::UInt8}) {
    all.push_back(params_of(format, one));
    all.push_back(params_of(format, several, 1));
  }
  all.push_back(params_of(Format::UInt8, one, -1, {100}));
  all.push_back(params_of(Format::UInt8, several, 1, {0, 255, 100, 3, 128}));
  return all;
}

/// Scales that follow from the values, in blocks along the last dimension, or of the tensor.
QuantParams dynamic_params(Format format, int block = 0, float tensor_scale = 1.0F) {
  QuantParams params = params_of(format, {tensor_scale});
  params.block = block;
  params.dynamic = true;
  return params;
}

std::vector<QuantParams> all_dynamic_params() {
  return {dynamic_params(Format::NvFp4, 16, 0.003F), dynamic_params(Format::MxFp8, 32),
          dynamic_params(Format::MxFp8E5M2, 32), dynamic_params(Format::MxFp4, 32), dynamic_params(Format::UInt8)};
}

/// Of a constant: a scale for each block along `axis`.
QuantParams blocked_params(Format format, int block, int axis) {
  QuantParams params = params_of(format, {}, axis);
  params.block = block;
  params.scale = block_scales(format, absmax_of_scales(params, kShape, bell(kShape, 2, 3.0F).floats()), 1.0F);
  return params;
}

class OperatorsOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const DriverAbout driver = ask_driver();
    if (!driver.missing.empty()) GTEST_SKIP() << driver.missing;
    cpu_ = Runtime::load();
    gpu_ = Runtime::load({}, {DeviceKind::Cuda, 0});
  }

  struct Outcome {
    std::vector<Tensor> outputs;
    std::vector<Recorder> recorders;
  };

  Outcome run(const std::shared_ptr<const Runtime>& runtime, const std::vector<onnx::NodeProto>& nodes,
              const std::vector<std::string>& outputs, const Sample& inputs, std::vector<Recorder> recorders) const {
    Model model = model_of("g (float[a,b,c,d] x, float[a,b,c,d] z) => (float[a,b,c,d] unused) { unused = Add(x, z) }");
    onnx::GraphProto& graph = *model.proto.mutable_graph();
    const onnx::ValueInfoProto pattern = graph.output(0);
    graph.clear_output();
    graph.clear_node();
    for (const onnx::NodeProto& node : nodes) *graph.add_node() = node;
    for (const std::string& name : outputs) {
      *graph.add_output() = pattern;
      graph.mutable_output(graph.output_size() - 1)->set_name(name);
    }
    const Session session(runtime, model, {.optimize = false});
    Outcome outcome{session.run(inputs, recorders), {}};
    outcome.recorders = std::move(recorders);
    return outcome;
  }

  /// Both devices agree on everything.
  void expect_same(const std::vector<onnx::NodeProto>& nodes, const std::vector<std::string>& outputs,
                   const Sample& inputs, const std::vector<Recorder>& recorders, const std::string& what) const {
    const Outcome expected = run(cpu_, nodes, outputs, inputs, recorders);
    const Outcome got = run(gpu_, nodes, outputs, inputs, recorders);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_TRUE(same_bits(got.outputs[i], expected.outputs[i])) << what << ", output " << outputs[i];
    }
    for (std::size_t i = 0; i < recorders.size(); ++i) {
      EXPECT_EQ(got.recorders[i].errors, expected.recorders[i].errors) << what << ", sample " << i;
      EXPECT_EQ(got.recorders[i].ranges, expected.recorders[i].ranges) << what << ", sample " << i;
      EXPECT_EQ(got.recorders[i].events, expected.recorders[i].events) << what << ", sample " << i;
      EXPECT_EQ(got.recorders[i].shapes, expected.recorders[i].shapes) << what << ", sample " << i;
    }
  }

  std::shared_ptr<const Runtime> cpu_, gpu_;
};

TEST_F(OperatorsOnGpu, RoundGivesTheBitsAndEventsOfTheCpu) {
  for (const QuantParams& params : all_params()) {
    const std::string name(format_name(params.format));
    for (const Tensor& values : {any_floats(1), bell(kShape, 2, 3.0F), bell(kShape, 3, 1e-6F)}) {
      for (const std::size_t samples : {1U, 2U}) {
        expect_same({round_node("x", "y", params, 1)}, {"y"}, {{"x", values}, {"z", values}},
                    std::vector<Recorder>(samples, Recorder(0, 0, 2)), name);
      }
      expect_same({round_node("x", "y", params)}, {"y"}, {{"x", values}, {"z", values}}, {}, name + " uncounted");
    }
  }
}

TEST_F(OperatorsOnGpu, RoundFindsTheScalesOfTheCpu) {
  for (const QuantParams& params : all_dynamic_params()) {
    const std::string name(format_name(params.format));
    for (const Tensor& values :
         {any_floats(1), bell(kShape, 2, 3.0F), bell(kShape, 3, 1e-6F), Tensor(Dtype::Float32, kShape)}) {
      for (const std::size_t samples : {1U, 2U, 71U}) {
        expect_same({round_node("x", "y", params, 1)}, {"y"}, {{"x", values}, {"z", values}},
                    std::vector<Recorder>(samples, Recorder(0, 0, 2)), name + " dynamic");
      }
      expect_same({round_node("x", "y", params)}, {"y"}, {{"x", values}, {"z", values}}, {}, name + " uncounted");
      const std::vector<std::vector<QuantParams>> roundings{{params}};
      std::vector<Recorder> switching(2);
      for (Recorder& each : switching) each.roundings = &roundings;
      expect_same({switch_node("x", "y", 0)}, {"y"}, {{"x", values}, {"z", values}}, switching, name + " switched");
    }
  }
}

TEST_F(OperatorsOnGpu, RoundReadsTheScalesOfBlocks) {
  const Tensor values = bell(kShape, 2, 3.0F);
  for (const Format format : {Format::NvFp4, Format::MxFp8, Format::MxFp8E5M2, Format::MxFp4}) {
    for (const int axis : {1, 2, 3}) {
      for (const int block : {16, 32}) {
        expect_same({round_node("x", "y", blocked_params(format, block, axis))}, {"y"}, {{"x", values}, {"z", values}},
                    {}, std::string(format_name(format)) + " weights");
      }
    }
  }
}

TEST_F(OperatorsOnGpu, CompareGivesTheSumsOfTheCpu) {
  const Tensor x = bell(kShape, 4), z = bell(kShape, 5, 2.0F);
  for (const std::size_t samples : {1U, 2U}) {
    const std::vector<Recorder> recorders(samples, Recorder(1, 0, 1));
    for (const Sample& inputs : {Sample{{"x", x}, {"z", z}}, Sample{{"x", any_floats(6)}, {"z", any_floats(7)}}}) {
      expect_same({compare_node("x", "z", "a", "b", 0)}, {"a", "b"}, inputs, recorders, "compare");
      expect_same({compare_rounded_node("x", round_node("z", "r", params_of(Format::Float16), 0), "a", 0)}, {"a"},
                  inputs, recorders, "compare rounded");
    }
  }
}

TEST_F(OperatorsOnGpu, ObserveSeesTheRangesOfTheCpu) {
  for (const Tensor& values : {any_floats(8), bell(kShape, 9), Tensor(Dtype::Float32, kShape)}) {
    expect_same({observe_node("x", "y", 0)}, {"y"}, {{"x", values}, {"z", values}},
                std::vector<Recorder>(2, Recorder(0, 1, 0)), "observe");
  }
}

TEST_F(OperatorsOnGpu, Tf32AndAccumulateGiveTheBitsOfTheCpu) {
  for (const Tensor& values : {any_floats(10), bell(kShape, 11, 40.0F)}) {
    expect_same({tf32_node("x", "y")}, {"y"}, {{"x", values}, {"z", values}}, {}, "tf32");
  }
  const Tensor values = bell(kShape, 12, 40.0F);
  for (const std::size_t samples : {0U, 2U}) {
    expect_same({accumulate_node("x", "", "y", Format::Float16, 9, 77)}, {"y"}, {{"x", values}, {"z", values}},
                std::vector<Recorder>(samples), "accumulate");
  }
}

TEST_F(OperatorsOnGpu, SwitchRoundsAsTheRunSays) {
  const Tensor values = bell(kShape, 13, 3.0F);
  for (const std::vector<QuantParams>& chain :
       {std::vector<QuantParams>{},
        {params_of(Format::Int8, {0.1F})},
        {params_of(Format::UInt8, {0.1F, 0.2F, 0.3F, 0.4F, 0.5F}, 1, {1, 2, 3, 4, 5}), params_of(Format::Float16)}}) {
    const std::vector<std::vector<QuantParams>> roundings{chain};
    Recorder recorder;
    recorder.roundings = &roundings;
    onnx::NodeProto behind = switch_node("y", "w", 0);
    behind.add_input("z");
    expect_same({switch_node("x", "y", 0), behind}, {"y", "w"}, {{"x", values}, {"z", values}}, {recorder}, "switch");
  }
}

TEST_F(OperatorsOnGpu, InjectReplacesATensor) {
  Recorder recorder;
  recorder.injections[0] = bell(kShape, 14);
  const Tensor values = bell(kShape, 15);
  expect_same({inject_node("x", "y", 0)}, {"y"}, {{"x", values}, {"z", values}}, {recorder}, "inject");
  expect_same({inject_node("x", "y", 1)}, {"y"}, {{"x", values}, {"z", values}}, {recorder}, "inject elsewhere");
}

TEST_F(OperatorsOnGpu, ManyRecordsOfOneRun) {
  std::vector<onnx::NodeProto> nodes;
  constexpr int kNodes = 5000;  // more than one room holds
  for (int i = 0; i < kNodes; ++i) {
    const std::string from = i == 0 ? "x" : "t" + std::to_string(i);
    nodes.push_back(observe_node(from, "t" + std::to_string(i + 1), i));
  }
  const Tensor values = bell({1, 2, 3, 4}, 16);
  for (int turn = 0; turn < 2; ++turn) {
    expect_same(nodes, {"t" + std::to_string(kNodes)}, {{"x", values}, {"z", values}}, {Recorder(0, kNodes, 0)},
                "many records");
  }
}

TEST_F(OperatorsOnGpu, FindsSamplesThatLieAlongAnotherDimension) {
  constexpr std::size_t kSamples = 71;  // the third dimension
  const QuantParams params = params_of(Format::UInt8, {0.07F, 0.5F, 0.01F, 2.0F, 3e-5F}, 1, {0, 255, 100, 3, 128});
  const std::vector<onnx::NodeProto> nodes{round_node("x", "r", params, 0), compare_node("r", "z", "c", "d", 0),
                                           observe_node("c", "o", 0),
                                           accumulate_node("o", "", "s", Format::Float16, 9, 77)};
  expect_same(nodes, {"r", "s"}, {{"x", bell(kShape, 5)}, {"z", bell(kShape, 6)}},
              std::vector<Recorder>(kSamples, Recorder(1, 1, 1)), "along the third dimension");
}

TEST_F(OperatorsOnGpu, TakesEmptyTensors) {
  const Tensor empty(Dtype::Float32, {2, 0, 3, 1});
  expect_same({observe_node("x", "o", 0), round_node("o", "y", params_of(Format::Float16), 0)}, {"y"},
              {{"x", empty}, {"z", empty}}, {Recorder(0, 1, 1)}, "empty");
}

TEST_F(OperatorsOnGpu, RefusesWhatItCannotSimulate) {
  const Tensor values = bell(kShape, 17);
  EXPECT_THROW(run(gpu_, {pair_sums_node("x", "z", "y")}, {"y"}, {{"x", values}, {"z", values}}, {}), Error);
}

}  // namespace
}  // namespace vernier::testing
