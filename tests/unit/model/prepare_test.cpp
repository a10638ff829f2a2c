#include "model/prepare.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <stdexcept>

#include "model_text.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

using Names = std::vector<std::string>;
using Floats = std::vector<float>;

/// Answers from a table instead of computing, and keeps what it was asked.
struct Table {
  std::map<std::string, Tensor> values;
  std::vector<Model> asked;

  Evaluator evaluator() {
    return [this](const Model& model, const Sample& inputs) {
      asked.push_back(model);
      std::vector<Tensor> answers;
      for (const InputInfo& output : model_outputs(model)) {
        const auto input = inputs.find(output.name);
        answers.push_back(input != inputs.end() ? input->second : values.at(output.name));
      }
      return answers;
    };
  }
};

Evaluator no_evaluator() {
  return [](const Model&, const Sample&) -> std::vector<Tensor> { throw std::logic_error("nothing to evaluate here"); };
}

Prepared prepared(const std::string& text, const std::set<Format>& formats,
                  const Evaluator& evaluate = no_evaluator()) {
  PrepareOptions options;
  options.formats = formats;
  return prepare(model_of(text), options, evaluate);
}

Tensor truth(bool value) {
  Tensor tensor(Dtype::Bool, {});
  tensor.mutable_bytes()[0] = std::byte{value};
  return tensor;
}

const std::set<Format> kFloat = {Format::Float32};
const std::set<Format> kHalf = {Format::Float32, Format::Float16};

TEST(ConstantsToInitializers, KeepTheirTensorNames) {
  const Prepared done = prepared(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x) => (float[2] y) {
      c = Constant <value = float[2] {1, 2}> ()
      k = Constant <value_ints = [2]> ()
      a = Add(x, c) y = Reshape(a, k) })",
                                 kFloat);
  EXPECT_EQ(op_types(done.model), (Names{"Add", "Reshape"}));
  EXPECT_EQ(floats_of(done.model, "c"), (Floats{1, 2}));
  EXPECT_EQ(initializer(done.model, "k")->int64s()[0], 2);
  EXPECT_TRUE(done.unchanged);
}

TEST(ConstantsToInitializers, LeaveAloneWhatTheGraphReturns) {
  const Prepared done = prepared(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x) => (float[2] y, float[2] c) { c = Constant <value = float[2] {1, 2}> () y = Add(x, c) })",
                                 kFloat);
  EXPECT_EQ(op_types(done.model), (Names{"Constant", "Add"}));
}

TEST(ConstantsToInitializers, IdentityOfAnInitializerVanishes) {
  const Prepared done = prepared(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { v = Identity(w) u = Identity(v) y = Add(x, u) })",
                                 kFloat);
  EXPECT_EQ(op_types(done.model), Names{"Add"});
  EXPECT_EQ(node_named(done.model, "Add_2").input(1), "w");
}

constexpr const char* kConstantPart = R"(<ir_version: 8, opset_import: ["" : 13]>
  g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { [a] v = Neg(w) [b] u = Abs(v) [c] y = Add(x, u) [d] z = Mul(v, u) })";

TEST(FoldConstants, AsksOnceForTheFrontierOnly) {
  Table table;
  table.values["u"] = Tensor::of({2}, Floats{1, 2});
  const Prepared done = prepared(kConstantPart, kFloat, table.evaluator());
  EXPECT_EQ(node_names(done.model), Names{"c"});
  EXPECT_EQ(floats_of(done.model, "u"), (Floats{1, 2}));
  ASSERT_EQ(table.asked.size(), 1U);
  EXPECT_EQ(model_outputs(table.asked[0]).size(), 1U);
  EXPECT_FALSE(is_initializer(done.model, "w")) << "nothing reads it any more";
}

TEST(FoldConstants, FailingEvaluatorIsNotedAndTheNodesStay) {
  const Evaluator failing = [](const Model&, const Sample&) -> std::vector<Tensor> {
    throw Error(ErrorKind::Backend, "no kernel");
  };
  const Prepared done = prepared(kConstantPart, kFloat, failing);
  EXPECT_EQ(node_names(done.model), (Names{"a", "b", "c", "d"}));
  ASSERT_EQ(done.notes.size(), 1U);
  EXPECT_EQ(done.notes[0].note, (Note{"constants-not-folded", {{"count", 3}, {"error", "no kernel"}}}));
}

