// Each operator alone in a graph, against the function it stands for.
#include "engines/onnxruntime/operators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "numerics/metrics.h"
#include "numerics/round.h"
#include "numerics/tensor_cores.h"
#include "plan/round_node.h"
#include "tiny_networks.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

/// A graph with two float inputs of any shape, `nodes`, and the outputs named.
Session session_with(const std::vector<onnx::NodeProto>& nodes, const std::vector<std::string>& outputs,
                     bool optimize = false) {
  Model model = model_of("g (float[?,?,?] x, float[?,?,?] z) => (float[?,?,?] unused) { unused = Add(x, z) }");
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  const onnx::ValueInfoProto pattern = graph.output(0);
  graph.clear_output();
  for (const onnx::NodeProto& node : nodes) *graph.add_node() = node;
  for (const std::string& name : outputs) {
    onnx::ValueInfoProto* output = graph.add_output();
    *output = pattern;
    output->set_name(name);
  }
  return {Runtime::load(), model, {.optimize = optimize, .threads = 1, .integer_kernels = false}};
}

onnx::NodeProto node_of(const std::string& op_type, const std::vector<std::string>& inputs, const std::string& output) {
  onnx::NodeProto node;
  node.set_op_type(op_type);
  node.set_name(op_type + "/" + output);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

/// Ordinary values, and the ones that formats treat in their own way.
Tensor telling_values() {
  Tensor values = bell({2, 4, 16}, 5, 3.0F);
  const float edges[] = {0.0F,
                         -0.0F,
                         65504.0F,
                         70000.0F,
                         -1e30F,
                         6e-8F,
                         1e-9F,
                         448.0F,
                         500.0F,
                         57344.0F,
                         0.5F,
                         1.5F,
                         std::numeric_limits<float>::infinity(),
                         std::numeric_limits<float>::quiet_NaN()};
  std::copy(std::begin(edges), std::end(edges), values.mutable_floats().begin());
  return values;
}

struct Grid {
  std::string name;
  QuantParams params;
};

QuantParams grid_of(Format format, std::vector<float> scale = {}, int axis = -1) {
  QuantParams params;
  params.format = format;
  params.scale = std::move(scale);
  params.axis = axis;
  return params;
}

std::vector<Grid> all_grids() {
  const std::vector<float> one{0.07F};
  const std::vector<float> four{0.07F, 0.5F, 0.01F, 2.0F};
  std::vector<Grid> grids;
  for (const Format format : {Format::Float32, Format::Float16, Format::BFloat16}) {
    grids.push_back({std::string(format_name(format)), grid_of(format)});
  }
  for (const Format format : {Format::Float8E4M3FN, Format::Float8E5M2, Format::Int8, Format::Int4}) {
    grids.push_back({std::string(format_name(format)), grid_of(format, one)});
    grids.push_back({std::string(format_name(format)) + "_along_1", grid_of(format, four, 1)});
  }
  grids.push_back({"uint8", grid_of(Format::UInt8, one)});
  grids.back().params.zero_point = {100};
  grids.push_back({"uint8_along_1", grid_of(Format::UInt8, four, 1)});
  grids.back().params.zero_point = {0, 255, 100, 3};
  grids.push_back({"int8_from_minus_127", grid_of(Format::Int8, one)});
  grids.back().params.lowest_code = -127;
  return grids;
}

Tensor rounded(const QuantParams& params, const Tensor& values, RoundEvents* events = nullptr) {
  Tensor out(Dtype::Float32, values.shape());
  const std::int64_t channels = params.axis < 0 ? 1 : 4;
  const std::int64_t inner = params.axis < 0 ? values.count() : 16;
  RoundEvents ignored;
  round_to_counting(params, channels, inner, values.floats(), out.mutable_floats(),
                    events == nullptr ? ignored : *events);
  return out;
}

TEST(RoundOperator, GivesTheBitsOfRoundToInEveryFormat) {
  const Tensor values = telling_values();
  for (const Grid& grid : all_grids()) {
    const Session session = session_with({round_node("x", "y", grid.params)}, {"y"});
    const Tensor got = session.run({{"x", values}, {"z", values}}).front();
    EXPECT_TRUE(same_bits(got, rounded(grid.params, values))) << grid.name;
  }
}

TEST(AccumulateOperator, AddsTheNoiseOfTheSumAndWithABiasRoundsInFrontOfIt) {
  const Tensor values = bell({2, 4, 16}, 5, 3.0F);
  Tensor noisy(Dtype::Float32, values.shape());
  add_sum_noise(4, 16, 9, 77, values.floats(), noisy.mutable_floats());
  const Session alone = session_with({accumulate_node("x", "", "y", Format::Float16, 9, 77)}, {"y"});
  EXPECT_TRUE(same_bits(alone.run({{"x", values}, {"z", values}}).front(), noisy));

  const std::vector<float> bias{0.5F, -1.0F, 0.001F, 3.0F};
  Tensor expected = rounded(grid_of(Format::Float16), noisy);
  for (std::size_t i = 0; i < expected.mutable_floats().size(); ++i) {
    expected.mutable_floats()[i] += bias[i / 16 % 4];
  }
  Model model = model_of("g (float[?,?,?] x, float[?] b) => (float[?,?,?] y) { y = Add(x, b) }");
  *model.proto.mutable_graph()->mutable_node(0) = accumulate_node("x", "b", "y", Format::Float16, 9, 77);
  const Session session(Runtime::load(), model, {.optimize = false, .threads = 1, .integer_kernels = false});
  EXPECT_TRUE(same_bits(session.run({{"x", values}, {"b", Tensor::of({4}, bias)}}).front(), expected));
  EXPECT_THROW(session.run({{"x", values}, {"b", Tensor::of({3}, std::vector<float>{1, 2, 3})}}), Error);
}

TEST(Tf32Operator, GivesTheBitsOfRoundToTf32) {
  const Tensor values = telling_values();
  Tensor expected(Dtype::Float32, values.shape());
  round_to_tf32(values.floats(), expected.mutable_floats());
  const Session session = session_with({tf32_node("x", "y")}, {"y"});
  EXPECT_TRUE(same_bits(session.run({{"x", values}, {"z", values}}).front(), expected));
}

TEST(RoundOperator, CountsEventsInItsSlotAndOnlyThere) {
  const Tensor values = telling_values();
  for (const Grid& grid : all_grids()) {
    const Session session = session_with({round_node("x", "y", grid.params, 1)}, {"y"});
    Recorder recorder(0, 0, 3);
    const Tensor got = session.run({{"x", values}, {"z", values}}, &recorder).front();
    RoundEvents expected;
    EXPECT_TRUE(same_bits(got, rounded(grid.params, values, &expected))) << grid.name;
    EXPECT_EQ(recorder.events[1], expected) << grid.name;
    EXPECT_EQ(recorder.events[0], RoundEvents{}) << grid.name;
    EXPECT_EQ(recorder.events[2], RoundEvents{}) << grid.name;
  }
}

TEST(RoundOperator, RoundsWithoutARecorderOrWithTooSmallAOne) {
  const Tensor values = telling_values();
  const QuantParams half = grid_of(Format::Float16);
  const Session session = session_with({round_node("x", "y", half, 5)}, {"y"});
  EXPECT_TRUE(same_bits(session.run({{"x", values}, {"z", values}}).front(), rounded(half, values)));
  Recorder small(0, 0, 1);
  EXPECT_TRUE(same_bits(session.run({{"x", values}, {"z", values}}, &small).front(), rounded(half, values)));
  EXPECT_EQ(small.events[0], RoundEvents{});
}

TEST(RoundOperator, LeavesItsInputToOtherReaders) {
  // In place would be wrong here: t is read again behind the Round, and it is an output too.
  const QuantParams coarse = grid_of(Format::Int8, {0.5F});
  for (const bool optimize : {false, true}) {
    const Session session = session_with(
        {node_of("Add", {"x", "z"}, "t"), round_node("t", "low", coarse), node_of("Sub", {"t", "low"}, "error")},
        {"t", "low", "error"}, optimize);
    const Tensor x = bell({2, 4, 16}, 8);
    const Tensor z = bell({2, 4, 16}, 9);
    const auto outputs = session.run({{"x", x}, {"z", z}});
    for (std::size_t i = 0; i < x.floats().size(); ++i) {
      ASSERT_EQ(outputs[0].floats()[i], x.floats()[i] + z.floats()[i]);
      ASSERT_EQ(outputs[2].floats()[i], outputs[0].floats()[i] - outputs[1].floats()[i]);
    }
    EXPECT_TRUE(same_bits(outputs[1], rounded(coarse, outputs[0])));
  }
}

TEST(RoundOperator, TakesEmptyTensors) {
  const Session session = session_with({round_node("x", "y", grid_of(Format::Float16))}, {"y"});
  const Tensor empty(Dtype::Float32, {2, 0, 3});
  EXPECT_EQ(session.run({{"x", empty}, {"z", empty}}).front().shape(), (Shape{2, 0, 3}));
}

/// One of our operators from t to y.
onnx::NodeProto own_node(const std::string& op_type) {
  if (op_type == "Round") return round_node("t", "y", grid_of(Format::Float16));
  if (op_type == "Observe") return observe_node("t", "y", 0);
  if (op_type == "Inject") return inject_node("t", "y", 0);
  return compare_node("t", "t", "y", "", 0);
}

TEST(OwnOperators, LeaveUnnamedUnknownDimensionsToTheRuntime) {
  // Told of them, the runtime takes each for -1: it folds Shape, and refuses to broadcast and to reshape.
  const Tensor x = Tensor::of({2, 1, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  const Tensor z = Tensor::of({1, 5, 3}, std::vector<float>(15, 2.0F));
  for (const bool optimize : {false, true}) {
    for (const std::string op_type : {"Round", "Observe", "Compare", "Inject"}) {
      const std::vector<onnx::NodeProto> nodes{
          node_of("Neg", {"x"}, "t"),        own_node(op_type),
          node_of("Mul", {"y", "z"}, "m"),   node_of("Shape", {"m"}, "s"),
          node_of("Add", {"m", "m"}, "sum"), node_of("Reshape", {"sum", "s"}, "w")};
      const Session session = session_with(nodes, {"w"}, optimize);
      const Tensor got = session.run({{"x", x}, {"z", z}}).front();
      ASSERT_EQ(got.shape(), (Shape{2, 5, 3})) << op_type << ", optimized " << optimize;
      EXPECT_EQ(got.floats()[0], -4) << op_type;
      EXPECT_EQ(got.floats()[29], -24) << op_type;
    }
  }
}

TEST(ObserveOperator, FoldsWhatItSeesAndPassesItOn) {
  const Tensor values = telling_values();
  const Session session = session_with({observe_node("x", "y", 1)}, {"y"});
  Recorder recorder(0, 2, 0);
  EXPECT_TRUE(same_bits(session.run({{"x", values}, {"z", values}}, &recorder).front(), values));
  RangeStats expected;
  accumulate_range(values.floats(), expected);
  EXPECT_EQ(recorder.ranges[1], expected);
  EXPECT_EQ(recorder.shapes[1], values.shape());
  EXPECT_TRUE(recorder.ranges[0].empty());
  // A second run of the same recorder widens the range.
  const Tensor wide = Tensor::of({1, 1, 2}, std::vector<float>{-2e30F, 3});
  session.run({{"x", wide}, {"z", wide}}, &recorder);
  EXPECT_EQ(recorder.ranges[1].min, -2e30F);
  EXPECT_EQ(recorder.ranges[1].count, expected.count + 2);
  EXPECT_EQ(recorder.shapes[1], (Shape{1, 1, 2}));
}

TEST(CompareOperator, FoldsBothTensorsAndPassesBothOn) {
  const Tensor ref = telling_values();
  const Tensor got = bell({2, 4, 16}, 6, 3.0F);
  const Session session = session_with({compare_node("x", "z", "r", "g", 0)}, {"r", "g"});
  Recorder recorder(1, 0, 0);
  const auto outputs = session.run({{"x", ref}, {"z", got}}, &recorder);
  EXPECT_TRUE(same_bits(outputs[0], ref));
  EXPECT_TRUE(same_bits(outputs[1], got));
  ErrorStats expected;
  accumulate_error(ref.floats(), got.floats(), expected);
  EXPECT_EQ(recorder.errors[0], expected);
  EXPECT_EQ(recorder.shapes[0], ref.shape());
}

TEST(CompareOperator, WorksWithoutItsSecondOutput) {
  const Tensor ref = bell({2, 4, 16}, 5);
  const Tensor got = bell({2, 4, 16}, 6);
  for (const bool optimize : {false, true}) {
    // The tested side is made inside, so that its buffer could be taken over: it must survive for its other reader.
    const Session session =
        session_with({node_of("Neg", {"z"}, "n"), compare_node("x", "n", "r", "", 0), node_of("Abs", {"n"}, "a")},
                     {"r", "a"}, optimize);
    Recorder recorder(1, 0, 0);
    const auto outputs = session.run({{"x", ref}, {"z", got}}, &recorder);
    EXPECT_TRUE(same_bits(outputs[0], ref));
    ErrorStats expected;
    accumulate_error(ref.floats(), scaled(got, -1).floats(), expected);
    EXPECT_EQ(recorder.errors[0], expected);
    for (std::size_t i = 0; i < got.floats().size(); ++i) ASSERT_EQ(outputs[1].floats()[i], std::abs(got.floats()[i]));
  }
}

TEST(CompareOperator, RoundsOnTheWayAsARoundInFrontOfItWould) {
  for (const Format format : {Format::Float16, Format::BFloat16}) {
    for (const std::int64_t size :
         {std::int64_t{1}, std::int64_t{16}, std::int64_t{2049}, std::int64_t{8192}, std::int64_t{20000}}) {
      const Tensor ref = bell({1, 1, size}, 5, 70000.0F);
      const Tensor got = bell({1, 1, size}, 6, 70000.0F);  // some overflow float16
      QuantParams params;
      params.format = format;
      const onnx::NodeProto round = round_node("z", "rounded", params, 0);
      Recorder apart(1, 0, 1), together(1, 0, 1);
      session_with({round, compare_node("x", "rounded", "r", "", 0)}, {"r"}).run({{"x", ref}, {"z", got}}, &apart);
      const Session session = session_with({compare_rounded_node("x", round, "r", 0)}, {"r"});
      EXPECT_TRUE(same_bits(session.run({{"x", ref}, {"z", got}}, &together).front(), ref));
      EXPECT_EQ(together.errors[0], apart.errors[0]) << format_name(format) << " " << size;
      EXPECT_EQ(together.events[0], apart.events[0]) << format_name(format) << " " << size;
      EXPECT_EQ(together.events[0].count, size);
    }
  }
}

TEST(CompareOperator, PassesTensorsOnInPlaceThroughALongChain) {
  // Each Compare takes over the buffers of both sides; what comes out behind five of them is still what went in.
  std::vector<onnx::NodeProto> nodes{node_of("Neg", {"x"}, "r0"), node_of("Neg", {"z"}, "g0")};
  for (int i = 0; i < 5; ++i) {
    const std::string from = std::to_string(i);
    const std::string to = std::to_string(i + 1);
    nodes.push_back(compare_node("r" + from, "g" + from, "rc" + to, "gc" + to, i));
    nodes.push_back(node_of("Neg", {"rc" + to}, "r" + to));
    nodes.push_back(node_of("Neg", {"gc" + to}, "g" + to));
  }
  const Tensor ref = bell({2, 4, 16}, 5);
  const Tensor got = bell({2, 4, 16}, 6);
  ErrorStats expected;
  accumulate_error(ref.floats(), got.floats(), expected);
  for (const bool optimize : {false, true}) {
    const Session session = session_with(nodes, {"r5", "g5"}, optimize);
    Recorder recorder(5, 0, 0);
    const auto outputs = session.run({{"x", ref}, {"z", got}}, &recorder);
    EXPECT_TRUE(same_bits(outputs[0], ref));
    EXPECT_TRUE(same_bits(outputs[1], got));
    for (int i = 0; i < 5; ++i) {
      const ErrorStats& stats = recorder.errors[static_cast<std::size_t>(i)];
      EXPECT_EQ(stats.error_energy, expected.error_energy) << i;
      EXPECT_EQ(stats.error_sum, i % 2 == 0 ? -expected.error_sum : expected.error_sum) << i;
    }
  }
}

TEST(CompareOperator, RecordsNothingOfTensorsOfDifferentShapes) {
  const Tensor ref = bell({1, 2, 3}, 1), got = bell({1, 1, 3}, 1);  // which the Add of the test takes, too
  const Session session = session_with({compare_node("x", "z", "r", "g", 0)}, {"r", "g"});
  Recorder recorder(1, 0, 0);
  const auto outputs = session.run({{"x", ref}, {"z", got}}, &recorder);
  EXPECT_TRUE(same_bits(outputs[0], ref) && same_bits(outputs[1], got));
  EXPECT_EQ(recorder.errors[0].count, 0);
}

TEST(InjectOperator, ReplacesItsInputOnlyWhenItsSlotIsGiven) {
  const Tensor values = bell({2, 4, 16}, 5);
  const Tensor other = bell({2, 4, 16}, 6);
  const Session session = session_with({inject_node("x", "y", 3), inject_node("z", "w", 4)}, {"y", "w"});
  EXPECT_TRUE(same_bits(session.run({{"x", values}, {"z", values}})[0], values)) << "no recorder";
  Recorder recorder;
  EXPECT_TRUE(same_bits(session.run({{"x", values}, {"z", values}}, &recorder)[0], values)) << "no injection";
  recorder.injections[3] = other;
  const auto outputs = session.run({{"x", values}, {"z", values}}, &recorder);
  EXPECT_TRUE(same_bits(outputs[0], other));
  EXPECT_TRUE(same_bits(outputs[1], values)) << "another slot";
}

TEST(InjectOperator, RefusesAnotherShape) {
  const Session session = session_with({inject_node("x", "y", 0)}, {"y"});
  Recorder recorder;
  recorder.injections[0] = bell({1, 1, 1}, 1);
  const Error error = error_of([&] { session.run({{"x", bell({1, 1, 2}, 1)}, {"z", bell({1, 1, 2}, 1)}}, &recorder); });
  EXPECT_NE(std::string(error.what()).find("another shape is expected"), std::string::npos) << error.what();
}

TEST(Recorder, AddsUpSlotBySlot) {
  const Tensor a = bell({1, 1, 40}, 1);
  const Tensor b = bell({1, 1, 40}, 2);
  Recorder first(1, 0, 1);
  Recorder second(1, 2, 1);
  accumulate_error(a.floats(), b.floats(), first.errors[0]);
  accumulate_error(b.floats(), a.floats(), second.errors[0]);
  accumulate_range(a.floats(), second.ranges[1]);
  ErrorStats both = first.errors[0];
  both += second.errors[0];
  first += second;
  EXPECT_EQ(first.errors[0], both);
  ASSERT_EQ(first.ranges.size(), 2U);
  EXPECT_EQ(first.ranges[1], second.ranges[1]);
}

TEST(RecorderScope, RestoresTheOneBefore) {
  Recorder outer;
  Recorder inner;
  EXPECT_TRUE(current_recorders().empty());
  {
    const RecorderScope first(std::span(&outer, 1));
    {
      const RecorderScope second(std::span(&inner, 1));
      EXPECT_EQ(current_recorders().data(), &inner);
    }
    EXPECT_EQ(current_recorders().data(), &outer);
  }
  EXPECT_TRUE(current_recorders().empty());
}

}  // namespace
}  // namespace vernier::testing
