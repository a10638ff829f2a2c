#include "engines/onnxruntime/blocked_layout.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "engines/onnxruntime/optimized_graph.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "numerics/round.h"
#include "plan/round_node.h"
#include "tiny_networks.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

int count(const Model& model, const std::string& op_type) {
  int found = 0;
  for (const onnx::NodeProto& node : model.proto.graph().node()) found += node.op_type() == op_type ? 1 : 0;
  return found;
}

/// Two convolutions of 16 channels with `between` from tensor a to tensor b; `also` is a second output.
Model two_convolutions(std::vector<onnx::NodeProto> between, const std::string& also = "") {
  Model model =
      model_of("net (float[1,16,8,8] x) => (float[1,16,8,8] y" + (also.empty() ? "" : ", float[1,16,8,8] " + also) +
                   ") {" + "[one] a = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (x, w1) " +
                   "[placeholder] b = Neg (a) " + (also == "s" ? "[tail] s = Neg (b) " : "") +
                   "[two] y = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (b, w2) }",
               {{"w1", bell({16, 16, 3, 3}, 1, 0.2F)}, {"w2", bell({16, 16, 3, 3}, 2, 0.2F)}});
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  nodes.Swap(graph.mutable_node());
  for (onnx::NodeProto& node : nodes) {
    if (node.name() == "placeholder") {
      for (onnx::NodeProto& replacement : between) *graph.add_node() = std::move(replacement);
    } else {
      *graph.add_node() = std::move(node);
    }
  }
  return model;
}

QuantParams one_scale() {
  QuantParams params;
  params.format = Format::Int8;
  params.scale = {0.05F};
  return params;
}

struct Moved {
  Model before, after;
};

/// Optimized, and moved; both give the same bits.
Moved moved(const Model& model) {
  const auto runtime = Runtime::load();
  Moved result{optimized_model(runtime, model), {}};
  result.after = result.before;
  move_reorderings(result.after);
  const Sample input{{"x", bell({1, 16, 8, 8}, 3)}};
  const auto run = [&](const Model& which) { return Session(runtime, which, {.optimize = false}).run(input); };
  const std::vector<Tensor> a = run(result.before);
  const std::vector<Tensor> b = run(result.after);
  for (std::size_t o = 0; o < a.size(); ++o) {
    EXPECT_TRUE(std::ranges::equal(a[o].floats(), b[o].floats())) << "output " << o;
  }
  return result;
}

bool blocks_convolutions(const Model& optimized) { return count(optimized, "ReorderInput") > 0; }

TEST(BlockedLayout, LeavesNoReorderingAroundARoundingOfOneScale) {
  const Moved net = moved(two_convolutions({round_node("a", "b", one_scale())}));
  if (!blocks_convolutions(net.before)) GTEST_SKIP() << "ONNX Runtime blocks no convolutions on this machine";
  EXPECT_EQ(count(net.before, "ReorderOutput"), 2);
  EXPECT_EQ(count(net.after, "ReorderOutput"), 1);
  EXPECT_EQ(count(net.after, "ReorderInput"), count(net.before, "ReorderInput") - 1);
  EXPECT_EQ(count(net.after, "Round"), 1);
}

TEST(BlockedLayout, KeepsWhatIsReadInItsOwnOrderToo) {
  const Moved net = moved(two_convolutions({round_node("a", "b", one_scale())}, "s"));
  if (!blocks_convolutions(net.before)) GTEST_SKIP() << "ONNX Runtime blocks no convolutions on this machine";
  EXPECT_EQ(count(net.after, "ReorderOutput"), 2);
  EXPECT_EQ(count(net.after, "Round"), 1) << "it is rounded once";
}

TEST(BlockedLayout, LeavesARoundingWithAScaleForEachChannelWhereItIs) {
  QuantParams params = one_scale();
  params.scale.assign(16, 0.05F);
  params.scale[3] = 0.2F;
  params.axis = 1;
  const Moved net = moved(two_convolutions({round_node("a", "b", params)}));
  if (!blocks_convolutions(net.before)) GTEST_SKIP() << "ONNX Runtime blocks no convolutions on this machine";
  EXPECT_EQ(count(net.after, "ReorderOutput"), count(net.before, "ReorderOutput"));
}