TEST(FoldConstants, LeavesRandomAndQuantizedAndGrowingNodesAlone) {
  const Prepared done = prepared(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x) => (float[2] y, float[a, b] z, float[2] q)
      <float[2] w = {1, 2}, float s = {0.5}, int8 o = {0}, int64[2] huge = {4096, 4096}> {
      r = RandomNormalLike(w) y = Add(x, r)
      e = ConstantOfShape(huge) z = Mul(e, x)
      i = QuantizeLinear(w, s, o) d = DequantizeLinear(i, s, o) q = Add(x, d) })",
                                 kFloat);
  EXPECT_EQ(done.model.proto.graph().node_size(), 7);
}

TEST(FoldConstants, ShapeOfATensorOfFixedShapeIsItsShape) {
  const Prepared done = prepared(R"(<ir_version: 8, opset_import: ["" : 15]>
    g (float[2,3] x, float[n,3] v) => (int64[k] y, int64[m] z) <int64[1] w = {1}> {
      t = Relu(x) s = Shape <start = -1> (t) y = Concat <axis = 0> (s, w)
      r = Shape(v) z = Concat <axis = 0> (r, w) })",
                                 kFloat, [](const Model& model, const Sample&) {
                                   EXPECT_EQ(op_types(model), Names{"Concat"});
                                   return std::vector<Tensor>{};
                                 });
  EXPECT_EQ(initializer(done.model, "s")->int64s()[0], 3);
  EXPECT_EQ(node_named(done.model, "Shape_3").op_type(), "Shape") << "v has a dynamic dimension";
}

constexpr const char* kIf = R"(<ir_version: 8, opset_import: ["" : 13]>
  g (float[2] x, bool c) => (float[2] y) {
    a = Relu(x)
    [i] y = If (c) <then_branch = t () => (float[2] r) { [n] m = Neg(a) [o] r = Abs(m) },
                    else_branch = e () => (float[2] r) { [p] m = Exp(a) [q] r = Log(m) }>
    [last] z = Neg(y)
  })";

std::string constant_if(const char* value) {
  std::string text = kIf;
  text.replace(text.find(", bool c"), 8, "");
  text.insert(text.find("{\n    a = "), std::string("<bool c = {") + value + "}> ");
  return text;
}

TEST(InlineIfs, TakesTheBranchOfAConstantCondition) {
  const Prepared taken = prepared(constant_if("1"), kFloat);
  EXPECT_EQ(node_names(taken.model), (Names{"Relu_0", "n", "o", "last"}));
  EXPECT_EQ(node_named(taken.model, "o").output(0), "y");
  EXPECT_TRUE(taken.unchanged);
  EXPECT_EQ(node_names(prepared(constant_if("0"), kFloat).model), (Names{"Relu_0", "p", "q", "last"}));
}

TEST(InlineIfs, LeavesAConditionAloneThatAnInputDecides) {
  EXPECT_EQ(node_names(prepared(kIf, kFloat).model), (Names{"Relu_0", "i", "last"}));
}

TEST(InlineIfs, TakesTheBranchThatAllSamplesTake) {
  Table table;
  PrepareOptions options;
  options.formats = kFloat;
  options.inline_ifs = true;
  options.samples = 3;
  options.sample_at = [](std::size_t) { return Sample{{"c", truth(false)}}; };
  const Prepared done = prepare(model_of(kIf), options, table.evaluator());
  EXPECT_EQ(node_names(done.model), (Names{"Relu_0", "p", "q", "last"}));
  EXPECT_FALSE(done.unchanged) << "it is right for such inputs only";
  ASSERT_EQ(done.notes.size(), 1U);
  EXPECT_EQ(done.notes[0].note,
            (Note{"if-inlined", {{"node", "i"}, {"condition", "c"}, {"taken", false}, {"samples", 3}}}));
  options.sample_at = [](std::size_t index) { return Sample{{"c", truth(index == 2)}}; };
  EXPECT_EQ(node_names(prepare(model_of(kIf), options, table.evaluator()).model), (Names{"Relu_0", "i", "last"}));
}

TEST(InlineIfs, BranchThatReturnsOuterTensorsCopiesThem) {
  const Prepared done = prepared(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x) => (float[2] y, float[2] z) <bool c = {1}> {
      a = Relu(x)
      [i] y, z = If (c) <then_branch = t () => (float[2] r, float[2] r2) { [n] r = Neg(a) r2 = Identity(a) },
                         else_branch = e () => (float[2] s, float[2] s2) { s = Exp(a) s2 = Log(a) }> })",
                                 kFloat);
  EXPECT_EQ(op_types(done.model), (Names{"Relu", "Neg", "Identity"}));
  EXPECT_EQ(node_named(done.model, "n").output(0), "y");
}

