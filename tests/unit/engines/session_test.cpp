#include "engines/onnxruntime/session.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <thread>
#include <vector>

#include "engines/onnxruntime/optimizer_faults.h"
#include "engines/onnxruntime/runtime.h"
#include "sanitized.h"
#include "tiny_networks.h"
#include "vernier/error.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

constexpr SessionOptions kExact{.optimize = false, .threads = 1, .integer_kernels = false};

/// Small whole numbers: every sum and product of them is exact.
Tensor counting(const Shape& shape) {
  Tensor tensor(Dtype::Float32, shape);
  float next = 0;
  for (float& value : tensor.mutable_floats()) value = next++;
  return tensor;
}

std::vector<float> values_of(const Tensor& tensor) { return {tensor.floats().begin(), tensor.floats().end()}; }

TEST(Session, RunsATinyModel) {
  const Model model = model_of(
      "sums (float[2] x, float[2] y) => (float[2] total, float[2] difference) { total = Add(x, y) difference = Sub(x, "
      "y) }");
  const Session session(Runtime::load(), model, kExact);
  EXPECT_EQ(session.input_names(), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(session.output_names(), (std::vector<std::string>{"total", "difference"}));
  const std::vector<Tensor> outputs =
      session.run({{"x", Tensor::of({2}, std::vector<float>{3, 5})}, {"y", Tensor::of({2}, std::vector<float>{1, 9})}});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(values_of(outputs[0]), (std::vector<float>{4, 14}));
  EXPECT_EQ(values_of(outputs[1]), (std::vector<float>{2, -4}));
}

TEST(Session, RunsOperatorsThatHaveNoKernelOfANewerOpset) {
  Model model = model_of(
      "pool (float[1,1,4,4] x) => (float[1,1,2,2] y, float[1,1,1,1] z) <float[1,4] rois = {0, 0, 3, 3}, int64[1] of = "
      "{0}> "
      "{ y = RoiAlign <output_height = 2, output_width = 2, sampling_ratio = 1> (x, rois, of) z = GlobalLpPool(x) }");
  model.proto.mutable_opset_import(0)->set_version(21);
  const Sample sample{{"x", counting({1, 1, 4, 4})}};
  const std::vector<Tensor> before = Session(Runtime::load(), model, kExact).run(sample);
  for (const int opset : {22, 23}) {
    model.proto.mutable_opset_import(0)->set_version(opset);
    const std::vector<Tensor> after = Session(Runtime::load(), model, kExact).run(sample);
    EXPECT_EQ(values_of(after[0]), values_of(before[0]));
    EXPECT_EQ(values_of(after[1]), values_of(before[1]));
  }
  SessionOptions as_given = kExact;
  as_given.ir_as_given = true;
  EXPECT_THROW(Session(Runtime::load(), model, as_given), Error) << "a file is run as it is";
}

TEST(Session, NamesTheInputThatIsMissingAndIgnoresOnesTooMany) {
  const Model model = model_of("sum (float[1] x, float[1] y) => (float[1] z) { z = Add(x, y) }");
  const Session session(Runtime::load(), model, kExact);
  const Tensor one = Tensor::of({1}, std::vector<float>{1});
  const Error error = error_of([&] { session.run({{"x", one}}); });
  EXPECT_EQ(error.kind(), ErrorKind::Input);
  EXPECT_EQ(std::string(error.what()), "no value for the graph input 'y'");
  EXPECT_EQ(values_of(session.run({{"x", one}, {"y", one}, {"unknown", one}}).front()), std::vector<float>{2});
}

TEST(Session, RefusedModelIsABackendErrorThatNamesTheFile) {
  Model model = model_of("odd (float[1] x) => (float[1] y) { y = Relu(x) }");
  model.proto.mutable_graph()->mutable_node(0)->set_op_type("NoSuchOperator");
  model.path = "folder/odd.onnx";
  const Error error = error_of([&] { Session(Runtime::load(), model, kExact); });
  EXPECT_EQ(error.kind(), ErrorKind::Backend);
  EXPECT_EQ(std::string(error.what()).rfind("folder/odd.onnx: ONNX Runtime ", 0), 0U) << error.what();
  EXPECT_NE(std::string(error.what()).find("NoSuchOperator"), std::string::npos) << error.what();
}

TEST(Session, InputOfAnotherShapeIsABackendError) {
  const Model model = model_of("relu (float[2] x) => (float[2] y) { y = Relu(x) }");
  const Session session(Runtime::load(), model, kExact);
  EXPECT_EQ(error_of([&] { session.run({{"x", counting({3})}}); }).kind(), ErrorKind::Backend);
}

/// Runs the model whole and in parts of 1, 2, ... nodes: the same bits.
void expect_same_in_parts(const Model& model, const Sample& inputs) {
  const auto runtime = Runtime::load();
  const std::vector<Tensor> whole = Session(runtime, model, kExact).run(inputs);
  for (std::size_t nodes = 1; nodes < static_cast<std::size_t>(model.proto.graph().node_size()); ++nodes) {
    SessionOptions options = kExact;
    options.part_nodes = nodes;
    const Session session(runtime, model, options);
    for (int again = 0; again < 2; ++again) {
      const std::vector<Tensor> parts = session.run(inputs);
      ASSERT_EQ(parts.size(), whole.size());
      for (std::size_t i = 0; i < whole.size(); ++i) {
        EXPECT_EQ(parts[i].dtype(), whole[i].dtype());
        EXPECT_TRUE(same_bits(parts[i], whole[i])) << session.output_names()[i] << " in parts of " << nodes;
      }
    }
  }
}

TEST(Session, InPartsComputesTheSame) {
  expect_same_in_parts(
      model_of("g (float[1,2,6,6] x) => (float[1,36] y, int64[2] s) <int64[2] s = {1, 36}, int64[1] zero = {0}> {"
               " c = Conv<pads = [1,1,1,1]>(x, w) r = Relu(c) d = Sub(r, x) q, mask = Dropout(d)"
               " m = ReduceMean<axes = [1]>(q) n = Shape(m) h = Gather(n, zero) f = Reshape(m, s)"
               " a = Cast<to = 1>(h) y = Mul(f, a) }",
               {{"w", bell({2, 2, 3, 3}, 7)}}),
      {{"x", bell({1, 2, 6, 6}, 3)}});
}

TEST(Session, InPartsHandsBodiesWhatTheyCapture) {
  const Model model = model_of(
      "g (float[256] x) => (float[256] y) {"
      " a = Neg(x) t = Abs(a) sum = ReduceSum<keepdims = 0>(x) zero = Sub(sum, sum)"
      " c = Less(zero, sum) u = Mul(t, w)"
      " v = If(c) <then_branch = yes () => (float[256] p) { p = Add(a, w) },"
      " else_branch = no () => (float[256] q) { q = Add(u, t) }> y = Sub(v, a) }",
      {{"w", bell({256}, 5)}});
  ASSERT_TRUE(model.weights.contains("w")) << "beside the message";
  for (const float sign : {1.0F, -1.0F}) {
    Tensor ones(Dtype::Float32, {256});
    for (float& value : ones.mutable_floats()) value = sign;
    expect_same_in_parts(model, {{"x", ones}});
  }
}

TEST(Session, StartsWhereAnotherRunStood) {
  const Model model = model_of(
      "g (float[1,2,6,6] x) => (float[1,2,6,6] early, float[1,2,6,6] y) {"
      " c = Conv<pads = [1,1,1,1]>(x, w) early = Relu(c) d = Sub(early, x) e = Abs(d) y = Mul(e, early) }",
      {{"w", bell({2, 2, 3, 3}, 7)}});
  const Sample inputs{{"x", bell({1, 2, 6, 6}, 3)}};
  const std::vector<Tensor> whole = Session(Runtime::load(), model, kExact).run(inputs);
  SessionOptions options = kExact;
  options.part_starts = {0, 2, 4};
  const Session session(Runtime::load(), model, options);
  ASSERT_EQ(session.parts(), 3U);
  EXPECT_TRUE(session.can_start_between());
  std::vector<Standing> stood;
  const auto keep = [&](Standing standing) { stood.push_back(std::move(standing)); };
  const auto expect_whole = [&](const std::vector<Tensor>& outputs) {
    ASSERT_EQ(outputs.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_TRUE(same_bits(outputs[i], whole[i])) << i;
  };
  expect_whole(session.run(inputs));
  expect_whole(session.run_from(nullptr, inputs, nullptr, keep));
  ASSERT_EQ(stood.size(), 2U);
  EXPECT_EQ(stood[0].part, 1U);
  EXPECT_EQ(stood[1].part, 2U);
  EXPECT_TRUE(stood[1].tensors.contains("early")) << "an output that was made before stands, too";
  EXPECT_FALSE(stood[1].tensors.contains("c")) << "nobody reads it any more";
  const std::vector<Standing> places = stood;
  for (const Standing& place : places) {
    stood.clear();
    expect_whole(session.run_from(&place, inputs, nullptr, keep));
    EXPECT_EQ(stood.size(), 2 - place.part) << "what stands behind the start";
  }
  Standing other = places[1];
  other.tensors["e"] = bell({1, 2, 6, 6}, 9);
  EXPECT_FALSE(same_bits(session.run_from(&other, inputs, nullptr, {})[1], whole[1])) << "it starts where it is told";
}

TEST(Session, DoesNotStartBetweenPartsThatHandOnText) {
  const Model model = model_of("g (string[2] s) => (string[2] y) { t = Identity(s) y = Identity(t) }");
  SessionOptions options = kExact;
  options.part_starts = {0, 1};
  const Session session(Runtime::load(), model, options);
  EXPECT_EQ(session.parts(), 2U);
  EXPECT_FALSE(session.can_start_between());
}

TEST(Session, GivesAnOutputThatIsListedTwiceTwice) {
  Model model = model_of("g (float[2] x) => (float[2] y, float[2] z) { a = Neg(x) y = Abs(a) z = Add(y, a) }");
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  *graph.add_output() = graph.output(0);
  const std::vector<Tensor> outputs = Session(Runtime::load(), model, kExact).run({{"x", counting({2})}});
  ASSERT_EQ(outputs.size(), 3U);
  EXPECT_TRUE(same_bits(outputs[0], outputs[2]));
  expect_same_in_parts(model, {{"x", counting({2})}});
}

TEST(Session, InPartsHandsOutInputsAsTheyAre) {
  const Model model = model_of("g (float[2] x) => (float[2] x, float[2] y) { a = Neg(x) b = Abs(a) y = Add(b, x) }");
  expect_same_in_parts(model, {{"x", counting({2})}});
}

TEST(Session, WithoutOptimizationsReadsWeightsWhereTheyLie) {
  auto bytes = std::shared_ptr<float[]>(new float[kWeightBytes / sizeof(float)]());
  const Shape shape{static_cast<std::int64_t>(kWeightBytes / sizeof(float))};
  Model model = model_of("shift (float[256] x) => (float[256] y) { y = Add(x, w) }", {{"w", counting(shape)}});
  model.weights["w"] = Tensor(Dtype::Float32, shape, {bytes, reinterpret_cast<const std::byte*>(bytes.get())});
  const Session session(Runtime::load(), model, kExact);
  model.weights.clear();  // the session keeps what it reads
  bytes[7] = 42;          // a copy would not see this
  const std::vector<float> got = values_of(session.run({{"x", Tensor(Dtype::Float32, shape)}}).front());
  EXPECT_EQ(got[7], 42);
  EXPECT_EQ(got[8], 0);
}

TEST(Session, WithoutOptimizationsNoKernelPacksALargeWeight) {
  constexpr std::size_t kSide = 1024;  // 4 MiB
  auto bytes = std::shared_ptr<float[]>(new float[kSide * kSide]());
  const Shape shape{kSide, kSide};
  Model model = model_of("product (float[1, 1024] x) => (float[1, 1024] y) { y = MatMul(x, w) }",
                         {{"w", Tensor(Dtype::Float32, shape)}});
  model.weights["w"] = Tensor(Dtype::Float32, shape, {bytes, reinterpret_cast<const std::byte*>(bytes.get())});
  const Session session(Runtime::load(), model, kExact);
  EXPECT_EQ(session.input_names(), std::vector<std::string>{"x"});
  model.weights.clear();     // the session keeps what it reads
  bytes[2 * kSide + 3] = 5;  // a copy would not see this
  Tensor x(Dtype::Float32, {1, kSide});
  x.mutable_floats()[2] = 7;
  const std::vector<float> got = values_of(session.run({{"x", x}}).front());
  EXPECT_EQ(got[3], 35);
  EXPECT_EQ(got[4], 0);
}

/// What the C library has handed out.
std::size_t bytes_in_use() {
  const struct mallinfo2 now = ::mallinfo2();
  return now.uordblks + now.hblkhd;
}

TEST(Session, PartsTakeTheirMemoryInTurns) {
  if (address_sanitized()) GTEST_SKIP() << "the C library's allocator, which counts, is not the one in use";
  const Model model = model_of(
      "sums (float[1] x) => (float[1] y) <int64[1] size = {4194304}, int64[1] axis = {0}> {"  // 16 MiB each
      " a = Expand(x, size) p = ReduceSum(a, axis) b = Expand(p, size) q = ReduceSum(b, axis)"
      " c = Expand(q, size) r = ReduceSum(c, axis) d = Expand(r, size) y = ReduceSum(d, axis) }");
  SessionOptions options = kExact;
  options.part_starts = {0, 2, 4, 6};
  const std::size_t before = bytes_in_use();
  {
    const Session session(Runtime::load(), model, options), other(Runtime::load(), model, options);
    ASSERT_EQ(session.parts(), 4U);
    session.run({{"x", Tensor(Dtype::Float32, {1})}});
    EXPECT_LT(bytes_in_use(), before + (std::size_t{48} << 20U)) << "each part keeps what it took";
    other.run({{"x", Tensor(Dtype::Float32, {1})}});
  }
  EXPECT_LT(bytes_in_use(), before + (std::size_t{8} << 20U)) << "it outlives the sessions";
}

TEST(Session, KeepsNoMemoryForAnotherRunWhereThereIsNone) {
  if (address_sanitized()) GTEST_SKIP() << "the C library's allocator, which counts, is not the one in use";
  constexpr std::int64_t kSide = 2048;  // 4 MiB, dequantized 16
  Tensor scale(Dtype::Float32, {});
  scale.mutable_floats()[0] = 1;
  const Model model =
      model_of("product (float[1, 2048] x) => (float[1, 2048] y) { f = DequantizeLinear(w, s)\n y = MatMul(x, f) }",
               {{"w", Tensor(Dtype::Int8, {kSide, kSide})}, {"s", scale}});
  const auto kept = [&](bool keeps_no_memory) {
    const Session session(Runtime::load(), model,
                          {.optimize = false, .integer_kernels = true, .keeps_no_memory = keeps_no_memory});
    const std::size_t before = bytes_in_use();
    session.run({{"x", Tensor(Dtype::Float32, {1, kSide})}});
    return bytes_in_use() > before ? bytes_in_use() - before : 0;
  };
  EXPECT_GE(kept(false), std::size_t{16} << 20U) << "what is run often keeps its memory";
  EXPECT_LT(kept(true), std::size_t{1} << 20U);
}

TEST(Session, OptimizerMayTransposeAWeightInPlace) {
  // The two Transposes cancel when the weight between them is transposed: under its old name.
  const Model model = model_of(R"(
    g (float[2,8,32] x) => (float[2,8,32] y) {
      a = Transpose <perm = [1,2,0]> (x)
      b = Add (a, w)
      y = Transpose <perm = [2,0,1]> (b)
    })",
                               {{"w", bell({8, 32, 2}, 4)}});
  ASSERT_TRUE(model.weights.contains("w"));
  const Sample sample{{"x", bell({2, 8, 32}, 5)}};
  const auto runtime = Runtime::load();
  SessionOptions optimized;
  optimized.optimize = true;
  EXPECT_TRUE(same_bits(Session(runtime, model, optimized).run(sample).front(),
                        Session(runtime, model, kExact).run(sample).front()));
}

TEST(Session, HoldsItsWeightsUntilItEnds) {
  auto bytes = std::make_shared<std::vector<float>>(256, 1.0F);
  Model model = model_of("shift (float[256] x) => (float[256] y) { y = Add(x, w) }", {{"w", counting({256})}});
  model.weights["w"] = Tensor(Dtype::Float32, {256}, {bytes, reinterpret_cast<const std::byte*>(bytes->data())});
  {
    const Session session(Runtime::load(), model, kExact);
    model.weights.clear();
    EXPECT_EQ(bytes.use_count(), 2);
  }
  EXPECT_EQ(bytes.use_count(), 1);
}

TEST(Session, WeightsThatNothingReadsAreNoObstacle) {
  Model model = model_of("relu (float[2] x) => (float[2] y) { y = Relu(x) }", {{"unread", counting({300})}});
  ASSERT_TRUE(model.weights.contains("unread"));
  const Session session(Runtime::load(), model, kExact);
  EXPECT_EQ(values_of(session.run({{"x", counting({2})}}).front()), (std::vector<float>{0, 1}));
}

TEST(Session, BodiesFindTheirLargeWeights) {
  const Model model = if_net();
  ASSERT_TRUE(model.weights.contains("body_w"));
  const Session session(Runtime::load(), model, kExact);
  Tensor negative(Dtype::Float32, {4, 20});
  for (float& value : negative.mutable_floats()) value = -1;
  // Else branch: y = d W2 + d with d = x W.
  const Tensor got = session.run({{"x", negative}}).front();
  const Tensor first = bell({20, 20}, 21, 0.22F);
  const Tensor second = bell({20, 20}, 22, 0.22F);
  std::vector<double> d(20, 0);
  for (std::size_t i = 0; i < 20; ++i) {
    for (std::size_t j = 0; j < 20; ++j) d[j] -= static_cast<double>(first.floats()[i * 20 + j]);
  }
  for (std::size_t j = 0; j < 20; ++j) {
    double sum = d[j];
    for (std::size_t i = 0; i < 20; ++i) sum += d[i] * static_cast<double>(second.floats()[i * 20 + j]);
    EXPECT_NEAR(got.floats()[j], sum, 40 * 1.2e-7 * 10) << j;  // 40 float additions of terms below 10
  }
}

TEST(Session, OutputsOutliveTheSession) {
  Tensor output;
  {
    const Session session(Runtime::load(), model_of("relu (float[3] x) => (float[3] y) { y = Relu(x) }"), kExact);
    output = session.run({{"x", counting({3})}}).front();
  }
  EXPECT_EQ(values_of(output), (std::vector<float>{0, 1, 2}));
}

TEST(Session, LoadsACastBehindATransposeWithOptimizations) {
  // ONNX Runtime alone crashes on this graph.
  for (const int type : {onnx::TensorProto::FLOAT16, onnx::TensorProto::INT64}) {
    const Model model =
        model_of("cast (float[N,1,4] x) => (float[a,b,c] y) { h = Cast <to = " + std::to_string(type) +
                     "> (x) t = Transpose <perm = [1,0,2]> (h) f = Cast <to = 1> (t) y = MatMul (f, w) }",
                 {{"w", counting({4, 2})}});
    const Session session(Runtime::load(), model, {.optimize = true, .threads = 1, .integer_kernels = true});
    const Tensor y = session.run({{"x", counting({3, 1, 4})}}).front();
    EXPECT_EQ(y.shape(), (Shape{1, 3, 2}));
    EXPECT_EQ(values_of(y), (std::vector<float>{28, 34, 76, 98, 124, 162}));
  }
}

TEST(Session, LoadsAFloat16ProductBehindATransposeWithOptimizations) {
  // ONNX Runtime has no such kernel and adds Casts: it alone crashes on this graph.
  const Model model = model_of(
      "half (float16[3,1,4] x) => (float16[1,3,2] y) <float16[4,2] w = {0, 1, 2, 3, 4, 5, 6, 7}> "
      "{ t = Transpose <perm = [1,0,2]> (x) y = MatMul (t, w) }");
  const Session session(Runtime::load(), model, {.optimize = true, .threads = 1, .integer_kernels = true});
  EXPECT_EQ(session.run({{"x", Tensor(Dtype::Float16, {3, 1, 4})}}).front().shape(), (Shape{1, 3, 2}));
}

TEST(OptimizerFaults, IsACastToFloatAtAnyDistanceBehindATranspose) {
  const auto found = [](const std::string& nodes) {
    return casts_transposed(model_of("g (float[2,2] x, int64[2,2] i) => (float[a,b] y) {" + nodes + "}").proto.graph());
  };
  EXPECT_TRUE(found("t = Transpose (i) n = Neg (t) s = Abs (n) y = Cast <to = 1> (s)"));
  EXPECT_FALSE(found("c = Cast <to = 1> (i) y = Transpose (c)")) << "before it";
  EXPECT_FALSE(found("t = Transpose (x) y = Relu (t)")) << "no cast";
  EXPECT_FALSE(found("t = Transpose (x) s = Shape (t) c = Cast <to = 1> (s) y = Add (c, x)")) << "only its shape";
}

TEST(OptimizerFaults, AConvolutionThatIsAddedToAnotherStaysAnOutput) {
  // In groups: others get a blocked layout first, which no fusion touches.
  const std::string convolutions =
      "a = Conv <group = 2, kernel_shape = [1,1]> (x, wa, bias) b = Conv <group = 2, kernel_shape = [1,1]> (x, wb, "
      "bias) ";
  const NamedTensors weights{{"wa", counting({2, 1, 1, 1})}, {"wb", counting({2, 1, 1, 1})}, {"bias", counting({2})}};
  // With a Transpose behind a Cast the other fault is avoided too.
  for (const char* sum : {"s = Add (a, b) y = Relu (s)", "s = Add (b, a) y = Relu (s)",
                          "s = Add (a, b) h = Cast <to = 10> (s) t = Transpose <perm = [0,1,3,2]> (h) "
                          "y = Cast <to = 1> (t)"}) {
    const Model model = model_of(
        "sum (float[1,2,3,3] x) => (float[1,2,3,3] a, float[p,q,r,s] y) { " + convolutions + sum + " }", weights);
    const Session session(Runtime::load(), model, {.optimize = true, .threads = 1, .integer_kernels = true});
    const Session plain(Runtime::load(), model, kExact);
    const Sample sample{{"x", counting({1, 2, 3, 3})}};
    const std::vector<Tensor> wanted = plain.run(sample);
    for (int repeat = 0; repeat < 3; ++repeat) {
      const std::vector<Tensor> got = session.run(sample);
      for (const std::size_t output : {0U, 1U}) EXPECT_EQ(values_of(got[output]), values_of(wanted[output])) << sum;
    }
  }
}

TEST(OptimizerFaults, AreSumsOfTwoConvolutionsOfWhichOneIsAnOutput) {
  const auto found = [](const std::string& nodes) {
    return adds_convolved_output(model_of("g (float[1,1,2,2] x) => (float[a,b,c,d] y, float[e,f,g,h] o)"
                                          " <float[1,1,1,1] w = {2}, float k = {3}, float[1] n = {1}> {" +
                                          nodes + "}")
                                     .proto.graph());
  };
  EXPECT_TRUE(found("o = Conv (x, w) b = Conv (x, w) y = Add (b, o)"));
  EXPECT_TRUE(
      found("a = Conv (x, w) o = BatchNormalization (a, n, n, n, n) b = Conv (x, w) m = Mul (k, b) y = Add (o, m)"));
  EXPECT_FALSE(found("a = Conv (x, w) b = Conv (x, w) y = Add (b, a) o = Neg (y)")) << "the sum alone is an output";
  EXPECT_FALSE(found("o = Conv (x, w) y = Add (o, x)")) << "one convolution";
  EXPECT_FALSE(found("o = Conv (x, w) b = Conv (x, w) r = Relu (b) y = Add (o, r)")) << "a Relu is not folded";
}

TEST(Session, TakesScalarsEmptyTensorsAndIntegers) {
  const Model model = model_of(
      "mixed (float x, float[N] e, int64[2] i) => (float y, float[N] f, int64[2] j) { y = Neg(x) f = Relu(e) j = "
      "Add(i, i) }");
  const Session session(Runtime::load(), model, kExact);
  const auto outputs = session.run({{"x", Tensor::of({}, std::vector<float>{2})},
                                    {"e", Tensor(Dtype::Float32, {0})},
                                    {"i", Tensor::of_int64({2}, std::vector<std::int64_t>{3, 4})}});
  EXPECT_EQ(values_of(outputs[0]), std::vector<float>{-2});
  EXPECT_EQ(outputs[0].shape(), Shape{});
  EXPECT_EQ(outputs[1].shape(), Shape{0});
  EXPECT_EQ(outputs[2].int64s()[1], 8);
}

TEST(Session, OutputThatIsNoTensorIsAnInputErrorThatNamesIt) {
  const Model model = model_of("list (float[2] x) => (seq(float[2]) s) { s = SequenceConstruct(x) }");
  const Session session(Runtime::load(), model, kExact);
  const Error error = error_of([&] { session.run({{"x", counting({2})}}); });
  EXPECT_EQ(error.kind(), ErrorKind::Input);
  EXPECT_NE(std::string(error.what()).find("output 's' is not a tensor"), std::string::npos) << error.what();
}

TEST(Session, EvaluateExactlyEqualsASessionWithoutOptimizations) {
  const Model model = model_of(kConvNet, conv_net_weights());
  const Sample sample{{"x", bell(kConvNetInput, 3)}};
  const auto runtime = Runtime::load();
  EXPECT_TRUE(
      same_bits(evaluate_exactly(runtime, model, sample).front(), Session(runtime, model, kExact).run(sample).front()));
}

// In a process of its own, in which they are the first. A domain that two of them find unknown would fail one.
TEST(SessionDeathTest, TheFirstOnesMayBeMadeAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto make_many = [] {
    const Model model = model_of("same (float[2] x) => (float[2] y) { y = Identity(x) }");
    const auto runtime = Runtime::load();
    std::latch all(16);
    std::atomic<int> failed = 0;
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < 16; ++t) {
        threads.emplace_back([&] {
          all.arrive_and_wait();
          try {
            const Session session(runtime, model, kExact);
          } catch (const Error& error) {
            std::fprintf(stderr, "%s\n", error.what());
            ++failed;
          }
        });
      }
    }
    std::exit(failed == 0 ? 0 : 1);
  };
  for (int process = 0; process < 10; ++process) EXPECT_EXIT(make_many(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace vernier::testing