/// The symbols of a tensor's shape, as value_info tells them.
std::string shape_told_of(const Model& model, const std::string& tensor) {
  std::string symbols;
  for (const onnx::ValueInfoProto& value : model.proto.graph().value_info()) {
    if (value.name() != tensor) continue;
    for (const auto& dim : value.type().tensor_type().shape().dim()) symbols += dim.dim_param() + " ";
  }
  return symbols;
}

TEST(BlockedLayout, TellsWhichBlockedTensorsAreShapedAlike) {
  onnx::NodeProto sigmoid;
  sigmoid.set_op_type("Sigmoid");
  sigmoid.set_name("sigmoid");
  sigmoid.add_input("r");
  sigmoid.add_output("g");
  onnx::NodeProto gated;
  gated.set_op_type("Mul");
  gated.set_name("gated");
  gated.add_input("r");
  gated.add_input("g");
  gated.add_output("b");
  Moved net = moved(two_convolutions({round_node("a", "r", one_scale()), sigmoid, gated}));
  if (!blocks_convolutions(net.before)) GTEST_SKIP() << "ONNX Runtime blocks no convolutions on this machine";
  tell_blocked_shapes(net.after);
  std::set<std::string> shapes;
  int convolutions = 0;
  for (const onnx::NodeProto& node : net.after.proto.graph().node()) {
    const std::string shape = shape_told_of(net.after, node.output(0));
    if (node.op_type() == "Conv") {
      ++convolutions;
    } else if (node.op_type() == "Round" || node.op_type() == "Sigmoid" || node.op_type() == "Mul") {
      EXPECT_FALSE(shape.empty()) << node.name();
      EXPECT_EQ(shape, shape_told_of(net.after, node.input(0))) << node.name();
    } else {
      EXPECT_EQ(shape.empty(), node.op_type() == "ReorderOutput") << node.name();
    }
    if (!shape.empty()) shapes.insert(shape);
  }
  EXPECT_EQ(convolutions, 2);
  EXPECT_EQ(shapes.size(), 3U) << "of the input, of the first convolution and what follows it, of the second";

  const Sample input{{"x", bell({1, 16, 8, 8}, 3)}};
  const auto run = [&](const Model& which) {
    return Session(Runtime::load(), which, {.optimize = false}).run(input).front();
  };
  EXPECT_TRUE(std::ranges::equal(run(net.after).floats(), run(net.before).floats()));
}

TEST(BlockedLayout, TellsNothingOfTensorsThatTheRuntimeKnows) {
  Model model = model_of("net (float[1,4] x) => (float[1,4] y) <float[1,4] a> { a = Neg (x) y = Neg (a) }");
  ASSERT_EQ(model.proto.graph().value_info_size(), 1);
  tell_blocked_shapes(model);
  EXPECT_EQ(model.proto.graph().value_info_size(), 0);
}

TEST(OptimizedModel, HasItsNodesInTheOrderInWhichTheOutputsNeedThem) {
  std::string nodes, joined;
  NamedTensors weights;
  for (int i = 0; i < 12; ++i) {  // branches: any of them may come first
    const std::string n = std::to_string(i);
    nodes += "[c" + n + "] a" + n + " = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (x, w" + n + ") " + "[s" + n +
             "] s" + n + " = Neg (a" + n + ") [p" + n + "] p" + n + " = MaxPool <kernel_shape = [2,2]> (a" + n +
             ") [q" + n + "] q" + n + " = Neg (p" + n + ") ";
    joined += (i == 0 ? "s" : ", s") + n;
    weights.emplace_back("w" + n, bell({16, 16, 3, 3}, static_cast<std::uint32_t>(i), 0.2F));
  }
  const Model model =
      model_of("net (float[1,16,8,8] x) => (float[1,192,8,8] y, float[1,16,7,7] z) {" + nodes +
                   "[end] y = Concat <axis = 1> (" + joined + ") [early] z = Sum (q0, q1, q2, q3, q4) }",
               weights);
  const Model optimized = optimized_model(Runtime::load(), model);
  std::vector<std::string> order, expected;
  for (const onnx::NodeProto& node : optimized.proto.graph().node()) {
    if (node.op_type() == "Neg") order.push_back(node.output(0));
  }
  for (int i = 0; i < 12; ++i) expected.push_back("s" + std::to_string(i));
  for (int i = 0; i < 5; ++i) expected.push_back("q" + std::to_string(i));
  EXPECT_EQ(order, expected);
}

}  // namespace
}  // namespace vernier::testing