TEST(InlineIfs, ABoundOfARangeThatABranchGaveIsAScalar) {
  const Prepared done = prepared(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (int64 x) => (int64[N] y) <bool c = {1}, int64[1] one = {1}, int64[1] two = {2}> {
      [i] step = If (c) <then_branch = t () => (int64[1] r) { r = Identity(one) },
                         else_branch = e () => (int64[1] s) { s = Identity(two) }>
      [r] y = Range(x, x, step) })",
                                 kFloat);
  ASSERT_EQ(op_types(done.model), Names{"Range"});
  EXPECT_EQ(initializer(done.model, node_named(done.model, "r").input(2))->shape(), Shape{});
}

TEST(InlineFunctions, NodesOfAFunctionBecomeNodesOfTheGraph) {
  const Prepared done = prepared(R"(<ir_version: 8, opset_import: ["" : 13, "local" : 1]>
    g (float[2] x) => (float[2] y) { [one] a = local.twice(x) [two] y = local.twice(a) }
    <domain: "local", opset_import: ["" : 13]> twice (u) => (v) { w = Neg(u) v = Add(w, u) })",
                                 kFloat);
  EXPECT_EQ(op_types(done.model), (Names{"Neg", "Add", "Neg", "Add"}));
  EXPECT_EQ(done.model.proto.functions_size(), 0);
  check_written_model(done.model);
}

TEST(InlineFunctions, DefaultsOfTheirAttributesHold) {
  const Prepared done = prepared(R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2] x) => (float[2] y, float[2] z) {
      [default] a = local.leak(x) [given] b = local.leak<alpha = 0.5>(a) [outer] c = local.outer(b)
      [inside] y = local.outer<beta = 0.75>(c) [other] z = local.plain(x) }
    <domain: "local", opset_import: ["" : 17]> leak <alpha: float = 0.3> (u) => (v) { v = LeakyRelu<alpha: float = @alpha>(u) }
    <domain: "local", opset_import: ["" : 17, "local" : 1]> outer <beta> (u) => (v) { v = local.leak<alpha: float = @beta>(u) }
    <domain: "local", opset_import: ["" : 17]> plain <alpha> (u) => (v) { v = LeakyRelu<alpha: float = @alpha>(u) })",
                                 kFloat);
  std::vector<float> alphas;
  for (const onnx::NodeProto& node : done.model.proto.graph().node()) {
    alphas.push_back(attribute_float(node, "alpha", -1));
  }
  EXPECT_EQ(alphas, (Floats{0.3F, 0.5F, 0.3F, 0.75F, -1}));
}

TEST(InlineFunctions, AnAttributeThatACallLeavesOutIsLeftOutInside) {
  // `both` hands on alpha to functions with different defaults, to an operator with its own, and through `through`.
  const Prepared done = prepared(R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2] x) => (float[2] y, float[2] z) { y = local.both(x) z = local.both<alpha = 0.75>(x) }
    <domain: "local", opset_import: ["" : 17]> half <alpha: float = 0.5> (u) => (v) { v = LeakyRelu<alpha: float = @alpha>(u) }
    <domain: "local", opset_import: ["" : 17]> third <alpha: float = 0.3> (u) => (v) { v = LeakyRelu<alpha: float = @alpha>(u) }
    <domain: "local", opset_import: ["" : 17, "local" : 1]> through <a, b> (u) => (v) {
      w = local.half<alpha: float = @a>(u) v = local.half<alpha: float = @b>(w) }
    <domain: "local", opset_import: ["" : 17, "local" : 1]> both <alpha> (u) => (v) {
      a = local.half<alpha: float = @alpha>(u) b = local.third<alpha: float = @alpha>(a)
      c = LeakyRelu<alpha: float = @alpha>(b) v = local.through<a: float = @alpha, b = 0.25>(c) })",
                                 kFloat);
  std::vector<float> alphas;
  for (const onnx::NodeProto& node : done.model.proto.graph().node()) {
    alphas.push_back(attribute_float(node, "alpha", -1));
    EXPECT_EQ(node.overload(), "");
  }
  EXPECT_EQ(alphas, (Floats{0.5F, 0.3F, -1, 0.5F, 0.25F, 0.75F, 0.75F, 0.75F, 0.75F, 0.25F}));
}

TEST(InlineFunctions, NodesOfAnotherOpsetAreRaised) {
  // Until opset 12, ReduceSum had its axes as an attribute.
  const std::string functions = R"(
    <domain: "local", opset_import: ["" : 12]> sums (u, w) => (v) {
      p = MatMul(u, w) q = ReduceSum<axes = [1], keepdims = 1>(p) v = Add(q, p) })";
  const Prepared done = prepared(R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> { a = local.sums(x, w) y = Relu(a) })" +
                                     functions,
                                 kFloat);
  EXPECT_EQ(op_types(done.model), (Names{"MatMul", "ReduceSum", "Add", "Relu"}));
  EXPECT_EQ(done.model.proto.graph().node(1).input_size(), 2);
  EXPECT_EQ(default_opset(done.model.proto), 17);
  for (const onnx::NodeProto& node : done.model.proto.graph().node()) EXPECT_EQ(node.metadata_props_size(), 0);
  check_written_model(done.model);
  const Prepared newer = prepared(R"(<ir_version: 8, opset_import: ["" : 12, "local" : 1]>
    g (float[2,2] x) => (float[2,2] y) <int64[1] axes = {1}> {
      a = ReduceSum<axes = [0], keepdims = 1>(x) y = local.newer(a, x, axes) }
    <domain: "local", opset_import: ["" : 17]> newer (u, w, k) => (v) { q = ReduceSum(w, k) v = Add(q, u) })",
                                  kFloat);
  EXPECT_EQ(default_opset(newer.model.proto), 17);
  EXPECT_EQ(newer.model.proto.graph().node(0).input_size(), 2);
  check_written_model(newer.model);
}

TEST(ReplaceRemovedOperators, BecomeWhatTheyComputed) {
  const std::string text = R"(<ir_version: 4, opset_import: ["" : 7]>
    g (float[1,3,8,8] x) => (float[1,3,5,4] y) {
      [s] a = ImageScaler <scale = 2.0, bias = [1.0, 2.0, 3.0]> (x)
      [f] b = Affine <alpha = 3.0, beta = 0.5> (a)
      [c] y = Crop <border = [1, 2, 3, 1]> (b) })";
  const Prepared done = prepared(text, kHalf);
  EXPECT_EQ(node_names(done.model), (Names{"s/Mul", "s", "f/Mul", "f", "c"}));
  EXPECT_EQ(floats_of(done.model, node_named(done.model, "s").input(1)), (Floats{1, 2, 3}));
  EXPECT_EQ(floats_of(done.model, node_named(done.model, "f/Mul").input(1)), Floats{3});
  const onnx::NodeProto& slice = node_named(done.model, "c");
  EXPECT_EQ(attribute_ints(slice, "starts"), (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(attribute_ints(slice, "ends"), (std::vector<std::int64_t>{-1, -3}));
  EXPECT_FALSE(done.unchanged);
  EXPECT_EQ(op_types(prepared(text, kFloat).model), (Names{"ImageScaler", "Affine", "Crop"}));
}

TEST(ReplaceRemovedOperators, CropWithoutItsBorderIsRefused) {
  const std::string text = R"(<ir_version: 4, opset_import: ["" : 7]>
    g (float[1,3,8,8] x) => (float[1,3,5,4] y) { [c] y = Crop <border = [1, 2]> (x) })";
  EXPECT_EQ(error_of([&] { prepared(text, kHalf); }),
            "node 'c' (Crop): 'border' needs 4 values of 0 or more and scale 2, the file has 2 and 0");
}

TEST(SpellOutSimplifiedNorms, BecomeOperatorsOfTheirOpset) {
  for (const int opset : {13, 17, 18, 21}) {
    const Prepared done = prepared(fmt::format(R"(<ir_version: 8, opset_import: ["" : {}]>
      g (float[2,4] x) => (float[2,4] y) <float[4] scale = {{1, 2, 3, 4}}> {{
        [n] a = SimplifiedLayerNormalization <axis = -1, epsilon = 1e-6, stash_type = 1> (x, scale)
        [r] y = Relu(a) }})",
                                               opset),
                                   kHalf);
    EXPECT_EQ(op_types(done.model), (Names{"Mul", "ReduceMean", "Add", "Sqrt", "Div", "Mul", "Relu"})) << opset;
    EXPECT_EQ(node_named(done.model, "n").output(0), "a");
    EXPECT_EQ(floats_of(done.model, node_named(done.model, "n/Add").input(1)), Floats{1e-6F});
    EXPECT_FALSE(done.unchanged);
    check_written_model(done.model);
  }
}

TEST(SpellOutSimplifiedNorms, OthersAreRefused) {
  for (const char* node :
       {"SimplifiedLayerNormalization <axis = 1> (x, scale)", "SimplifiedLayerNormalization(x, x)"}) {
    const std::string text = fmt::format(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[2,4,4] x) => (float[2,4,4] y) <float[4] scale = {{1, 2, 3, 4}}> {{ [n] y = {} }})",
                                         node);
    EXPECT_EQ(error_of([&] { prepared(text, kHalf); }),
              "node 'n': ONNX has no operator 'SimplifiedLayerNormalization' in opset 17");
  }
}

TEST(PadTransposed, AnOutputShapeBehindValidBecomesPaddings) {
  const auto text = [](const char* shape, const char* attributes) {
    return fmt::format(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[1,1,5,4] x, float[1,1,3,3] w) => (float[1,1,{0}] y) {{
        [t] y = ConvTranspose <{1}> (x, w) }})",
                       shape, attributes);
  };
  const Prepared done =
      prepared(text("12,9", R"(auto_pad = "VALID", strides = [2, 2], output_shape = [12, 9])"), kHalf);
  const onnx::NodeProto& node = node_named(done.model, "t");
  EXPECT_EQ(attribute_ints(node, "pads"), (std::vector<std::int64_t>{0, 0, 0, 0}));
  EXPECT_EQ(attribute_ints(node, "output_padding"), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(find_attribute(node, "auto_pad"), nullptr);
  EXPECT_EQ(find_attribute(node, "output_shape"), nullptr);
  EXPECT_EQ(done.notes.size(), 1U);
  // What would cut, what goes further than a stride, and what every engine reads as it is.
  for (const char* attributes : {R"(auto_pad = "VALID", strides = [2, 2], output_shape = [10, 9])",
                                 R"(auto_pad = "VALID", strides = [2, 2], output_shape = [13, 9])",
                                 R"(strides = [2, 2], output_shape = [10, 8])"}) {
    const Prepared kept = prepared(text("?,?", attributes), kHalf);
    EXPECT_NE(find_attribute(node_named(kept.model, "t"), "output_shape"), nullptr) << attributes;
  }
}

constexpr const char* kRaise = R"(<ir_version: 4, opset_import: ["" : 9]>
  g (float[4,6] x) => (float[a, b] y) {
    [s] a = Slice <axes = [1], starts = [1], ends = [5]> (x)
    [u] b = Unsqueeze <axes = [0]> (a)
    [q] c = Squeeze <axes = [0]> (b)
    [m] d = Softmax <axis = 0> (c)
    [r] y = Relu(d) })";

TEST(RaiseOpset, KeepsNamesAndGivesNewNodesTheOldOnesName) {
  Table table;
  const Prepared done = prepared(kRaise, {Format::Int8}, table.evaluator());
  EXPECT_EQ(default_opset(done.model.proto), 13);
  EXPECT_GE(done.model.proto.ir_version(), 7);
  EXPECT_EQ(node_names(done.model), (Names{"s", "u", "q", "m/Flatten", "m", "m/Reshape", "r"}));
  EXPECT_EQ(node_named(done.model, "u").input(1), "u.axes");
  EXPECT_EQ(node_named(done.model, "r").input(0), "d");
  check_written_model(done.model);
}

TEST(RaiseOpset, LeavesAModelAloneThatIsHighEnough) {
  const Prepared done = prepared(kRaise, kHalf);
  EXPECT_EQ(default_opset(done.model.proto), 9);
  EXPECT_EQ(node_named(done.model, "u").input_size(), 1);
  EXPECT_TRUE(done.unchanged);
}

TEST(RaiseOpset, LargeWeightsNeverPassThroughTheConverter) {
  Model model = model_of(R"(<ir_version: 4, opset_import: ["" : 9]>
    g (float[1,8,8,8] x) => (float[a,b,c,d] y) <float[1] w = {1}> { [c] y = Conv(x, w) })");
  set_initializer(model, *model.proto.mutable_graph(), "w", Tensor(Dtype::Float32, {8, 8, 3, 3}));
  const std::byte* bytes = model.weights.at("w").bytes().data();
  PrepareOptions options;
  options.formats = {Format::BFloat16};
  const Prepared done = prepare(model, options, no_evaluator());
  EXPECT_EQ(default_opset(done.model.proto), 22);
  EXPECT_EQ(done.model.weights.at("w").bytes().data(), bytes);
}

TEST(RaiseOpset, BodiesAreRaisedToo) {
  PrepareOptions options;
  options.min_opset = 18;
  const Prepared done = prepare(model_of(R"(<ir_version: 7, opset_import: ["" : 11]>
    g (float[2,3] x, bool c) => (float[a] y) {
      [i] y = If (c) <then_branch = t () => (float[a] r) { [n] r = ReduceSum <axes = [0], keepdims = 0> (x) },
                      else_branch = e () => (float[a] r) { [p] r = ReduceMean <axes = [1], keepdims = 0> (x) }> })"),
                                options, no_evaluator());
  EXPECT_EQ(node_named(done.model, "n").input(1), "n.axes");
  EXPECT_EQ(node_named(done.model, "p").input(1), "p.axes");
  check_written_model(done.model);
}

TEST(RaiseOpset, NamesNodeOperatorAndOpsetsWhenItCannot) {
  PrepareOptions options;
  options.min_opset = 13;
  const auto raise = [&](const std::string& text) {
    return error_of([&] { prepare(model_of(text), options, no_evaluator()); });
  };
  EXPECT_NE(raise(R"(<ir_version: 4, opset_import: ["" : 9]>
                  g (float[2,3,4] x) => (float[2,3,4] y) { [h] y = Hardmax <axis = 1> (x) })")
                .find("node 'h' (Hardmax) cannot be raised from opset 9 to 13"),
            std::string::npos);
  EXPECT_NE(raise(R"(<ir_version: 4, opset_import: ["" : 8]>
                  g (float[1,1,2,2] x) => (float[1,1,4,4] y) { [u] y = Upsample <scales = [1, 1, 2, 2]> (x) })")
                .find("node 'u' (Upsample) cannot be raised from opset 8 to 13: its attribute 'scales'"),
            std::string::npos);
}

TEST(OpsetNeeded, FollowsFormatAndOperators) {
  const Model conv = model_of(R"(<ir_version: 4, opset_import: ["" : 9]>
    g (float[1,1,4,4] x) => (float[a,b,c,d] y) <float[1,1,1,1] w = {1}> { y = Conv(x, w) })");
  const Model add = model_of(R"(<ir_version: 4, opset_import: ["" : 6]>
    g (float[4] x) => (float[4] y) { y = Add(x, x) })");
  EXPECT_EQ(opset_needed(conv, Format::Float32), 9);
  EXPECT_EQ(opset_needed(conv, Format::Float16), 9);
  EXPECT_EQ(opset_needed(add, Format::Float16), 7);
  EXPECT_EQ(opset_needed(conv, Format::Int8), 13);
  EXPECT_EQ(opset_needed(conv, Format::Float8E4M3FN), 19);
  EXPECT_EQ(opset_needed(conv, Format::Int4), 21);
  EXPECT_EQ(opset_needed(conv, Format::BFloat16), 22);
  EXPECT_EQ(opset_needed(add, Format::BFloat16), 13);
}

TEST(RefuseUnknownOperators, NamesTheNodeWhenItIsToBeLowered) {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y) { a = Relu(x) [odd] y = Frobnicate(a) })";
  try {
    prepared(text, kHalf);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    EXPECT_STREQ(error.what(), "node 'odd': ONNX has no operator 'Frobnicate' in opset 17");
  }
}

TEST(RefuseUnknownOperators, LeavesOtherDomainsToTheEngine) {
  const Prepared done = prepared(R"(<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
    g (float[2] x) => (float[2] y) { a = Relu(x) y = own.Magic(a) })",
                                 kHalf);
  EXPECT_EQ(op_types(done.model), (Names{"Relu", "Magic"}));
}

TEST(PortableIrVersion, IsTheOldestThatSaysTheSame) {
  onnx::ModelProto proto;
  const auto portable = [&](int ir_version, int opset) {
    proto.set_ir_version(ir_version);
    proto.clear_opset_import();
    proto.add_opset_import()->set_version(opset);
    return portable_ir_version(proto);
  };
  EXPECT_EQ(portable(14, 17), 10) << "an exporter's newest number";
  EXPECT_EQ(portable(14, 25), 12) << "what the opset needs stays";
  EXPECT_EQ(portable(8, 17), 8) << "never raised for its own sake";
  EXPECT_EQ(portable(3, 9), 4) << "initializers are no inputs here";
}

}  // namespace
}  // namespace vernier::testing
